"""`noppa encode`, and the run of a job that it shares with `noppa predict`."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from typing import Annotated

import typer

import noppa
from noppa.cli.inputs import print_faults
from noppa.cli.options import (
    Column,
    Format,
    Inputs,
    Model,
    OnError,
    Output,
    Overwrite,
    Resume,
    input_files,
    input_size,
    unfitted_encoder,
)
from noppa.cli.output import interruptible, note, records_bar, visible
from noppa.encoder import embedded
from noppa.errors import ParameterError
from noppa.files import WRITERS, Job, Outcome
from noppa.files.record_file import STDIN

#: The value of `--keep` for all columns.
ALL = "all"


def encode(
    inputs: Inputs = None,
    model: Model = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="Another method over the model's words: its name, or package.module:Class.",
            show_default=False,
        ),
    ] = None,
    output: Output = "-",
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help=f"Output format: {', '.join(WRITERS)}; by the file name if not given.",
            show_default=False,
        ),
    ] = None,
    column: Column = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="Input columns to write next to the vectors, separated by commas, or all.",
            show_default=False,
        ),
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="Scale each vector to length one.")
    ] = False,
    dim: Annotated[
        int | None, typer.Option(help="Keep only the first dimensions.", show_default=False)
    ] = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Encode texts as vectors: one record in, one row out.

    Example: noppa encode reviews.csv --column body -m my-encoder -o reviews.npy
    """
    encoder = unfitted_encoder(model, None, None, False, method, [])
    _check_dim(encoder, dim)
    columns = None if keep == ALL else tuple(dict.fromkeys(_names(keep)))
    try:
        job = Job(
            model=encoder,
            source=input_files(inputs, column, form),
            target=output,
            form=to,
            on_error=on_error,
            resume=resume,
            overwrite=overwrite,
            options={"normalize": normalize, "dim": dim},
            keep=columns,
        )
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    run_job(job, "encode")


def _names(keep: str | None) -> list[str]:
    names = [name.strip() for name in (keep or "").split(",") if name.strip()]
    if keep is not None and not names:
        raise typer.BadParameter("--keep names no column: give some, such as id,title, or all")
    return names


def _check_dim(encoder: noppa.Encoder, dim: int | None) -> None:
    """Raise if a vector cannot be cut to `dim`; name the presets whose vectors can."""
    if dim is not None and not encoder.ordered:
        ordered = [name for name in embedded.presets() if noppa.load(name).ordered]
        raise typer.BadParameter(
            f"--dim {dim} would keep an arbitrary part of this model's vectors; the first dimensions matter most with "
            f"the presets {', '.join(ordered)}"
        )
    if dim is not None and not 1 <= dim <= encoder.dim:
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
            outcome = replace(job, progress=progress).run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    print_faults(outcome, job.on_error)
    note(_summary(job, outcome, time.perf_counter() - start))


def _summary(job: Job, outcome: Outcome, seconds: float) -> str:
    target = "standard output" if job.target == STDIN else visible(job.target)
    facts = [f"{outcome.rows:,} row{'s' * (outcome.rows != 1)}"]
    if outcome.tokens:
        share = outcome.unknown / outcome.tokens
        facts.append(f"{outcome.unknown:,} of {outcome.tokens:,} tokens unknown ({share:.1%})")
    return f"{target}: {', '.join(facts)}, {seconds:.1f} s"


def register(app: typer.Typer) -> None:
    app.command()(encode)
