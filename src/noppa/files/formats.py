"""Read rows from each input format: text lines, JSON lines, JSON arrays, CSV, TSV, Parquet and Arrow.

A reader is a function from a file and its `Input` to batches of rows. To add a format, add a reader to `FORMATS`.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from noppa.errors import FileError, NoppaError, ParameterError
from noppa.extras import needs
from noppa.files.inputs import STDIN, InputFile, Text
from noppa.io.compression import MAGIC
from noppa.parameters import one_of

SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
#: The column with the text, unless the user names another.
TEXT = "text"
#: Rows and characters of a batch; one long row may exceed the latter.
ROWS = 4096
CHARACTERS = 8 << 20
#: Rows and bytes of Parquet that are decoded at a time: the size of compressed pages is unknown before they are read.
ARROW_ROWS = 256
ARROW_BYTES = 32 << 20
#: The longest cell of a table, and the longest JSON array, in characters.
LONGEST_CELL = 1 << 30
LONGEST_ARRAY = 1 << 30
#: Column names in an error, and characters of each.
LISTED = 20
#: What may precede the first character of a JSON text, in any encoding.
MARKS_AND_SPACE = b"\xef\xbb\xbf\xff\xfe \t\r\n\0"
NOT_UTF8 = "it is not UTF-8 (pass encoding='cp1252', or what it is)"

Record = dict[str, Any]
Row = list[str]


@dataclass(frozen=True)
class Input:
    """Files to read, and how.

    Attributes:
        paths: Files; `-` is standard input, and `s3://bucket/key` is read with fsspec.
        format: One of `FORMATS`; None decides by the name of each file.
        column: The column with the text: a name, or a number from 1.
        header: Whether the first row of a table names its columns.
        records: Whether batches contain the complete rows, in addition to their texts.
        encoding: Of text files; None is UTF-8, unless a byte order mark says otherwise.
        delimiter: Of tables; None detects it.
    """

    paths: Sequence[str]
    format: str | None = None
    column: str | None = None
    header: bool = True
    records: bool = False
    encoding: str | None = None
    delimiter: str | None = None

    def __post_init__(self) -> None:
        one_of(self.format, "format", (None, *FORMATS))
        try:
            encoding = "utf-8" if self.encoding is None else self.encoding
            "".encode(encoding)
            codecs.getincrementaldecoder(encoding)
        except (LookupError, ValueError):
            raise ParameterError(
                f"there is no encoding {self.encoding!r}",
                "use one such as cp1252, latin-1, utf-16 or shift_jis",
            ) from None
        if self.delimiter is None:
            return
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ParameterError(f"delimiter must be one character, not {self.delimiter!r}")
        other = {self.format_of(path) for path in self.paths} - {"csv", "tsv"}
        if other:
            raise ParameterError(
                f"{min(other)} has no delimiter", "leave out delimiter=, or pass format='csv'"
            )

    def format_of(self, path: str) -> str:
        """Return the format of a file."""
        return self.format or format_of(path)


@cache
def format_of(path: str) -> str:
    """Return the format that a file name stands for, compressed or not: lines if it has no known suffix."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix[1:] not in MAGIC.values()]
    return SUFFIXES.get(suffixes[-1] if suffixes else "", "lines")


