"""Some records of files, copied as they are with all their columns, in the format that they came in."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.files.background import ended
from noppa.files.read import Input
from noppa.files.record_file import STDIN, WholeFile, record_file
from noppa.files.record_formats import FORMATS, form_of
from noppa.files.record_formats.json_array import JsonArray
from noppa.files.record_formats.lines import line_batches
from noppa.files.record_formats.parquet import Parquet, pyarrow_parquet
from noppa.files.record_formats.tables import Table
from noppa.files.text_source import text_source
from noppa.io.compression import MAGIC

#: Which of the next records to copy, (records,).
Chosen = NDArray[np.bool_]


class Choice:
    """Which records to copy, (records,): handed out block by block, in the order of the records."""

    def __init__(self, chosen: Chosen) -> None:
        self._chosen, self._at = chosen, 0

    def next(self, count: int) -> list[bool]:
        self._at += count
        some: list[bool] = self._chosen[self._at - count : self._at].tolist()
        return some


class Copy(Protocol):
    """Copies chosen records of files of one format into one file."""

    def __init__(self, files: Sequence[WholeFile], source: Input, output: IO[bytes]) -> None: ...

    def add(self, file: WholeFile, choice: Choice) -> None: ...

    def finish(self) -> None: ...


class LinesCopy:
    """Lines, of text or JSON; one that is no UTF-8 becomes an empty one."""

    def __init__(self, files: Sequence[WholeFile], source: Input, output: IO[bytes]) -> None:
        self.output, self.encoding = output, source.encoding

    def add(self, file: WholeFile, choice: Choice) -> None:
        with closing(text_source(file, self.encoding)) as source:
            for batch in line_batches(source, file.address):
                kept = zip(batch.texts, choice.next(len(batch.texts)), strict=True)
                lines = [f"{text or ''}\n" for text, is_chosen in kept if is_chosen]
                self.output.write("".join(lines).encode())

    def finish(self) -> None:
        pass


class JsonCopy(LinesCopy):
    """Elements of JSON arrays, as one array."""

    def __init__(self, files: Sequence[WholeFile], source: Input, output: IO[bytes]) -> None:
        super().__init__(files, source, output)
        self.count = 0

    def add(self, file: WholeFile, choice: Choice) -> None:
        with closing(text_source(file, self.encoding)) as source:
            for batch in JsonArray().batches(source, file.address):
                kept = zip(batch.texts, choice.next(len(batch.texts)), strict=True)
                for text in (text for text, is_chosen in kept if is_chosen):
                    self.output.write(f"{',' if self.count else '['}\n{text or 'null'}".encode())
                    self.count += 1

    def finish(self) -> None:
        self.output.write(b"\n]\n" if self.count else b"[]\n")


class TableCopy:
    """Rows of CSV or TSV, with one header for all files; bytes that are no UTF-8 stay as they are."""

    def __init__(self, files: Sequence[WholeFile], source: Input, output: IO[bytes]) -> None:
        self.header = source.header
        self.first: list[str] | None = None
        table = FORMATS[source.form_of(source.paths[0])]
        assert isinstance(table, Table)
        self.table, self.selection, self.output = table, source.selection, output
        self.delimiter = ""

    def add(self, file: WholeFile, choice: Choice) -> None:
        with ended(self.table.rows(file, self.selection)) as tables:
            self._add(tables, file.address, choice)

    def _add(
        self, tables: Iterator[tuple[Table, list[list[str]]]], address: str, choice: Choice
    ) -> None:
        first = next(tables, None)
        if first is None:
            return
        table, rows = first
        self.delimiter = self.delimiter or table.delimiter
        blocks = chain([] if self.header else [rows], (rows for _, rows in tables))
        if self.header:
            head = rows[0]
            if self.first is None:
                self._write([head])
                self.first = head
            elif head != self.first:
                raise ParameterError(
                    f"{address} has other columns than the files before it: give them one by one"
                )
        for rows in blocks:
            kept = zip(rows, choice.next(len(rows)), strict=True)
            self._write([row for row, is_chosen in kept if is_chosen])

    def _write(self, rows: list[list[str]]) -> None:
        text = io.StringIO(newline="")
        if self.table.quotes:
            csv.writer(text, delimiter=self.delimiter, lineterminator="\n").writerows(rows)
        else:
            text.writelines(f"{self.delimiter.join(row)}\n" for row in rows)
        self.output.write(text.getvalue().encode("utf-8", "surrogateescape"))

    def finish(self) -> None:
        pass


class ParquetCopy:
    """Rows of Parquet files that have the same columns."""

    def __init__(self, files: Sequence[WholeFile], source: Input, output: IO[bytes]) -> None:
        self.format = Parquet()
        self.schema = self.format.schema(files[0])
        for file in files[1:]:
            if not self.format.schema(file).equals(self.schema):
                raise ParameterError(
                    f"{file.address} has other columns than {files[0].address}: give them one by one"
                )
        self.writer: Any = pyarrow_parquet().ParquetWriter(output, self.schema)

    def add(self, file: WholeFile, choice: Choice) -> None:
        import pyarrow

        for batch in self._grouped(self.format.tables(file)):
            self.writer.write_table(batch.filter(pyarrow.array(choice.next(len(batch)))))

    def _grouped(self, batches: Iterator[Any], rows: int = 1 << 16) -> Iterator[Any]:
        """Batches put together, since each becomes a row group."""
        import pyarrow

        pending: list[Any] = []
        for batch in batches:
            pending.append(batch)
            if sum(map(len, pending)) >= rows:
                yield pyarrow.Table.from_batches(pending, self.schema)
                pending = []
        if pending:
            yield pyarrow.Table.from_batches(pending, self.schema)

    def finish(self) -> None:
        self.writer.close()


COPIES: dict[str, type[Copy]] = {
    "lines": LinesCopy,
    "jsonl": LinesCopy,
    "json": JsonCopy,
    "csv": TableCopy,
    "tsv": TableCopy,
    "parquet": ParquetCopy,
}


def checked_form(source: Input, target: str) -> str:
    """The format of all inputs, which is that of the output, or an error that says which differ."""
    forms = {path: source.form_of(path) for path in source.paths}
    form = forms[source.paths[0]]
    for path, other in forms.items():
        if other != form:
            raise ParameterError(
                f"{path} is {other} and {source.paths[0]} is {form}: give them one by one"
            )
    if form not in COPIES:
        raise ParameterError(f"{source.paths[0]}: records of {form} cannot be copied")
    if target != STDIN and source.form is None and form_of(target) not in (form, "lines"):
        raise ParameterError(
            f"{target} is {form_of(target)} by its name and the input is {form}: "
            "records are copied as they are, choose a name of the same format"
        )
    if Path(target).suffix[1:] in MAGIC.values():
        raise ParameterError(
            f"{target}: records are written plain, give a name without its last part"
        )
    if target == STDIN and form == "parquet":
        raise ParameterError("Parquet cannot go to standard output: name a file")
    return form


def copy_records(
    source: Input, chosen: Chosen, output: IO[bytes], stdin: WholeFile | None = None
) -> None:
    """Write the chosen records of all files (records,), in order."""
    files = [record_file(path, stdin) for path in source.paths]
    copy = COPIES[source.form_of(source.paths[0])](files, source, output)
    choice = Choice(chosen)
    for file in files:
        copy.add(file, choice)
    copy.finish()
