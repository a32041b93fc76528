"""`noppa search`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

import noppa
from noppa.cli.index import Id, add_texts
from noppa.cli.options import AsJson, Column, Count, Format, Model, OnError, input_files
from noppa.cli.output import printable, visible
from noppa.encoder.models import SIMILARITY
from noppa.search.hits import Hit
from noppa.search.index import Index
from noppa.search.where import EXAMPLE, parse_expressions


def search(
    corpus: Annotated[
        str, typer.Argument(help="A file of texts, - for standard input, or an index folder.")
    ],
    query: Annotated[str, typer.Argument(help="What to look for.")],
    count: Count = 10,
    mode: Annotated[
        Literal["hybrid", "meaning", "words"] | None,
        typer.Option(help="hybrid for an index and meaning for a file if not given."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(help=f"A condition on other fields, {EXAMPLE}; repeat to require several."),
    ] = None,
    as_json: AsJson = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show why each was found.")] = False,
    model: Model = None,
    column: Column = None,
    id_column: Id = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Find the best texts for a query: score, id (the record's number if it has none) and text.

    The exit code is 1 if nothing was found. Examples:

    noppa search reviews.txt "the food was cold" -n 5

    noppa search reviews-index "cold food" --where 'year > 2020' --json
    """
    conditions = parse_expressions(where or [])
    if Path(corpus).is_dir():
        index = Index.open(corpus, model, create=False)
    else:
        index = Index(noppa.load(model or SIMILARITY), dtype="float32", first_id=1)
        add_texts(index, input_files([corpus], column, form), id_column, on_error)
        mode = mode or "meaning"
    # exact: one query over a million texts takes less time than the program takes to start
    hits = index.search(query, count, conditions, mode or "hybrid", exact=True)
    for hit in hits:
        _print_hit(hit, as_json, explain)
    if not hits:
        sys.exit(f"noppa: nothing was found: {visible(hits.note)}")


def _print_hit(hit: Hit, as_json: bool, explain: bool) -> None:
    reasons = hit.explain() if explain else None
    if as_json:
        facts = hit.to_dict()
        if reasons is not None:
            facts["why"] = reasons.to_dict()
        print(json.dumps(facts))
        return
    text = printable(" ".join(hit.text.split()))
    # Not typer.echo, which would strip colours from the data.
    print(f"{hit.score:.4f}\t{printable(hit.id)}\t{text}")
    if reasons is not None:
        print("\n".join(printable(line) for line in str(reasons).split("\n")[1:]))


def register(app: typer.Typer) -> None:
    app.command()(search)
