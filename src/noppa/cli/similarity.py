"""`noppa similarity`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

import noppa
from noppa.cli.options import Model, TokenizerName
from noppa.cli.terminal import printable


def similarity(
    texts: Annotated[list[str], typer.Argument(help="Two texts or more.", show_default=False)],
    model: Model = None,
    tokenizer: TokenizerName = None,
) -> None:
    """Cosine similarity of texts: a number for two, a table for more.

    Example: noppa similarity "the girl eats a cake" "a girl is eating"
    """
    if len(texts) < 2:
        raise typer.BadParameter("give at least two texts", param_hint="texts")
    encoder = noppa.load(model or "similarity", tokenizer)
    if len(texts) == 2:
        typer.echo(f"{encoder.similarity(*texts):.4f}")
        return
    table = Table("", *(str(number) for number in range(1, len(texts) + 1)))
    for number, (text, row) in enumerate(
        zip(texts, encoder.similarity(texts, texts), strict=True), 1
    ):
        table.add_row(Text(f"{number} {printable(text)}"), *(f"{cosine:.3f}" for cosine in row))
    Console().print(table)


def register(app: typer.Typer) -> None:
    app.command()(similarity)
