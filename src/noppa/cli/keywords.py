"""`noppa keywords`: the words that stand for texts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.options import AsJson, expanded
from noppa.cli.record_options import Reading, texts_of_inputs
from noppa.cli.table_output import print_json, print_objects
from noppa.cli.workspace import Comparing, print_rows
from noppa.topics.keywords import DIVERSITY, keywords_of
from noppa.topics.word_candidates import Language


@expanded
def keywords(
    comparing: Comparing,
    reading: Reading,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files with text, or one text; - or none for standard input."),
    ] = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many to show.")] = 10,
    each: Annotated[
        bool,
        typer.Option("--each", help="Of each text, on a line of its own, not of all together."),
    ] = False,
    diversity: Annotated[
        float, typer.Option(min=0, max=1, help="How far the words must differ from each other.")
    ] = DIVERSITY,
    as_json: AsJson = False,
) -> None:
    """Words and pairs of words nearest to all texts together: cosine, in how many texts, word.

    Example: noppa keywords reviews.csv --column body -n 20
    """
    is_text = inputs is not None and len(inputs) == 1 and _is_text(inputs[0])
    texts = iter(inputs or []) if is_text else texts_of_inputs(inputs, comparing.column, reading)  # fmt: skip
    encoder, threads = comparing.encoder(), comparing.threads
    language = Language(encoder)
    if each:
        for text in texts:
            found = keywords_of([text], count, diversity, encoder, language, threads)
            if as_json:
                print_json([one.text for one in found])
            else:
                print_rows([[one.text for one in found]])
        return
    found = keywords_of(list(texts), count, diversity, encoder, language, threads)
    rows = [(one.similarity, one.texts, one.text) for one in found]
    if as_json:
        print_objects(rows, ("similarity", "texts", "text"))
    else:
        print_rows(rows)


def _is_text(given: str) -> bool:
    """Whether it is no name of a file: names seldom hold spaces, and this one is of no file that is there."""
    return " " in given and not Path(given).exists()


def register(app: typer.Typer) -> None:
    app.command()(keywords)
