"""`noppa dedupe`: records whose text repeats that of none before them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, Annotated

import numpy as np
import typer

from noppa.cli.checked_output import output_of
from noppa.cli.options import expanded
from noppa.cli.record_options import Inputs, Reading, interruptible
from noppa.cli.workspace import Comparing, collect, workspace
from noppa.dedupe.deduplicate import THRESHOLD, compare
from noppa.dedupe.duplicates import LOWEST, Duplicates, Removed
from noppa.encoder.encoder import Encoder
from noppa.errors import ParameterError
from noppa.files import Input
from noppa.files.collected import Collected
from noppa.files.copies import checked_form, copy_records
from noppa.files.fingerprint import refuse_changed
from noppa.io.atomic import atomic_file
from noppa.io.outputs import STREAM, folders_of
from noppa.io.table_file import checked_table, write_table
from noppa.progress_bar import counts_bar


@expanded
def dedupe(
    comparing: Comparing,
    reading: Reading,
    inputs: Inputs = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="File for the kept records, - for standard output."),
    ] = "-",
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="A file of records to repeat none of; it is not changed.", show_default=False
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help=f"Cosine from which a text repeats another, {LOWEST:g} to 1.  [default: {THRESHOLD:g}]",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            min=1, help="In place of a threshold: keep at most so many.", show_default=False
        ),
    ] = None,
    removed: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .jsonl or .parquet file for what was removed, and why.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Records whose text repeats none before it, exactly or nearly, with all their columns.

    The output has the format of the input. Records are numbered from 1 on.

    Example: noppa dedupe reviews.csv --column body -o unique.csv --removed removed.csv
    """  # fmt: skip
    if threshold is not None and keep is not None:
        raise typer.BadParameter("give --threshold or --keep, not both")
    if removed is not None and removed.resolve() == Path(output).resolve():
        raise typer.BadParameter(f"--output and --removed are both {removed}: give two names")
    try:
        given = reading.input_of(inputs, comparing.column)
        known = None
        if reference:
            known = replace(reading, form=None).input_of(reference, comparing.column)
        checked_form(given, output)
        if removed is not None:
            checked_table(removed)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    encoder = comparing.encoder()
    sources = [*given.paths, *(reference or []), *folders_of(encoder)]
    output_of(output, sources)
    if removed is not None:
        output_of(removed, [*sources, output])
    with workspace(output) as folder:
        with interruptible(": nothing was written"):
            found = collect(given, folder, "own", reading.on_error, spool=True)
            others = (
                None if known is None else collect(known, folder, "reference", reading.on_error)
            )
            result = _duplicates(found, others, encoder, folder, comparing.threads, threshold, keep)
        _write_kept(result, found, given, output)
        if removed is not None:
            write_table(removed, Removed, _numbered(result, found, others))
    print(
        f"noppa: {len(result.kept):,} of {found.outcome.records:,} records kept, {len(result.removed):,} repeat another "
        f"({result.compared.copies:,} word for word) at a threshold of {result.threshold:g}",
        file=sys.stderr,
    )


def _duplicates(
    found: Collected,
    others: Collected | None,
    encoder: Encoder,
    folder: Path,
    threads: int | None,
    threshold: float | None,
    keep: int | None,
) -> Duplicates:
    """At the threshold, or down to a number of rows, with a progress bar."""
    with counts_bar() as progress:
        known = [] if others is None else others.texts
        compared = compare(found.texts, known, encoder, folder, threads, progress)
        result = compared.at(THRESHOLD if threshold is None else threshold)
        return result if keep is None else result.down_to(keep)


def _numbered(result: Duplicates, own: Collected, others: Collected | None) -> Iterator[Removed]:
    """The removed rows with the numbers of their records."""
    for one in result.removed:
        repeated = others if one.in_reference and others is not None else own
        yield one._replace(
            row=int(own.records[one.row]) + 1, repeats=int(repeated.records[one.repeats]) + 1
        )


def _write_kept(result: Duplicates, found: Collected, given: Input, output: str) -> None:
    chosen = np.zeros(found.outcome.records, bool)
    chosen[found.records[result.kept]] = True

    def write(file: IO[bytes]) -> None:
        copy_records(given, chosen, file, found.stdin)
        refuse_changed(found.statuses)

    if output == STREAM:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with atomic_file(Path(output)) as new, new.open("wb") as file:
        write(file)


def register(app: typer.Typer) -> None:
    app.command()(dedupe)
