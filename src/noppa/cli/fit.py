"""`noppa fit`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer

import noppa
from noppa.cli.inputs import read_texts
from noppa.cli.options import (
    Column,
    Counts,
    Engine,
    Format,
    Inputs,
    Model,
    OnError,
    Scheduler,
    TokenizerName,
    Vectors,
    input_files,
    unfitted_encoder,
)
from noppa.cli.output import check_output
from noppa.io.paths import folders_of

METHOD_NAMES = f"{', '.join(noppa.METHODS)}, or package.module:Class"


def fit(
    inputs: Inputs = None,
    *,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the encoder.")],
    model: Model = None,
    vectors: Vectors = None,
    counts: Counts = None,
    ranks: Annotated[
        bool, typer.Option("--ranks", help="Estimate word probabilities from the words' order.")
    ] = False,
    method: Annotated[
        str | None,
        typer.Option(help=f"One of {METHOD_NAMES}; noppa with --vectors, else the model's own."),
    ] = None,
    parameters: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", help="A parameter of the method, such as a=0.05; repeat for more."
        ),
    ] = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    form: Format = None,
    on_error: OnError = "raise",
    engine: Engine = None,
    scheduler: Scheduler = None,
) -> None:
    """Make an encoder from word vectors, word counts and your own text.

    Without --vectors it uses the words of the embedded model.

    Example: noppa fit corpus.txt -v glove.txt --counts counts.txt -p a=0.05 -p k=12 -o my-encoder
    """
    check_output(output, [vectors, counts, *(inputs or [])])
    source = input_files(inputs, column, form, engine)
    encoder = unfitted_encoder(model, vectors, counts, ranks, method, parameters or [], tokenizer)
    check_output(output, folders_of(encoder), quiet=True)
    if engine is None:
        encoder.fit(read_texts(source, on_error)).save(output)
        return
    from noppa.integrations import cluster

    work = output.with_name(f".{output.name}.work")
    cluster.fit(encoder, source, work, engine, scheduler, on_error).save(output)
    shutil.rmtree(work)


def register(app: typer.Typer) -> None:
    app.command()(fit)
