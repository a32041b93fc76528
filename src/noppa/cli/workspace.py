"""What commands over all texts of their inputs share: a scratch folder, the texts and vectors in it, rows of a table."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.cli.progress import records_bar
from noppa.cli.record_options import listed_faults, print_faults, size_of
from noppa.cli.terminal import printable
from noppa.encoder.cosines import unit_vectors
from noppa.encoder.encoder import Encoder
from noppa.io.atomic import scratch_folder
from noppa.io.outputs import STREAM
from noppa.progress_bar import counts_bar
from noppa.records import Input
from noppa.records.collected import Collected, collected
from noppa.records.fingerprint import refuse_changed

BLOCK = 4096


@contextmanager
def workspace(output: str | Path | None) -> Iterator[Path]:
    """A scratch folder beside the output, on the disk that must have room for it; elsewhere for standard output."""
    if output is None or str(output) == STREAM:
        with tempfile.TemporaryDirectory(prefix="noppa-") as folder:
            yield Path(folder)
    else:
        with scratch_folder(Path(output)) as path:
            yield path


def collect(source: Input, folder: Path, name: str, on_bad: str, spool: bool = False) -> Collected:
    """All texts, with a progress bar; bad records are reported."""
    with records_bar("read", size_of(source)) as progress:
        found = collected(source, folder, name, on_bad, spool, progress)
    refuse_changed(found.statuses)
    print_faults(found.outcome, on_bad, listed_faults(found.outcome))
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
