"""`noppa similarity`."""

from __future__ import annotations

from typing import Annotated

import typer

import noppa
from noppa.cli.options import AsJson, Model
from noppa.cli.output import print_json, print_table


def similarity(
    texts: Annotated[list[str], typer.Argument(help="Two texts or more.")],
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Print the cosine similarity of texts: a number for two, a table for more.

    Example: noppa similarity "the girl eats a cake" "a girl is eating"
    """
    if len(texts) < 2:
        raise typer.BadParameter("give at least two texts", param_hint="texts")
    encoder = noppa.load(model or "similarity")
    cosines = encoder.similarity(texts, texts).tolist()
    if as_json:
        print_json({"texts": texts, "cosines": cosines})
    elif len(texts) == 2:
        print(f"{encoder.similarity(*texts):.4f}")
    else:
        numbers = [str(number) for number in range(1, len(texts) + 1)]
        rows = [
            [number, *row, text] for number, row, text in zip(numbers, cosines, texts, strict=True)
        ]
        print_table(["", *numbers, "text"], rows, [3] * (len(texts) + 2))


def register(app: typer.Typer) -> None:
    app.command()(similarity)
