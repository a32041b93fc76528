"""`noppa encode`, and the run of a job that it shares with `noppa predict`."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

import typer

import noppa
from noppa.cli.inputs import print_faults
from noppa.cli.options import (
    Column,
    Engine,
    Format,
    Inputs,
    Model,
    OnError,
    Output,
    Overwrite,
    Resume,
    Scheduler,
    input_files,
    input_size,
    unfitted_encoder,
)
from noppa.cli.output import interruptible, note, records_bar, visible
from noppa.encoder import embedded
from noppa.errors import ParameterError
from noppa.files import WRITERS, Input, Job, Outcome
from noppa.files.inputs import STDIN

#: The value of `--keep` for all columns.
ALL = "all"


def encode(
    inputs: Inputs = None,
    model: Model = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Another method over the model's words: its name, or package.module:Class."
        ),
    ] = None,
    output: Output = "-",
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help=f"Output format: {', '.join(WRITERS)}; by the file name if not given."
        ),
    ] = None,
    column: Column = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Input columns to write next to the vectors, separated by commas, or all."
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Scale each vector to length one.")
    ] = False,
    dim: Annotated[int | None, typer.Option(help="Keep only the first dimensions.")] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    form: Format = None,
    on_error: OnError = "raise",
    engine: Engine = None,
    scheduler: Scheduler = None,
) -> None:
    """Encode texts as vectors: one record in, one row out.

    Example: noppa encode reviews.csv --column body -m my-encoder -o reviews.npy
    """
    encoder = unfitted_encoder(model, None, None, False, method, [])
    if dim is not None:
        _check_dim(encoder, dim)
    columns: tuple[str, ...] | None = ()
    if keep is not None:
        columns = None if keep == ALL else tuple(dict.fromkeys(_names(keep)))
    try:
        make_job = partial(
            Job,
            model=encoder,
            on_error=on_error,
            threads=None if engine is None else 1,
            options={"normalize": normalize, "dim": dim},
            keep=columns,
        )
        source = input_files(inputs, column, form, engine)
        if engine is not None:
            return run_on_engine(make_job, source, output, to, on_error, engine, scheduler)
        job = make_job(source=source, target=output, format=to, resume=resume, overwrite=overwrite)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    run_job(job, "encode")


def _names(keep: str) -> list[str]:
    names = [name.strip() for name in keep.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("--keep names no column: give some, such as id,title, or all")
    return names


def _check_dim(encoder: noppa.Encoder, dim: int) -> None:
    """Raise if a vector cannot be cut to `dim`; name the presets whose vectors can."""
    if not encoder.ordered:
        ordered = [name for name in embedded.presets() if noppa.load(name).ordered]
        raise typer.BadParameter(
            f"--dim {dim} would keep an arbitrary part of this model's vectors; the first dimensions matter most with "
            f"the presets {', '.join(ordered)}"
        )
    if not 1 <= dim <= encoder.dim:
        raise typer.BadParameter(f"--dim {dim}: this model's vectors have {encoder.dim} dimensions")


def run_job(job: Job, what: str) -> None:
    """Run a job to its end and print a summary."""
    message = ": finished rows are kept for --resume" if job.resume else ": nothing was written"
    start = time.perf_counter()
    try:
        with (
            interruptible("" if job.target == STDIN else message),
            records_bar(what, input_size(job.source)) as progress,
        ):
            job.progress = progress
            outcome = job.run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    print_faults(outcome, job.on_error)
    note(_summary(job.target, outcome, time.perf_counter() - start))


def run_on_engine(
    make_job: Callable[..., Job],
    source: Input,
    output: str,
    to: str | None,
    on_error: str,
    engine: str,
    scheduler: str | None,
) -> None:
    """Run a job on Dask or Spark, one part per input file, and print a summary."""
    from noppa.integrations.cluster import run_parts

    if output == STDIN:
        raise typer.BadParameter("--engine writes a folder of parts: give --output FOLDER")
    start = time.perf_counter()
    with interruptible(": finished parts are kept, and the same command continues"):
        outcome = run_parts(make_job, source, output, to or "parquet", engine, scheduler)
    print_faults(outcome, on_error)
    note(_summary(output, outcome, time.perf_counter() - start))


def _summary(output: str, outcome: Outcome, seconds: float) -> str:
    target = "standard output" if output == STDIN else visible(output)
    facts = [f"{outcome.rows:,} row{'s' * (outcome.rows != 1)}"]
    if outcome.tokens:
        share = outcome.unknown / outcome.tokens
        facts.append(f"{outcome.unknown:,} of {outcome.tokens:,} tokens unknown ({share:.1%})")
    return f"{target}: {', '.join(facts)}, {seconds:.1f} s"


def register(app: typer.Typer) -> None:
    app.command()(encode)
