"""What commands over all texts of their inputs share: the encoder, a scratch folder, the texts and vectors in it, rows of a table."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray

import noppa
from noppa.cli.checked_output import output_of
from noppa.cli.options import Model, Threads, TokenizerName
from noppa.cli.progress import records_bar
from noppa.cli.record_options import Column, Reading, listed_faults, print_faults, size_of
from noppa.cli.terminal import printable
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SIMILARITY, unit_vectors
from noppa.errors import ParameterError
from noppa.files import Input
from noppa.files.collected import Collected, collected
from noppa.files.fingerprint import refuse_changed
from noppa.io.atomic import scratch_folder
from noppa.io.outputs import STREAM, folders_of
from noppa.io.table_file import checked_table
from noppa.progress_bar import counts_bar

BLOCK = 4096


@dataclass(frozen=True)
class Comparing:
    """Which texts are compared, and by which encoder: options of every command that compares all texts."""

    column: Column = None
    model: Model = None
    tokenizer: TokenizerName = None
    threads: Threads = None

    def encoder(self) -> Encoder:
        return noppa.load(self.model or SIMILARITY, self.tokenizer)


class Compared(NamedTuple):
    """All texts of the inputs, their unit vectors (texts, dim), and what made these."""

    found: Collected
    vectors: NDArray[np.float32]
    encoder: Encoder


@contextmanager
def all_texts(
    inputs: list[str] | None,
    reading: Reading,
    comparing: Comparing,
    output: Path | None,
    others: tuple[str, ...] = (),
) -> Iterator[Compared]:
    """The texts of the inputs, encoded, while the block lasts.

    output: a table that will be written, or a file with one of the `others` endings; refused before any work where it cannot be.
    """
    try:
        given = reading.input_of(inputs, comparing.column)
        if output is not None:
            checked_table(output, others)
    except ParameterError as error:
        raise typer.BadParameter(str(error)) from error
    encoder = comparing.encoder()
    if output is not None:
        output_of(output, [*given.paths, *folders_of(encoder)])
    with workspace(output) as folder:
        found = collect(given, folder, "own", reading.on_error)
        yield Compared(found, vectors_of(found, encoder, folder, comparing.threads), encoder)


@contextmanager
def workspace(output: str | Path | None) -> Iterator[Path]:
    """Yield a temporary folder on the disk of the output; for standard output, the system's place for temporary files."""
    if output is None or str(output) == STREAM:
        with tempfile.TemporaryDirectory(prefix="noppa-") as folder:
            yield Path(folder)
    else:
        with scratch_folder(Path(output)) as path:
            yield path


def collect(
    source: Input, folder: Path, name: str, on_error: str, spool: bool = False
) -> Collected:
    """All texts, with a progress bar; bad records are reported."""
    with records_bar("read", size_of(source)) as progress:
        found = collected(source, folder, name, on_error, spool, progress)
    refuse_changed(found.statuses)
    print_faults(found.outcome, on_error, listed_faults(found.outcome))
    return found


def vectors_of(
    found: Collected, encoder: Encoder, folder: Path, threads: int | None
) -> NDArray[np.float32]:
    """Unit vectors (texts, dim) in a file of the folder, with a progress bar."""
    texts, path = found.texts, folder / "vectors"
    with counts_bar() as progress, path.open("wb") as file:
        for at in range(0, len(texts), BLOCK):
            progress("encode", at, len(texts))
            file.write(unit_vectors(encoder, texts[at : at + BLOCK], threads).data)
    if not len(texts):
        return np.empty((0, encoder.dim), np.float32)
    return np.memmap(path, np.float32, "r").reshape(len(texts), -1)


@contextmanager
def pulse(what: str, total: int = 0) -> Iterator[Callable[[], None]]:
    """A callback for each block of some work, out of `total` where that is known, with a progress bar."""
    with counts_bar() as progress:
        done = 0

        def tick() -> None:
            nonlocal done
            progress(what, done, max(total, done + 1))
            done += 1

        yield tick


def print_rows(rows: Iterable[Iterable[Any]]) -> None:
    """Tab-separated lines; a text is put on one line."""
    for row in rows:
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        sys.stdout.write("\t".join(printable(" ".join(cell.split())) for cell in cells) + "\n")
