"""`noppa figures`: the paper's figures with any model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.checked_output import output_of
from noppa.cli.encoder_options import Counts, Parameters, Ranks, Vectors, encoder_of
from noppa.cli.options import Model, TokenizerName
from noppa.io.outputs import folders_of
from noppa.paper.figures import figures as write_figures


def figures(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the figures.", show_default=False)
    ],
    dark: Annotated[bool, typer.Option("--dark", help="Files on dark ground.")] = False,
    model: Model = None,
    tokenizer: TokenizerName = None,
    vectors: Vectors = None,
    counts: Counts = None,
    ranks: Ranks = False,
    parameters: Parameters = None,
) -> None:
    """Draw every figure of the paper again, and a page with the paper's printed values beside ours.

    Example: noppa figures -v glove.6B.300d.txt --counts counts.txt -o figures
    """
    encoder = encoder_of(model, vectors, counts, ranks, parameters, tokenizer)
    output_of(output, folders_of(encoder))
    for path in write_figures(encoder, output, counts, dark):
        typer.echo(path)


def register(app: typer.Typer) -> None:
    app.command()(figures)