@dataclass
class Batch:
    """Consecutive rows of a file."""

    texts: list[str | None]
    """The text of each row, None for a bad row."""
    bad: list[tuple[int, str]] = field(default_factory=list)
    """The index in `texts` of each bad row, in order, and what is wrong with it."""
    position: int = 0
    """Bytes of input read so far, for a progress bar."""
    records: list[Record] | None = None
    """The complete rows by column name, if the `Input` asks for them."""
    column: str = TEXT
    """The name of the column with the text."""
    has_cells: bool = False
    """Whether the values of `records` are cells of a text table, so that numbers are strings."""
    fingerprint: str = ""
    """The checksum of all rows up to the end of this batch, if a checkpoint needs it."""

    def other_fields(self) -> list[Record]:
        """Return each record without its text; cells that look like numbers become numbers."""
        return [
            {
                name: cell_value(value) if self.has_cells else value
                for name, value in record.items()
                if name != self.column
            }
            for record in self.records or []
        ]

    def rows(self, on_error: str) -> list[int]:
        """Return the indices of all rows, with "skip" only of good ones; with "raise", raise if there is a bad one."""
        if self.bad and on_error == "raise":
            raise FileError(self.bad[0][1], "fix it, or pass on_error='skip' or on_error='empty'")
        bad = {row for row, _ in self.bad} if on_error == "skip" else set()
        return [row for row in range(len(self.texts)) if row not in bad]

    def slice(self, start: int, stop: int | None = None) -> Batch:
        """Return some rows of the batch."""
        stop = len(self.texts) if stop is None else stop
        bad = [(row - start, fault) for row, fault in self.bad if start <= row < stop]
        records = None if self.records is None else self.records[start:stop]
        return replace(self, texts=self.texts[start:stop], bad=bad, records=records)


