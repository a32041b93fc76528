"""What `encode` and `predict` share: which columns to keep, a run with a progress bar, and what is said at its end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from noppa.cli.progress import records_bar
from noppa.cli.record_options import interruptible, listed_faults, print_faults, size_of
from noppa.cli.terminal import visible
from noppa.files import Job, Outcome
from noppa.files.record_file import STDIN

Keep = Annotated[
    str | None,
    typer.Option(
        help="Columns of the input to write beside the vectors, with commas between them.",
        show_default=False,
    ),
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="All columns of the input.")]


def columns_to_keep(
    keep: str | None, keep_all: bool, otherwise: Sequence[str] | None
) -> Sequence[str] | None:
    """The columns that `--keep` names, None for all of them."""
    if keep is not None and keep_all:
        raise typer.BadParameter("give --keep or --keep-all, not both")
    if keep is None:
        return None if keep_all else otherwise
    names = [name.strip() for name in keep.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter("--keep names no column: give some, such as id,title")
    return tuple(dict.fromkeys(names))


def run_job(job: Job, what: str) -> None:
    """Run a job to its end, and say what it did."""
    note = ": what was done is kept for --resume" if job.resume else ": nothing was written"
    start = time.perf_counter()
    try:
        with (
            interruptible("" if job.target == STDIN else note),
            records_bar(what, size_of(job.source)) as progress,
        ):
            outcome = replace(job, progress=progress).run()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(1) from None
    print_faults(outcome, job.on_error, listed_faults(outcome))
    print(_summary(job, outcome, time.perf_counter() - start), file=sys.stderr)


def _summary(job: Job, outcome: Outcome, seconds: float) -> str:
    target = "standard output" if job.target == STDIN else visible(job.target)
    facts = [f"{outcome.rows:,} row{'s' * (outcome.rows != 1)}"]
    if outcome.tokens:
        share = outcome.unknown / outcome.tokens
        facts.append(f"{outcome.unknown:,} of {outcome.tokens:,} tokens unknown ({share:.1%})")
    return f"noppa: {target}: {', '.join(facts)}, {seconds:.1f} s"
