"""Copy some rows of files with all their columns, in the format that they came in."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.files.formats import Input, Row, format_of, is_clean, json_rows, open_arrow, table_rows
from noppa.files.inputs import STDIN, InputFile, Text
from noppa.io.compression import MAGIC


class RowMask:
    """Hands out, block by block, which rows to copy."""

    def __init__(self, mask: NDArray[np.bool_]) -> None:
        self._mask, self._position = mask, 0

    def next(self, count: int) -> list[bool]:
        """Return the mask of the next rows."""
        self._position += count
        mask: list[bool] = self._mask[self._position - count : self._position].tolist()
        return mask

    def select(self, rows: Sequence[Any]) -> list[Any]:
        """Return those of the next rows that are copied."""
        return [row for row, is_kept in zip(rows, self.next(len(rows)), strict=True) if is_kept]


def copy_rows(
    source: Input, mask: NDArray[np.bool_], output: IO[bytes], stdin: InputFile | None = None
) -> None:
    """Write the rows of all files that a mask (rows,) selects, in order.

    Args:
        source: The input; all its files have the same format.
        mask: Which rows to copy.
        output: The file to write to.
        stdin: Is read in place of standard input.
    """
    files = [stdin if stdin and path == STDIN else InputFile(path) for path in source.paths]
    _COPIERS[source.format_of(source.paths[0])](files, source, RowMask(mask), output)


def check_copy(source: Input, target: str) -> None:
    """Raise if the rows of an input cannot be copied to a target, whose format is that of the input."""
    formats = {source.format_of(path) for path in source.paths}
    if len(formats) > 1:
        raise ParameterError(
            f"the inputs are {' and '.join(sorted(formats))}", "use one format at a time"
        )
    format = formats.pop()
    if format not in _COPIERS:
        raise ParameterError(f"rows of {format} cannot be copied")
    if target == STDIN and format in ("parquet", "arrow"):
        raise ParameterError(f"{format} cannot be written to standard output", "name a file")
    if target != STDIN and source.format is None and format_of(target) not in (format, "lines"):
        raise ParameterError(
            f"{target} is {format_of(target)} by its name, and the input is {format}",
            "use the same format",
        )
    if Path(target).suffix[1:] in MAGIC.values():
        raise ParameterError(
            f"{target}: the output is not compressed", "use a name without that suffix"
        )


def _copy_lines(files: list[InputFile], source: Input, mask: RowMask, output: IO[bytes]) -> None:
    """Copy lines of text or JSON; a line that is not UTF-8 becomes an empty one."""
    for file in files:
        with Text(file, source.encoding) as text:
            for lines in text.line_blocks():
                kept = [line if is_clean(line) else "" for line in mask.select(lines)]
                output.write("".join(f"{line}\n" for line in kept).encode())


def _copy_json(files: list[InputFile], source: Input, mask: RowMask, output: IO[bytes]) -> None:
    """Copy elements of JSON arrays into one array."""
    count = 0
    for file in files:
        with Text(file, source.encoding) as text:
            for rows in json_rows(text, is_array=True):
                for row in mask.select(rows):
                    element = row if is_clean(row) and row.strip() else "null"
                    output.write(f"{',' if count else '['}\n{element}".encode())
                    count += 1
    output.write(b"\n]\n" if count else b"[]\n")


def _copy_table(files: list[InputFile], source: Input, mask: RowMask, output: IO[bytes]) -> None:
    """Copy rows of CSV or TSV below one header; bytes that are not UTF-8 stay as they are."""
    head: Row | None = None
    first_delimiter = ""
    for file in files:
        with Text(file, source.encoding) as text:
            delimiter, blocks = table_rows(text, source, file)
            first = next(blocks, None)
            if first is None:
                continue
            first_delimiter = first_delimiter or delimiter
            write = _row_writer(output, first_delimiter, source.format_of(file.path) == "csv")
            if source.header and head is None:
                head = first[0]
                write([head])
            elif source.header and first[0] != head:
                raise ParameterError(f"{file.name} has other columns than the files before it")
            for rows in blocks if source.header else chain([first], blocks):
                write(mask.select(rows))


def _row_writer(output: IO[bytes], delimiter: str, has_quotes: bool) -> Callable[[list[Row]], None]:
    def write(rows: list[Row]) -> None:
        text = io.StringIO(newline="")
        if has_quotes:
            csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
        else:
            text.writelines(f"{delimiter.join(row)}\n" for row in rows)
        output.write(text.getvalue().encode("utf-8", "surrogateescape"))

    return write


def _copy_arrow(files: list[InputFile], source: Input, mask: RowMask, output: IO[bytes]) -> None:
    """Copy rows of Parquet or Arrow files that have the same columns."""
    schema: Any = None
    writer: Any = None
    for file in files:
        with open_arrow(file, source) as (other, batches):
            import pyarrow
            import pyarrow.parquet

            if writer is None:
                schema = other
                is_parquet = source.format_of(file.path) == "parquet"
                writer = pyarrow.parquet.ParquetWriter if is_parquet else pyarrow.ipc.new_file
                writer = writer(output, schema)
            elif not other.equals(schema):
                raise ParameterError(f"{file.name} has other columns than the files before it")
            for _, batch in batches(schema.names):
                kept = batch.filter(pyarrow.array(mask.next(len(batch)), pyarrow.bool_()))
                writer.write_batch(kept.cast(schema))
    writer.close()


_COPIERS: dict[str, Callable[[list[InputFile], Input, RowMask, IO[bytes]], None]] = {
    "lines": _copy_lines,
    "jsonl": _copy_lines,
    "json": _copy_json,
    "csv": _copy_table,
    "tsv": _copy_table,
    "parquet": _copy_arrow,
    "arrow": _copy_arrow,
}
