"""CSV and TSV: a row a record."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, pairwise
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.batch import Batch, is_clean
from noppa.files.columns import Fields, Selection, text_column
from noppa.files.record_file import CuttableFile, WholeFile
from noppa.files.record_formats.byte_ranges import LineFormat, in_memory, open_lines
from noppa.files.record_formats.record_format import WHOLE, Section, in_parallel
from noppa.files.text_source import SourceStream, not_utf8, text_source
from noppa.io.compression import Source

#: Rows of a batch, and characters, which a single long row may exceed.
ROWS = 4096
CHARACTERS = 8 << 20
LONGEST_VALUE = 1 << 30
#: Bytes to read at a time, and to tell the delimiter from.
PIECE = 1 << 18
SAMPLE = 1 << 14
#: Beside the comma; told by the first rows.
OTHER_DELIMITERS = (";", "\t")

Row = list[str]


@dataclass(frozen=True)
class Table(LineFormat):
    """Rows of values between delimiters; `quotes` says that a value in quotation marks may hold any character."""

    name: str
    delimiter: str
    quotes: bool
    unit = "record"

    def stream(self, file: WholeFile, selection: Selection) -> Iterator[Batch]:
        with _text(text_source(file, selection.encoding)) as (source, text):
            blocks = self.detected(source, selection)._blocks(text, file.address)
            names = next(blocks, [[]])[0] if selection.header else None
            at = text_column(names, selection.column, file.address)
            if selection.records and names is not None:
                names = _column_names(names, file)
            for rows in blocks:
                width = len(names) if selection.records and names is not None else None
                batch = Batch(*_texts(rows, at, width), source.position())
                if selection.records:
                    batch.written = True
                    batch.column = str(at + 1) if names is None else names[at]
                    batch.records = [_record(row, names) for row in rows]
                yield batch

    def rows(self, file: WholeFile, selection: Selection) -> Iterator[tuple[Table, list[Row]]]:
        """All rows of a file, in blocks, the first alone, with their table; bytes that are not UTF-8 are surrogates."""
        with _text(text_source(file, selection.encoding)) as (source, text):
            table = self.detected(source, selection)
            for block in table._blocks(text, file.address):
                yield table, block

    def detected(self, source: Source, selection: Selection) -> Table:
        """The table with the delimiter that the user gives, or that the first rows tell."""
        delimiter = selection.delimiter
        if delimiter is None and self.quotes:
            delimiter = _delimiter(source.peek(SAMPLE), selection.header)
        return self if delimiter is None else replace(self, delimiter=delimiter)

    def fields(self, files: Sequence[CuttableFile], selection: Selection) -> Fields:
        import pyarrow

        first_rows = in_parallel(partial(self._first_row, selection), files)
        filled = [(file, row) for file, (_, row) in zip(files, first_rows, strict=True) if row]
        if not filled:
            raise FileError(f"{files[0].address} is empty: there is no row in it")
        first, head = filled[0]
        for file, row in filled if selection.header else ():
            if row != head:
                raise ParameterError(
                    f"{file.address} has other columns than {first.address}: encode them one after the other"
                )
        names = _column_names(head if selection.header else [""] * len(head), first)
        header = head if selection.header else None
        text = names[text_column(header, selection.column, first.address)]
        schema = pyarrow.schema([(name, pyarrow.string()) for name in names])
        delimiter = next(delimiter for delimiter, row in first_rows if row)
        return Fields.of(self.name, text, schema, selection, selection.header, delimiter)

    def read(self, file: CuttableFile, start: int, stop: int, fields: Fields) -> Iterator[Batch]:
        import pyarrow

        at, width = fields.names.index(fields.text), len(fields.names)
        indices = [fields.names.index(name) for name in fields.schema.names]
        where = file.address + (f", after byte {start}" if start else "")
        table = replace(self, delimiter=fields.delimiter or self.delimiter)
        opened = self._open(file, start, stop, fields.encoding)
        with _text(opened, first=start == 0) as (_, text):
            blocks = table._blocks(text, where)
            if start == 0 and fields.header:
                next(blocks, None)
            for rows in blocks:
                texts, bad = _texts(rows, at, width)
                arrays = [
                    pyarrow.array([_value(row, column) for row in rows], pyarrow.string())
                    for column in indices
                ]
                columns = pyarrow.record_batch(arrays, schema=fields.schema)
                yield Batch(texts, bad, columns=columns)

    def _open(self, file: CuttableFile, start: int, stop: int, encoding: str | None) -> Source:
        if self.quotes and stop != WHOLE:  # such sections end where rows do
            return in_memory(file.content(start, stop))
        return open_lines(file, start, stop, encoding)

    def cut(self, file: CuttableFile, cuts: list[int], fields: Fields) -> list[Section]:
        """Where values are quoted, they may hold line feeds, so that only reading from the start tells row ends."""
        if not self.quotes or len(cuts) == 2:
            return super().cut(file, cuts, fields)
        table = replace(self, delimiter=fields.delimiter or self.delimiter)
        ends = [(0, 0), *table._row_ends(file, cuts[1:-1], fields.header), (cuts[-1], 0)]
        return [
            Section(start, stop, stop - start, before)
            for (start, before), (stop, _) in pairwise(ends)
            if stop > start
        ]

    def _row_ends(
        self, file: CuttableFile, cuts: list[int], header: bool
    ) -> Iterator[tuple[int, int]]:
        """For each byte the end of the first row that ends there or later, and how many records end up to it."""
        position = 0

        def lines(text: Any) -> Iterator[str]:
            nonlocal position
            for line in text:
                position += len(line)
                yield line

        with file.stream() as stream:
            # Latin-1: a character is a byte, so that lengths are positions.
            text = io.TextIOWrapper(stream, "latin-1", newline="")
            rows = self._reader(lines(text))
            remaining = iter(cuts)
            cut = next(remaining, None)
            try:
                for count, _ in enumerate(rows, 0 if header else 1):
                    while cut is not None and position >= cut:
                        yield position, count
                        cut = next(remaining, None)
                    if cut is None:
                        break
            except csv.Error as error:
                raise _broken_row(file.address, rows, error) from error
            finally:
                text.detach()

    def _first_row(self, selection: Selection, file: CuttableFile) -> tuple[str, Row]:
        """The delimiter of a file and its first row."""
        with _text(text_source(file, selection.encoding)) as (source, text):
            table = self.detected(source, selection)
            return table.delimiter, next(table._blocks(text, file.address), [[]])[0]

    def _blocks(self, text: Any, where: str) -> Iterator[list[Row]]:
        """The first row alone, then the others in blocks."""
        rows = self._reader(text)
        try:
            yield from ([row] for row in islice(rows, 1))
            block: list[Row] = []
            size = 0
            for row in rows:
                block.append(row)
                size += sum(map(len, row))
                if len(block) == ROWS or size > CHARACTERS:
                    yield block
                    block, size = [], 0
            if block:
                yield block
        except csv.Error as error:
            raise _broken_row(where, rows, error) from error

    def _reader(self, lines: Any) -> Any:
        csv.field_size_limit(LONGEST_VALUE)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quoting=csv.QUOTE_MINIMAL if self.quotes else csv.QUOTE_NONE,
        )


CSV = Table("csv", ",", quotes=True)
#: A lone quotation mark in a text is common in TSV and quoting is not, so that quotation marks are plain characters.
TSV = Table("tsv", "\t", quotes=False)


def _delimiter(sample: bytes, header: bool) -> str | None:
    """The delimiter that the first rows of a table tell, None for a comma.

    A header without a comma tells it; otherwise every row must have as many columns as the first, and more than one.
    """
    lines = sample.decode("utf-8", "replace").split("\n")
    if header and "," not in lines[0]:
        counts = {one: lines[0].count(one) for one in OTHER_DELIMITERS}
        best = max(counts, key=lambda one: counts[one])
        return best if counts[best] else None
    for delimiter in (",", *OTHER_DELIMITERS):
        widths = _widths(lines[:-1] or lines, delimiter)
        if len(widths) == 1 and widths != {1}:
            return None if delimiter == "," else delimiter
    return None


def _widths(lines: list[str], delimiter: str) -> set[int]:
    """How many columns the rows have; the last, which may be cut, aside."""
    csv.field_size_limit(LONGEST_VALUE)
    try:
        rows = list(csv.reader((f"{line}\n" for line in lines), delimiter=delimiter))
    except csv.Error:  # is told with its line when the file is read
        return set()
    return {len(row) for row in (rows[:-1] if len(rows) > 1 else rows) if row}


@contextmanager
def _text(source: Source, first: bool = True) -> Iterator[tuple[Source, Any]]:
    """A source and its text; `first` says that it may begin with a byte order mark. Bytes that are not UTF-8 become
    surrogates, which `is_clean` finds.
    """
    encoding = "utf-8-sig" if first else "utf-8"
    stream = io.BufferedReader(SourceStream(source), PIECE)
    text = io.TextIOWrapper(stream, encoding, "surrogateescape", newline="")
    try:
        yield source, text
    finally:
        text.detach()
        source.close()


def _broken_row(where: str, rows: Any, error: csv.Error) -> FileError:
    return FileError(f"{where}, line {rows.line_num}: {error}; mend the file")


def _column_names(head: Row, file: WholeFile) -> list[str]:
    """The names of the columns; one without a name is called by its number."""
    names = [name or f"column{at}" for at, name in enumerate(head, 1)]
    bad = next((name for name in names if not is_clean(name)), None)
    if bad is not None:
        raise FileError(
            f"{file.address}: its first row is not UTF-8: save it as UTF-8, or pass --encoding, such as cp1252"
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ParameterError(f"{file.address} has two columns {repeated!r}: rename one")
    return names


def _texts(
    rows: list[Row], column: int, width: int | None = None
) -> tuple[list[str | None], list[tuple[int, str]]]:
    """The texts of rows and the faults of bad ones; with a `width`, a longer row is bad."""
    texts: list[str | None] = []
    bad = []
    for at, row in enumerate(rows):
        fault = _fault(row, column, width)
        if fault:
            bad.append((at, fault))
        texts.append(None if fault else row[column])
    return texts, bad


def _fault(row: Row, column: int, width: int | None) -> str:
    if not row:
        return "it is blank"
    if column >= len(row):
        return f"it has {len(row)} columns and the text is in column {column + 1}"
    if not is_clean(row[column]):
        return not_utf8(row[column])
    if width is not None and len(row) > width:
        return f"it has {len(row)} columns and the table has {width}"
    return ""


def _record(row: Row, names: list[str] | None) -> dict[str, Any]:
    """A row by the names of its columns, or by their numbers from 1 on."""
    known = names or [str(at) for at in range(1, len(row) + 1)]
    return {name: _value(row, at) for at, name in enumerate(known)}


def _value(row: Row, column: int) -> str | None:
    """A value to keep, with question marks for bytes that are not UTF-8; None where the row is too short."""
    if column >= len(row):
        return None
    value = row[column]
    return value if is_clean(value) else value.encode("utf-8", "replace").decode()
