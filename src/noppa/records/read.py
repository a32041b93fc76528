"""Readers of text records by the name of their format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noppa.errors import FileError, NoppaError
from noppa.io.compression import damage
from noppa.records.batch import Batch, Input, shown
from noppa.records.lines import read_jsonl, read_lines
from noppa.records.parquet import read_parquet
from noppa.records.tables import read_csv, read_tsv

READERS: dict[str, Callable[[str, Input], Iterator[Batch]]] = {
    "lines": read_lines,
    "jsonl": read_jsonl,
    "csv": read_csv,
    "tsv": read_tsv,
    "parquet": read_parquet,
}


def read(source: Input) -> Iterator[Batch]:
    """Every record of every file, in order."""
    before = 0
    for path in source.paths:
        form = source.form_of(path)
        size = 0
        with _explained(path):
            for batch in READERS[form](path, source):
                size, batch.position = batch.position, batch.position + before
                yield batch
        before += size


@contextmanager
def _explained(path: str) -> Iterator[None]:
    """Whatever else a damaged or unreadable file may raise, as one sentence."""
    try:
        yield
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, NoppaError):
            raise
        raise FileError(f"{shown(path)} {damage(error)}: fetch it again") from error
