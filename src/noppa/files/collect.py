"""Read whole inputs: labelled rows into memory, texts into a scratch file; and copy some of their rows."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, ParameterError
from noppa.files.checkpoint import FileStatus, Outcome, file_statuses, refuse_changed
from noppa.files.formats import (
    LISTED,
    Input,
    Record,
    Row,
    format_of,
    is_clean,
    json_rows,
    open_arrow,
    table_rows,
)
from noppa.files.inputs import STDIN, InputFile, Text, copy_stdin
from noppa.files.read import ON_ERROR, read, read_ahead
from noppa.io.compression import MAGIC
from noppa.parameters import one_of

#: Which of the next rows to copy.
Mask = Iterator[Any]
#: Called with the rows done and the bytes of input read.
Progress = Callable[[int, int], None]


class StoredTexts(Sequence[str]):
    """Texts in a file, one after the other, each decoded when it is needed: more of them than fit into memory."""

    def __init__(self, path: Path, lengths: NDArray[np.int64]) -> None:
        self._ends = np.append(0, np.cumsum(lengths))
        self._content = np.memmap(path, np.uint8, "r") if self._ends[-1] else np.empty(0, np.uint8)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        row = range(len(self))[index]
        content = self._content[self._ends[row] : self._ends[row + 1]]
        return content.tobytes().decode("utf-8", "surrogatepass")


@dataclass(frozen=True, eq=False)
class Collected:
    """The texts of an input.

    Attributes:
        texts: The texts, in a file.
        records: The number of each text's row (texts,), from 0.
        outcome: Counts of good and bad rows.
        statuses: The status of each file before it was read.
        stdin: The copy of standard input, if it is read again.
    """

    texts: StoredTexts
    records: NDArray[np.int64]
    outcome: Outcome
    statuses: dict[str, FileStatus] = field(default_factory=dict)
    stdin: InputFile | None = None


def collected(
    source: Input,
    folder: Path,
    name: str,
    on_error: str = "raise",
    spool: bool = False,
    progress: Progress = lambda rows, position: None,
) -> Collected:
    """Store every text of an input in a file.

    Args:
        folder: A scratch folder.
        name: A name for the files in it.
        on_error: "raise", "skip" to leave bad rows out, "empty" to take them for empty texts.
        spool: Copy standard input, so that it can be read again.
    """
    one_of(on_error, "on_error", ON_ERROR)
    outcome, numbers, lengths = Outcome(), [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    statuses = file_statuses(source.paths)
    stdin = copy_stdin(folder / f"{name}-input") if spool and STDIN in source.paths else None
    path = folder / f"{name}-texts"
    with path.open("wb") as file:
        for batch in read_ahead(read(source, stdin)):
            first = outcome.records
            outcome.count(batch)
            rows = batch.rows(on_error)
            texts = [(batch.texts[row] or "").encode("utf-8", "surrogatepass") for row in rows]
            file.write(b"".join(texts))
            lengths.append(np.array([*map(len, texts)], np.int64))
            numbers.append(first + np.array(rows, np.int64))
            progress(outcome.records, batch.position)
    stored = StoredTexts(path, np.concatenate(lengths))
    outcome.rows = len(stored)
    return Collected(stored, np.concatenate(numbers), outcome, statuses, stdin)


@dataclass
class Labelled:
    """Labelled texts.

    Attributes:
        sides: The texts, or both sides of pairs.
        labels: The label of each row, or its list of labels.
        numbers: The number of each row, from 1.
        skipped: What is wrong with the rows that were left out.
    """

    sides: tuple[list[str], ...]
    labels: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def texts(self) -> Any:
        """The texts as `Classifier.fit` takes them."""
        return self.sides[0] if len(self.sides) == 1 else self.sides


def read_labelled(
    source: Input,
    columns: Sequence[str | None],
    label: str,
    separator: str | None = None,
    skip: bool = False,
    progress: Progress | None = None,
) -> Labelled:
    """Read texts and their labels.

    Args:
        columns: The column with the text, or the two columns of pairs.
        label: The column with the label.
        separator: Splits a label into several; a list of labels needs none.
        skip: Leave out a row without a text or a label, instead of raising.
    """
    if len(columns) > 2:
        raise ParameterError(f"a row has one text or two, not {len(columns)}")
    before = file_statuses(source.paths)
    labelled = Labelled(tuple([] for _ in columns))
    number = 0
    for batch in read(replace(source, column=columns[0], records=True)):
        faults = dict(batch.bad)
        for row, record in enumerate(batch.records or []):
            number += 1
            fault = faults.get(row) or _fault(record, [label, *columns[1:]], number)
            if fault and not skip:
                raise FileError(fault, "fix it, or pass on_error='skip'")
            if fault:
                labelled.skipped.append(fault)
                continue
            others = [record.get(column or "") for column in columns[1:]]
            for side, value in zip(labelled.sides, (batch.texts[row], *others), strict=True):
                side.append(str(value))
            value = record[label]
            if separator is not None and isinstance(value, str):
                value = [part.strip() for part in value.split(separator) if part.strip()]
            labelled.labels.append(value)
            labelled.numbers.append(number)
        if progress is not None:
            progress(number, batch.position)
    refuse_changed(before)
    if not labelled.labels:
        raise FileError(f"{', '.join(source.paths)} contains no labelled row")
    return labelled


def _fault(record: Record, columns: Sequence[str | None], number: int) -> str:
    """Return what is wrong with a row; raise if the first row lacks a column."""
    for name in columns:
        if name is not None and name not in record:
            if number == 1:
                names = ", ".join(str(name)[:LISTED] for name in list(record)[:LISTED])
                raise ParameterError(f"there is no column {name!r}", f"the input has {names}")
            return f"row {number} has no {name!r}"
        if name is not None and record[name] in (None, ""):
            return f"row {number} has an empty {name!r}"
    return ""


# Copies


def copy_rows(
    source: Input, mask: NDArray[np.bool_], output: IO[bytes], stdin: InputFile | None = None
) -> None:
    """Write the rows of all files that a mask (rows,) selects, in order; the files have the same format.

    `stdin` is read in place of standard input.
    """
    files = [stdin if stdin and path == STDIN else InputFile(path) for path in source.paths]
    _COPIERS[source.format_of(source.paths[0])](files, source, iter(mask), output)


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


def _copy_lines(files: list[InputFile], source: Input, mask: Mask, output: IO[bytes]) -> None:
    """Copy lines of text or JSON; a line that is not UTF-8 becomes an empty one."""
    for file in files:
        with Text(file, source.encoding) as text:
            for lines in text.line_blocks():
                kept = [line if is_clean(line) else "" for line in compress(lines, mask)]
                output.write("".join(f"{line}\n" for line in kept).encode())


def _copy_json(files: list[InputFile], source: Input, mask: Mask, output: IO[bytes]) -> None:
    """Copy elements of JSON arrays into one array."""
    count = 0
    for file in files:
        with Text(file, source.encoding) as text:
            for rows in json_rows(text, is_array=True):
                for row in compress(rows, mask):
                    element = row if is_clean(row) and row.strip() else "null"
                    output.write(f"{',' if count else '['}\n{element}".encode())
                    count += 1
    output.write(b"\n]\n" if count else b"[]\n")


def _copy_table(files: list[InputFile], source: Input, mask: Mask, output: IO[bytes]) -> None:
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
            if source.header and head is not None and first[0] != head:
                raise ParameterError(f"{file.name} has other columns than the files before it")
            kept: Iterable[Iterable[Row]] = (compress(rows, mask) for rows in blocks)
            if not source.header:
                kept = chain([compress(first, mask)], kept)
            elif head is None:
                head = first[0]
                kept = chain([first], kept)
            for rows in kept:
                lines = io.StringIO(newline="")
                if source.format_of(file.path) == "csv":
                    csv.writer(lines, delimiter=first_delimiter, lineterminator="\n").writerows(
                        rows
                    )
                else:
                    lines.writelines(f"{first_delimiter.join(row)}\n" for row in rows)
                output.write(lines.getvalue().encode("utf-8", "surrogateescape"))


def _copy_arrow(files: list[InputFile], source: Input, mask: Mask, output: IO[bytes]) -> None:
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
                kept = batch.filter(np.fromiter(islice(mask, len(batch)), bool, len(batch)))
                writer.write_batch(kept.cast(schema))
    writer.close()


_COPIERS: dict[str, Callable[[list[InputFile], Input, Mask, IO[bytes]], None]] = {
    "lines": _copy_lines,
    "jsonl": _copy_lines,
    "json": _copy_json,
    "csv": _copy_table,
    "tsv": _copy_table,
    "parquet": _copy_arrow,
    "arrow": _copy_arrow,
}
