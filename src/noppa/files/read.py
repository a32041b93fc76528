"""Records of files and of standard input as one stream of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from noppa.errors import FileError, NoppaError, ParameterError, warn
from noppa.files.background import ended
from noppa.files.batch import Batch
from noppa.files.columns import Selection
from noppa.files.record_file import WholeFile, record_file
from noppa.files.record_formats import FORMATS, form_of
from noppa.files.text_source import checked_encoding
from noppa.io.compression import damage
from noppa.parameters import one_of


@dataclass(frozen=True)
class Input:
    """Where records come from: paths (`-` for standard input), their format, and the column with the text.

    form: one of `FORMATS`; by the names of the files where None. column: a name, or a number from 1 on.
    header: whether the first row of a table names its columns.
    """

    paths: Sequence[str]
    form: str | None = None
    column: str | None = None
    header: bool = True
    records: bool = False
    """Give the whole records beside their texts."""
    encoding: str | None = None
    """Of text files; UTF-8 where None, unless a byte order mark tells another."""
    delimiter: str | None = None
    """Of tables; by the name and the first rows of a file where None."""

    def __post_init__(self) -> None:
        one_of(self.form, "the input format", (None, *FORMATS))
        checked_encoding(self.encoding)
        if self.delimiter is not None:
            _refuse_delimiter(self.delimiter, {self.form_of(path) for path in self.paths})

    @property
    def selection(self) -> Selection:
        """What record formats are told."""
        return Selection(
            self.column,
            self.header,
            records=self.records,
            encoding=self.encoding,
            delimiter=self.delimiter,
        )

    def form_of(self, path: str) -> str:
        return self.form or form_of(path)


def read(source: Input, stdin: WholeFile | None = None) -> Iterator[Batch]:
    """Every record of every file, in order; a fault names the file and the number of the record in it.

    stdin: read in place of standard input.
    """
    bytes_before = 0
    for path in source.paths:
        file, form = record_file(path, stdin), FORMATS[source.form_of(path)]
        number, position = 1, 0
        with _explained(file.address), ended(form.stream(file, source.selection)) as batches:
            for batch in batches:
                batch.bad = [
                    (at, f"{file.address}, {form.unit} {number + at}: {fault}")
                    for at, fault in batch.bad
                ]
                number += len(batch.texts)
                position = batch.position
                batch.position += bytes_before
                yield batch
        if number == 1:
            warn(f"{file.address} is empty: there is no record in it")
        bytes_before += position


def _refuse_delimiter(delimiter: str, forms: set[str]) -> None:
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise ParameterError(f"the delimiter is one character, such as ; or |, not {delimiter!r}")
    if other := forms - {"csv", "tsv"}:
        raise ParameterError(
            f"--delimiter belongs to tables, and {min(other)} has no columns between delimiters: pass --from csv"
        )


@contextmanager
def _explained(address: str) -> Iterator[None]:
    """Turn whatever else a damaged or unreadable file raises into one sentence."""
    try:
        yield
    except (OSError, ValueError, EOFError) as error:
        if isinstance(error, NoppaError):
            raise
        raise FileError(f"{address} {damage(error)}: fetch it again") from error
