"""`noppa encode` and `noppa fit`: any amount of text through the library."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from noppa import METHODS, Encoder
from noppa.cli.encoder_options import Counts, Method, Ranks, method_of, model_with, words_of
from noppa.cli.options import Model, Threads
from noppa.cli.progress import records_bar
from noppa.cli.record_options import (
    Column,
    Dim,
    From,
    Inputs,
    NoHeader,
    Normalize,
    OnBad,
    input_of,
    interruptible,
    listed_faults,
    print_faults,
    size_of,
    texts_of_inputs,
)
from noppa.errors import ParameterError
from noppa.io.outputs import refuse_input_as_output
from noppa.records import WRITERS, Job

MethodParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter", "-p", help="A parameter of the method, as name=value.", show_default=False
    ),
]


def encode(
    inputs: Inputs = None,
    model: Model = None,
    method: Method = None,
    parameters: MethodParameters = None,
    output: Annotated[
        str, typer.Option("--output", "-o", help="File to write, or - for standard output.")
    ] = "-",
    to: Annotated[
        str | None, typer.Option("--to", help=f"Output format: {', '.join(WRITERS)}.")
    ] = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an interrupted run stopped.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there, begun or finished.")
    ] = False,
    normalize: Normalize = False,
    dim: Dim = None,
    threads: Threads = None,
) -> None:
    """Vectors of texts: one record in, one row out.

    Example: noppa encode reviews.csv --column body -m my-encoder -o reviews.npy
    """
    try:
        job = Job(
            model=model_with(model, method, parameters),
            source=input_of(inputs, source, column, no_header),
            target=output,
            form=to,
            on_bad=on_bad,
            resume=resume,
            overwrite=overwrite,
            threads=threads,
            options={"normalize": normalize, "dim": dim},
        )
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    note = ": what was done is kept for --resume" if resume else ": nothing was written"
    try:
        with (
            interruptible("" if output == "-" else note),
            records_bar("encode", size_of(job.source)) as progress,
        ):
            outcome = replace(job, progress=progress).run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    print_faults(outcome, on_bad, listed_faults(outcome))


def fit(
    inputs: Inputs = None,
    vectors: Annotated[
        Path | None, typer.Option("--vectors", "-v", help="Word vectors: any file or saved folder.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the encoder.")
    ] = None,
    counts: Counts = None,
    ranks: Ranks = False,
    method: Annotated[
        str, typer.Option(help=f"One of {', '.join(METHODS)}, or package.module:Class.")
    ] = "noppa",
    parameters: MethodParameters = None,
    source: From = None,
    column: Column = None,
    no_header: NoHeader = False,
    on_bad: OnBad = "error",
    threads: Threads = None,
) -> None:
    """An encoder from word vectors, word counts and your own text.

    Example: noppa fit corpus.txt -v glove.txt --counts counts.txt -p a=0.05 -p k=12 -o my-encoder
    """
    if vectors is None or output is None:
        raise typer.BadParameter("give --vectors and --output")
    refuse_input_as_output(output, [vectors, counts, *(inputs or [])])
    texts = texts_of_inputs(inputs, source, column, no_header, on_bad)
    try:
        made = method_of(method, parameters or [])
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    Encoder(words_of(vectors, counts, ranks), made).fit(texts, threads).save(output)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(encode)
    app.command()(fit)
