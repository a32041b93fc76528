"""`noppa keywords`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli.inputs import read_texts
from noppa.cli.options import AsJson, Column, Count, Format, Model, OnError, input_files
from noppa.cli.output import print_json, print_objects, print_rows
from noppa.encoder.models import SIMILARITY
from noppa.topics.keywords import DIVERSITY, Language, keywords_of


def keywords(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(help="Files with text, or one text; standard input if none or -."),
    ] = None,
    count: Count = 10,
    each: Annotated[
        bool, typer.Option("--each", help="Keywords of each text, one line per text.")
    ] = False,
    as_json: AsJson = False,
    column: Column = None,
    model: Model = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """List the words and pairs of words nearest to all texts: cosine, number of texts, word.

    Example: noppa keywords reviews.csv --column body -n 20
    """
    texts: Iterator[str]
    # File names seldom hold spaces, so a single argument with one that is no file is a text.
    if (
        inputs is not None
        and len(inputs) == 1
        and " " in inputs[0]
        and not Path(inputs[0]).exists()
    ):
        texts = iter(inputs)
    else:
        texts = read_texts(input_files(inputs, column, form), on_error)
    encoder = noppa.load(model or SIMILARITY)
    language = Language(encoder)
    if not each:
        found = keywords_of(list(texts), count, DIVERSITY, encoder, language, None)
        rows = [(keyword.similarity, keyword.texts, keyword.text) for keyword in found]
        return print_objects(rows, ("similarity", "texts", "text")) if as_json else print_rows(rows)
    for text in texts:
        found = keywords_of([text], count, DIVERSITY, encoder, language, None)
        names = [keyword.text for keyword in found]
        if as_json:
            print_json(names)
        else:
            print_rows([names])


def register(app: typer.Typer) -> None:
    app.command()(keywords)
