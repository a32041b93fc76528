"""`noppa compare`."""

from __future__ import annotations

from typing import Annotated

import typer

from noppa.classify import compare as comparison
from noppa.cli.options import (
    AsJson,
    Counts,
    Format,
    OnError,
    TokenizerName,
    Vectors,
    find_method,
    input_files,
    load_words,
)
from noppa.cli.output import print_json, print_table, warnings_once
from noppa.files.collect import read_labelled
from noppa.processes import processes
from noppa.threads import thread_count


def compare(
    data: Annotated[str, typer.Argument(help="A file with labelled rows.")],
    text: Annotated[str, typer.Option("--text", "--column", "-c", help="Column with the texts.")],
    label: Annotated[str, typer.Option(help="Column with the labels.")],
    vectors: Vectors = None,
    counts: Counts = None,
    tokenizer: TokenizerName = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="A method, or package.module:Class; repeat for more.", show_default="all"
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes; default: one per core.", show_default=False, min=1),
    ] = None,
    form: Format = None,
    on_error: OnError = "raise",
    as_json: AsJson = False,
) -> None:
    """Compare all methods on your own labelled texts: accuracy in ten folds, time and size, and a recommendation.

    Without --vectors, the embedded words are used and the presets are compared too. Without --method, also a bag of
    words and the classifier of `noppa train`.

    Example: noppa compare data.csv --text review --label stars --vectors glove.6B.100d.npy --counts counts.txt
    """
    source = input_files([data], text, form)
    rows = read_labelled(source, [text], label, skip=on_error == "skip")
    if tokenizer is not None and vectors is None:
        raise typer.BadParameter("--tokenizer belongs to --vectors: give --vectors FILE, too")
    methods = None if method is None else [find_method(name) for name in method]
    words = None if vectors is None else load_words(vectors, counts, tokenizer=tokenizer)
    with processes(jobs or thread_count()) as run, warnings_once():
        lines = comparison.compare(rows.texts, rows.labels, words, methods, run=run)
    choice = comparison.recommended(lines)
    if as_json:
        print_json({"lines": [line._asdict() for line in lines], "choice": choice.name})
        return
    head = ["method", "accuracy %", "± error", "µs a text", "dim"]
    print_table(head, lines, [0, 2, 2, 1, 0])
    typer.echo(
        f"Take {choice.name}: the smallest vectors ({choice.dim}) among the methods within one standard error "
        "of the best."
    )


def register(app: typer.Typer) -> None:
    app.command()(compare)
