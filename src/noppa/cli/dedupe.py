"""`noppa dedupe`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Annotated

import numpy as np
import typer

import noppa
from noppa.cli.inputs import collect, workspace
from noppa.cli.options import Column, Format, Inputs, Model, OnError, Output, input_files
from noppa.cli.output import check_output, interruptible, note
from noppa.dedupe.deduplicate import LOWEST, THRESHOLD, DeduplicationResult, Removed, compare
from noppa.encoder.models import SIMILARITY
from noppa.errors import ParameterError
from noppa.files import Input
from noppa.files.checkpoint import refuse_changed
from noppa.files.collect import Collected, check_copy, copy_rows
from noppa.io.atomic import atomic_file
from noppa.io.paths import STREAM, folders_of
from noppa.io.tables import check_table_path, write_table
from noppa.progress_bar import counts_bar


def dedupe(
    inputs: Inputs = None,
    output: Output = "-",
    reference: Annotated[
        list[str] | None,
        typer.Option(
            help="A file of records to remove too, such as a test set; it is not changed."
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help=f"Cosine from which a text is a duplicate, {LOWEST:g} to 1.  [default: {THRESHOLD:g}]"
        ),
    ] = None,
    keep: Annotated[
        int | None, typer.Option(min=1, help="Keep at most this many, instead of a threshold.")
    ] = None,
    removed: Annotated[
        Path | None,
        typer.Option(
            help="A .csv, .jsonl or .parquet file for the removed records and the reasons."
        ),
    ] = None,
    column: Column = None,
    model: Model = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Keep the records whose text is no duplicate, exact or near, of an earlier one, with all their columns.

    The output has the format of the input. Records are numbered from 1.

    Example: noppa dedupe reviews.csv --column body -o unique.csv --removed removed.csv
    """
    if threshold is not None and keep is not None:
        raise typer.BadParameter("give --threshold or --keep, not both")
    if removed is not None and removed.resolve() == Path(output).resolve():
        raise typer.BadParameter(f"--output and --removed are both {removed}: give two names")
    source = input_files(inputs, column, form)
    known = input_files(reference, column, None) if reference else None
    try:
        check_copy(source, output)
        if removed is not None:
            check_table_path(removed)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    encoder = noppa.load(model or SIMILARITY)
    sources = [*source.paths, *(reference or []), *folders_of(encoder)]
    check_output(output, sources)
    if removed is not None:
        check_output(removed, [*sources, output])
    with workspace(output) as folder:
        with interruptible(": nothing was written"), counts_bar() as progress:
            texts = collect(source, folder, "own", on_error, spool=True)
            others = None if known is None else collect(known, folder, "reference", on_error)
            known_texts = [] if others is None else others.texts
            compared = compare(texts.texts, known_texts, encoder, folder, None, progress)
            result = compared.at(THRESHOLD if threshold is None else threshold)
            result = result if keep is None else result.down_to(keep)
        _write_kept(result, texts, source, output)
        if removed is not None:
            write_table(removed, Removed, _by_record(result, texts, others))
    note(
        f"{len(result.kept):,} of {texts.outcome.records:,} records kept, {len(result.texts) - len(result.kept):,} duplicates "
        f"({result.compared.copies:,} exact) at a threshold of {result.threshold:g}"
    )


def _by_record(
    result: DeduplicationResult, texts: Collected, others: Collected | None
) -> Iterator[Removed]:
    """Yield the removed rows with record numbers instead of row numbers."""
    for row in result.iter_removed():
        repeated = others if row.in_reference and others is not None else texts
        yield row._replace(
            row=int(texts.records[row.row]) + 1, repeats=int(repeated.records[row.repeats]) + 1
        )


def _write_kept(result: DeduplicationResult, texts: Collected, source: Input, output: str) -> None:
    chosen = np.zeros(texts.outcome.records, bool)
    chosen[texts.records[result.kept]] = True

    def write(file: IO[bytes]) -> None:
        copy_rows(source, chosen, file, texts.stdin)
        refuse_changed(texts.statuses)

    if output == STREAM:
        write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return
    with atomic_file(Path(output)) as new, new.open("wb") as file:
        write(file)


def register(app: typer.Typer) -> None:
    app.command()(dedupe)
