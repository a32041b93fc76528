"""Records of files and of standard input as one stream of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from noppa.errors import FileError, NoppaError
from noppa.io.compression import damage
from noppa.parameters import one_of
from noppa.records.batch import Batch
from noppa.records.columns import Selection
from noppa.records.record_file import WholeFile, record_file
from noppa.records.record_formats import FORMATS, form_of


@dataclass(frozen=True)
class Input:
    """Where records come from: paths (`-` for standard input), their format, and the column with the text."""

    paths: Sequence[str]
    form: str | None = None
    column: str | None = None
    header: bool = True
    records: bool = False
    """Give the whole records beside their texts."""

    def __post_init__(self) -> None:
        one_of(self.form, "the input format", (None, *FORMATS))

    def form_of(self, path: str) -> str:
        return self.form or form_of(path)


def read(source: Input, fields: bool = False, stdin: WholeFile | None = None) -> Iterator[Batch]:
    """Every record of every file, in order; a fault names the file and the number of the record in it.

    fields: whether batches hold the other fields of each record too. stdin: read in place of standard input.
    """
    selection = Selection(source.column, source.header, fields=fields, records=source.records)
    bytes_before = 0
    for path in source.paths:
        file, form = record_file(path, stdin), FORMATS[source.form_of(path)]
        number, position = 1, 0
        with _explained(file.address):
            for batch in form.stream(file, selection):
                batch.bad = [
                    (at, f"{file.address}, {form.unit} {number + at}: {fault}")
                    for at, fault in batch.bad
                ]
                number += len(batch.texts)
                position = batch.position
                batch.position += bytes_before
                yield batch
        bytes_before += position


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn whatever else a damaged or unreadable file raises into one sentence."""
    try:
        yield
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, NoppaError):
            raise
        raise FileError(f"{address} {damage(error)}: fetch it again") from error