def is_clean(text: str) -> bool:
    """Return whether a text has no lone surrogate, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+([eE][+-]?[0-9]{1,3})?")


def cell_value(cell: str | None) -> str | int | float | None:
    """Return a cell of a text table as a number if it looks like one (`007` does not), and None if it is empty."""
    if not cell:
        return None
    if _INTEGER.fullmatch(cell):
        return int(cell)
    return float(cell) if _DECIMAL.fullmatch(cell) else cell


def text_column(names: list[str] | None, column: str | None, file: str) -> int:
    """Return the index of the column with the text: by its name, by its number from 1, or the only column.

    `names` are the columns, None for a table without a header.
    """
    if names is not None and (column or TEXT) in names:
        return names.index(column or TEXT)
    number = int(column) if column is not None and re.fullmatch("[0-9]{1,9}", column) else 0
    if number >= 1 and (names is None or number <= len(names)):
        return number - 1
    if column is None and (names is None or len(names) <= 1):
        return 0
    listed = ", ".join(name[:LISTED] for name in (names or [])[:LISTED])
    raise ParameterError(
        f"{file} has no column {column or TEXT!r}",
        f"pass column=, one of {listed}" if listed else "pass column= with the number of a column",
    )


# Lines


def read_lines(file: InputFile, source: Input) -> Iterator[Batch]:
    """Read plain text, one row per line."""
    column = source.column or TEXT
    with Text(file, source.encoding) as text:
        for lines in text.line_blocks():
            texts, bad = _split_off_bad(lines)
            records = [{column: line} for line in texts] if source.records else None
            yield Batch(texts, bad, text.source.position(), records, column)


def _split_off_bad(lines: list[str]) -> tuple[list[str | None], list[tuple[int, str]]]:
    """Return the lines with None for those that are not UTF-8, and what is wrong with those."""
    texts: list[str | None] = [*lines]
    if is_clean("".join(lines)):
        return texts, []
    bad = [(row, NOT_UTF8) for row, line in enumerate(lines) if not is_clean(line)]
    for row, _ in bad:
        texts[row] = None
    return texts, bad


# JSON


def read_json(file: InputFile, source: Input) -> Iterator[Batch]:
    """Read JSON lines, or one JSON array: objects with the column, or strings."""
    column = source.column or TEXT
    with Text(file, source.encoding) as text:
        for rows in json_rows(text, source.format_of(file.path) == "json"):
            parsed = [_parse(row, column) for row in rows]
            bad = [(number, fault) for number, (_, _, fault) in enumerate(parsed) if fault]
            records = None
            if source.records:
                values = (value for value, _, _ in parsed)
                records = [row if isinstance(row, dict) else {column: row} for row in values]
            yield Batch([row[1] for row in parsed], bad, text.source.position(), records, column)


def json_rows(text: Text, is_array: bool) -> Iterator[list[str]]:
    """Yield the JSON texts of a file: its lines, or the elements of its array if it begins with one."""
    if not is_array or text.source.peek(1 << 10).lstrip(MARKS_AND_SPACE)[:1] != b"[":
        yield from text.line_blocks()
        return
    elements = _array_elements(text)
    while rows := list(islice(elements, ROWS)):
        yield rows


def _array_elements(text: Text) -> Iterator[str]:
    """Yield each element of a JSON array as it is written. The array is kept in memory."""
    blocks: list[str] = []
    for block in text.blocks():
        blocks.append(block)
        if sum(map(len, blocks)) > LONGEST_ARRAY:
            raise FileError(f"{text.name} is too large for one JSON array", "save it as JSON lines")
    array, count = "".join(blocks), 0
    space, decode = re.compile(r"[ \t\r\n]*"), json.JSONDecoder().raw_decode

    def skip(position: int) -> int:
        match = space.match(array, position)
        return match.end() if match else position

    try:
        end = skip(skip(0) + 1)
        while array[end : end + 1] != "]" or count:
            start = end
            _, end = decode(array, start)
            yield array[start:end]
            count, end = count + 1, skip(end)
            if array[end : end + 1] == "]":
                break
            if array[end : end + 1] != ",":
                raise ValueError("a comma or ] is missing")
            end = skip(end + 1)
        if skip(end + 1) != len(array):
            raise ValueError("text follows its end")
    except (ValueError, RecursionError) as error:
        raise FileError(f"{text.name} is not a JSON array after row {count} ({error})") from error


def _parse(row: str, column: str) -> tuple[Any, str | None, str]:
    """Return the value of a JSON text, its text, and what is wrong with a row that has none."""
    try:
        value = json.loads(row)
    except (ValueError, RecursionError) as error:
        if not is_clean(row):
            return None, None, NOT_UTF8
        return None, None, f"it is not JSON ({error})" if row.strip() else "it is blank"
    if isinstance(value, dict) and column not in value:
        return value, None, f"it has no {column!r}"
    text = value[column] if isinstance(value, dict) else value
    if not isinstance(text, str):
        subject = f"its {column!r}" if isinstance(value, dict) else "it"
        return value, None, f"{subject} is {json.dumps(text)[:40]}, not a string"
    if not is_clean(text):
        return value, None, NOT_UTF8 if not is_clean(row) else "it contains half a surrogate pair"
    return value, text, ""


# Tables


def read_table(file: InputFile, source: Input) -> Iterator[Batch]:
    """Read CSV or TSV."""
    with Text(file, source.encoding) as text:
        _, blocks = table_rows(text, source, file)
        names = next(blocks, [[]])[0] if source.header else None
        column = text_column(names, source.column, text.name)
        if source.records and names is not None:
            names = _column_names(names, file)
        width = len(names) if source.records and names is not None else None
        for rows in blocks:
            cells = [row[column] for row in rows if column < len(row)]
            widest = max(map(len, rows)) if width is not None else 0
            batch = Batch([*cells], [], text.source.position())
            if len(cells) < len(rows) or widest > (width or 0) or not is_clean("".join(cells)):
                faults = [_fault(row, column, width) for row in rows]
                batch.bad = [(number, fault) for number, fault in enumerate(faults) if fault]
                batch.texts = [
                    None if fault else row[column] for row, fault in zip(rows, faults, strict=True)
                ]
            if source.records:
                batch.has_cells = True
                batch.column = str(column + 1) if names is None else names[column]
                batch.records = [_record(row, names) for row in rows]
            yield batch


def table_rows(text: Text, source: Input, file: InputFile) -> tuple[str, Iterator[list[Row]]]:
    """Return the delimiter of a table, and its rows in blocks: the first row alone, then the others.

    In TSV, quotation marks are ordinary characters: a lone one is common there, and quoting is not.
    """
    has_quotes = source.format_of(file.path) == "csv"
    delimiter = source.delimiter or ("," if has_quotes else "\t")
    if source.delimiter is None and has_quotes:
        delimiter = _detect_delimiter(text, source.header)
    csv.field_size_limit(LONGEST_CELL)
    quoting: Any = csv.QUOTE_MINIMAL if has_quotes else csv.QUOTE_NONE
    return delimiter, _row_blocks(
        csv.reader(text.stream(), delimiter=delimiter, quoting=quoting), text
    )


def _row_blocks(rows: Any, text: Text) -> Iterator[list[Row]]:
    try:
        for row in islice(rows, 1):
            yield [row]
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
        raise FileError(f"{text.name}, line {rows.line_num}: {error}") from error


def _detect_delimiter(text: Text, header: bool) -> str:
    """Return the delimiter that a header has most of; without one, the first that gives rows of equal length."""
    delimiters = ",;\t"
    sample = text.source.peek(1 << 14).decode(text.encoding.removesuffix("-sig"), "replace")
    lines = sample.split("\n")
    if header:
        return max(delimiters, key=lines[0].count)
    for delimiter in delimiters:
        try:
            rows = list(
                csv.reader((f"{line}\n" for line in lines[:-1] or lines), delimiter=delimiter)
            )
        except csv.Error:
            continue
        # The last row may be cut off.
        widths = {len(row) for row in (rows[:-1] if len(rows) > 1 else rows) if row}
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return ","


def _column_names(head: Row, file: InputFile) -> list[str]:
    """Return the names of the columns; one without a name is called by its number."""
    names = [name or f"column{number}" for number, name in enumerate(head, 1)]
    if not is_clean("".join(names)):
        raise FileError(
            f"{file.name}: its first row is not UTF-8", "pass encoding=, such as 'cp1252'"
        )
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ParameterError(f"{file.name} has two columns {repeated!r}", "rename one")
    return names


def _fault(row: Row, column: int, width: int | None) -> str:
    """Return what is wrong with a row, "" if nothing is; with a `width`, a longer row is bad."""
    if not row:
        return "it is blank"
    if column >= len(row):
        return f"it has {len(row)} columns and the text is in column {column + 1}"
    if not is_clean(row[column]):
        return NOT_UTF8
    if width is not None and len(row) > width:
        return f"it has {len(row)} columns and the table has {width}"
    return ""


def _record(row: Row, names: list[str] | None) -> Record:
    """Return a row by column name, or by column number; None for cells that a short row lacks."""
    cells = [cell if is_clean(cell) else cell.encode("utf-8", "replace").decode() for cell in row]
    if names is None:
        return {str(number): cell for number, cell in enumerate(cells, 1)}
    return dict(zip_longest(names, cells[: len(names)]))


# Parquet and Arrow


def read_arrow(file: InputFile, source: Input) -> Iterator[Batch]:
    """Read Parquet or Arrow."""
    with open_arrow(file, source) as (schema, batches):
        column = schema.names[text_column(schema.names, source.column, file.name)]
        kind = schema.field(column).type
        if "string" not in str(getattr(kind, "value_type", kind)):
            raise ParameterError(f"column {column!r} of {file.name} holds {kind}, not strings")
        for position, arrow in batches(schema.names if source.records else [column]):
            values = {name: _to_list(arrow.column(name)) for name in arrow.schema.names}
            texts, bad = _split_off_bad([text or "" for text in values[column]])
            bad += [
                (row, f"its {column!r} is null")
                for row, text in enumerate(values[column])
                if text is None
            ]
            for row, _ in bad:
                texts[row] = None
            records = None
            if source.records:
                records = [
                    dict(zip(values, row, strict=True))
                    for row in zip(*values.values(), strict=True)
                ]
            yield from _bounded(Batch(texts, sorted(bad), position, records, column))


@contextmanager
def open_arrow(
    file: InputFile, source: Input
) -> Iterator[tuple[Any, Callable[[list[str]], Iterable[Any]]]]:
    """Open a Parquet or Arrow file: give its schema, and a function from columns to (position, record batch) pairs."""
    if file.path == STDIN and file.copy is None:
        raise ParameterError(
            "Parquet and Arrow cannot be read from standard input", "name the file"
        )
    with needs("parquet", "Parquet"):
        import pyarrow
        import pyarrow.parquet as parquet

    with ExitStack() as stack:
        opened = str(file.copy or file.path)
        if "://" in opened:
            opened = stack.enter_context(file.open_remote())
        try:
            if source.format_of(file.path) == "parquet":
                schema = parquet.read_schema(opened)
                strings = [entry.name for entry in schema if "string" in str(entry.type)]
                table = stack.enter_context(parquet.ParquetFile(opened))
                peek = stack.enter_context(parquet.ParquetFile(opened, read_dictionary=strings))
                yield schema, lambda columns: _parquet_batches(table, peek, columns)
            else:
                reader = pyarrow.ipc.open_file(opened)
                yield (
                    reader.schema,
                    lambda columns: (
                        (0, part.select(columns))
                        for number in range(reader.num_record_batches)
                        for batch in [reader.get_batch(number)]
                        for part in (batch[row : row + ROWS] for row in range(0, len(batch), ROWS))
                    ),
                )
        except NoppaError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
            reason = str(error).partition("\n")[0] or type(error).__name__
            raise FileError(
                f"{file.name} cannot be read as {source.format_of(file.path)}: {reason}"
            ) from error


def _parquet_batches(table: Any, peek: Any, columns: list[str]) -> Iterator[tuple[int, Any]]:
    """Yield record batches of about `ARROW_BYTES` at most: one long string of a dictionary may stand for every row."""
    position = 0
    for number in range(table.metadata.num_row_groups):
        group = table.metadata.row_group(number)
        row_size = max(1, group.total_byte_size // max(1, group.num_rows))
        first = next(peek.iter_batches(1, row_groups=[number], columns=columns), None)
        for column in first.columns if first is not None else ():
            if hasattr(column, "dictionary"):
                row_size += max((len(str(text)) for text in _to_list(column.dictionary)), default=0)
        rows = max(1, min(ARROW_ROWS, ARROW_BYTES // row_size))
        for batch in table.iter_batches(rows, row_groups=[number], columns=columns):
            yield position, batch.select(columns)
            position += row_size * len(batch)


def _to_list(column: Any) -> list[Any]:
    """Return the values of an Arrow array; equal strings of a dictionary are one object."""
    if hasattr(column, "dictionary"):
        values = _to_list(column.dictionary)
        return [None if index is None else values[index] for index in column.indices.to_pylist()]
    try:
        return list(column.to_pylist())
    except UnicodeDecodeError:
        raw = [value.as_buffer() for value in column]
        return [
            None if text is None else bytes(text).decode("utf-8", "surrogateescape") for text in raw
        ]


def _bounded(batch: Batch) -> Iterator[Batch]:
    """Yield a batch in pieces of about `CHARACTERS` at most."""
    start = size = 0
    for row, text in enumerate(batch.texts):
        size += len(text or "")
        if size > CHARACTERS:
            yield batch.slice(start, row + 1)
            start, size = row + 1, 0
    if start < len(batch.texts):
        yield batch.slice(start)


#: The reader of each format. Add your own under a new name.
FORMATS: dict[str, Callable[[InputFile, Input], Iterator[Batch]]] = {
    "lines": read_lines,
    "jsonl": read_json,
    "json": read_json,
    "csv": read_table,
    "tsv": read_table,
    "parquet": read_arrow,
    "arrow": read_arrow,
}
