"""`noppa search`: the best texts for a query, from a file or an index."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.index import Id, added, refuse_other
from noppa.cli.options import Model, Threads, TokenizerName, expanded
from noppa.cli.record_options import Column, Reading
from noppa.cli.terminal import printable, visible
from noppa.encoder.models import SIMILARITY, load
from noppa.search.hits import Hit
from noppa.search.index import Index
from noppa.search.query import HYBRID, MEANING, MODES
from noppa.search.where import EXAMPLE, parsed_where


@expanded
def search(
    reading: Reading,
    corpus: Annotated[
        str,
        typer.Argument(help="A file of texts, - for standard input, or a folder of noppa index."),
    ],
    query: Annotated[str, typer.Argument(help="What to look for.")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many to show.")] = 10,
    mode: Annotated[
        str | None,
        typer.Option(
            help=f"{', '.join(MODES)}: by {HYBRID} in an index and by {MEANING} in a file where not given."
        ),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help=f"What the other fields must be, {EXAMPLE}; all of several must hold."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="A JSON object a line.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
    model: Model = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    id_column: Id = None,
    threads: Threads = None,
) -> None:
    """The best texts for a query: score, id (the number of the record from 1 on where it has none), text.

    Exit code 1 if there are none. Examples:

    noppa search reviews.txt "the food was cold" -n 5

    noppa search reviews-index "cold food" --where 'year > 2020' --json
    """
    if mode not in (None, *MODES):
        raise typer.BadParameter(f"--mode must be one of {', '.join(MODES)}, not {mode!r}")
    wanted = parsed_where(where or [])
    if Path(corpus).is_dir():
        index = Index.open(corpus, model, create=False, threads=threads)
        refuse_other(tokenizer, index)
    else:
        encoder = load(model or SIMILARITY, tokenizer)
        index = Index(encoder, dtype="float32", first_id=1, threads=threads)
        added(index, [corpus], column, id_column, reading)
        mode = mode or MEANING
    # exact: one query over a million texts takes less time than the program takes to start
    hits = index.search(query, count, wanted, mode or HYBRID, exact=True)
    for hit in hits:
        _show(hit, as_json, explain)
    if not hits:
        sys.exit(f"noppa: nothing was found: {visible(hits.note)}")


def _show(hit: Hit, as_json: bool, explain: bool) -> None:
    reasons = hit.explain() if explain else None
    if as_json:
        facts = hit.to_dict()
        if reasons is not None:
            facts["why"] = reasons.to_dict()
        print(json.dumps(facts))
    else:
        line = printable(" ".join(hit.text.split()))
        # typer.echo would strip colours from the data
        print(f"{hit.score:.4f}\t{printable(hit.id)}\t{line}")
        if reasons is not None:
            print("\n".join(printable(line) for line in str(reasons).split("\n")[1:]))


def register(app: typer.Typer) -> None:
    app.command()(search)
