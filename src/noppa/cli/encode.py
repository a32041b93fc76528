"""`noppa encode` and `noppa fit`: any amount of text through the library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from noppa.cli.checked_output import output_of
from noppa.cli.encoder_options import (
    SMALLEST,
    Counts,
    FittedMethod,
    Method,
    MethodParameters,
    Missing,
    Ranks,
    Vectors,
    encoder_to_fit,
    model_with,
    refuse_dim,
)
from noppa.cli.options import Model, Threads, TokenizerName, expanded
from noppa.cli.record_options import (
    Column,
    Dim,
    Inputs,
    Normalize,
    Output,
    Overwrite,
    Reading,
    Resume,
    texts_of_inputs,
)
from noppa.cli.run_job import Keep, KeepAll, columns_to_keep, run_job
from noppa.errors import ParameterError
from noppa.files import WRITERS, Job
from noppa.io.outputs import folders_of


@expanded
def encode(
    reading: Reading,
    inputs: Inputs = None,
    model: Model = None,
    method: Method = None,
    parameters: MethodParameters = None,
    tokenizer: TokenizerName = None,
    output: Output = "-",
    to: Annotated[
        str | None, typer.Option("--to", help=f"Output format: {', '.join(WRITERS)}.")
    ] = None,
    column: Column = None,
    keep: Keep = None,
    keep_all: KeepAll = False,
    resume: Resume = False,
    overwrite: Overwrite = False,
    normalize: Normalize = False,
    dim: Dim = None,
    threads: Threads = None,
) -> None:
    """Vectors of texts: one record in, one row out.

    Example: noppa encode reviews.csv --column body -m my-encoder -o reviews.npy
    """
    try:
        encoder = model_with(model, method, parameters, tokenizer)
        refuse_dim(encoder, dim)
        job = Job(
            model=encoder,
            source=reading.input_of(inputs, column),
            target=output,
            form=to,
            on_error=reading.on_error,
            resume=resume,
            overwrite=overwrite,
            threads=threads,
            options={"normalize": normalize, "dim": dim},
            keep=columns_to_keep(keep, keep_all, ()),
        )
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    run_job(job, "encode")


@expanded
def fit(
    reading: Reading,
    inputs: Inputs = None,
    model: Model = None,
    vectors: Vectors = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the encoder.")
    ] = None,
    counts: Counts = None,
    missing: Missing = SMALLEST,
    ranks: Ranks = False,
    method: FittedMethod = None,
    parameters: MethodParameters = None,
    tokenizer: TokenizerName = None,
    column: Column = None,
    threads: Threads = None,
) -> None:
    """An encoder from word vectors, word counts and your own text; from the embedded words without --vectors.

    Example: noppa fit corpus.txt -v glove.txt --counts counts.txt -p a=0.05 -p k=12 -o my-encoder
    """
    if output is None:
        raise typer.BadParameter("give --output FOLDER for the encoder")
    output_of(output, [vectors, counts, *(inputs or [])])
    texts = texts_of_inputs(inputs, column, reading)
    encoder = encoder_to_fit(
        model, vectors, counts, ranks, method, parameters or [], tokenizer, missing
    )
    output_of(output, folders_of(encoder), said=True)
    encoder.fit(texts, threads).save(output)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(encode)
    app.command()(fit)
