"""Reading the texts of a command's inputs, with a progress bar and a report of bad records."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

import noppa
from noppa.cli.options import input_files, input_size
from noppa.cli.output import check_output, note, records_bar, visible
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SIMILARITY, unit_vectors
from noppa.errors import FileError, ParameterError
from noppa.files import Batch, Input, Outcome, read
from noppa.files.checkpoint import LISTED, file_statuses, refuse_changed
from noppa.files.collect import Collected, collected
from noppa.io.atomic import scratch_folder
from noppa.io.paths import STREAM, folders_of
from noppa.io.tables import check_table_path
from noppa.progress_bar import counts_bar

BLOCK = 4096


def read_texts(source: Input, on_error: str) -> Iterator[str]:
    """Yield the texts of the input."""
    for batch in read_batches(source, on_error):
        yield from (text for text in batch.texts if text is not None)


def read_batches(source: Input, on_error: str) -> Iterator[Batch]:
    """Yield the records of the input in batches."""
    outcome, before = Outcome(), file_statuses(source.paths)
    with records_bar("read", input_size(source)) as progress:
        for batch in read(source):
            outcome.count(batch)
            if batch.bad and on_error == "raise":
                raise FileError(batch.bad[0][1], hint="fix it, or pass on_error='skip'")
            progress(outcome.records, batch.position)
            yield batch
    refuse_changed(before)
    print_faults(outcome, on_error)


def collect(
    source: Input, folder: Path, name: str, on_error: str, spool: bool = False
) -> Collected:
    """Store all texts of the input in files of the folder.

    Args:
        source: The input.
        folder: A scratch folder.
        name: A name for the files.
        on_error: What to do with bad records.
        spool: Copy standard input too, so that it can be read again.
    """
    with records_bar("read", input_size(source)) as progress:
        texts = collected(source, folder, name, on_error, spool, progress)
    refuse_changed(texts.statuses)
    print_faults(texts.outcome, on_error)
    return texts


class EncodedTexts(NamedTuple):
    """All texts of the inputs, their unit vectors (texts, dim), and the encoder."""

    collected: Collected
    vectors: NDArray[np.float32]
    encoder: Encoder


@contextmanager
def encoded_texts(
    inputs: list[str] | None,
    column: str | None,
    form: str | None,
    on_error: str,
    model: str | None,
    output: Path | None,
    suffixes: tuple[str, ...] = (),
) -> Iterator[EncodedTexts]:
    """Encode all texts of the inputs, in files of a scratch folder that lasts as long as the block.

    Args:
        inputs: Files, or None for standard input.
        column: The column with the text.
        form: The input format, as `--from` takes it.
        on_error: What to do with bad records.
        model: The model; the preset for cosines if None.
        output: The file that will be written, checked before any work.
        suffixes: Suffixes of `output` that are accepted in addition to those of tables.
    """
    source = input_files(inputs, column, form)
    encoder = noppa.load(model or SIMILARITY)
    if output is not None:
        try:
            check_table_path(output, suffixes)
        except ParameterError as error:
            raise typer.BadParameter(str(error)) from error
        check_output(output, [*source.paths, *folders_of(encoder)])
    with workspace(output) as folder:
        texts = collect(source, folder, "own", on_error)
        yield EncodedTexts(texts, _encode(texts, encoder, folder), encoder)


@contextmanager
def workspace(output: str | Path | None) -> Iterator[Path]:
    """Create a scratch folder next to the output, whose disk must have room for it."""
    if output is None or str(output) == STREAM:
        with tempfile.TemporaryDirectory(prefix="noppa-") as folder:
            yield Path(folder)
    else:
        with scratch_folder(Path(output)) as path:
            yield path


def _encode(texts: Collected, encoder: Encoder, folder: Path) -> NDArray[np.float32]:
    """Return unit vectors (texts, dim), mapped from a file of the folder."""
    path, count = folder / "vectors", len(texts.texts)
    with counts_bar() as progress, path.open("wb") as file:
        for start in range(0, count, BLOCK):
            progress("encode", start, count)
            file.write(unit_vectors(encoder, texts.texts[start : start + BLOCK], None).data)
    if not count:
        return np.empty((0, encoder.dim), np.float32)
    return np.memmap(path, np.float32, "r").reshape(count, -1)


def with_records(source: Input) -> Input:
    """Return an input whose batches hold the whole records."""
    return replace(source, records=True)


def print_faults(counts: Any, on_error: str, details: str | None = None) -> None:
    """Report how many records were bad, the first of them, and how many texts have no known word.

    Args:
        counts: An object with `records`, `rows`, `bad` and `zero`.
        on_error: What was done with bad records.
        details: Text about the bad records, instead of the first ones of `counts.listed`.
    """
    if counts.bad:
        if details is None:
            lines = [visible(fault) for fault in counts.listed]
            if counts.bad > LISTED:
                lines.append(f"and {counts.bad - LISTED} more")
            details = "".join(f"\n  {line}" for line in lines)
        action = "skipped" if on_error == "skip" else "treated as empty"
        note(f"{counts.bad} of {counts.records} records were bad and {action}:{details}")
    zero = counts.zero - (counts.bad if on_error == "empty" else 0)
    if zero > 0:
        note(f"{zero} of {counts.rows} texts have no known word and became rows of zeros")
