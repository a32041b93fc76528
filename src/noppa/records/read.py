"""Readers of text records: lines, JSONL, CSV, TSV and Parquet, from files or from standard input."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.compression import MAGIC, Source, open_plain
from noppa.parameters import one_of

PIECE = 1 << 18
BATCH = 4096
STDIN = "-"
TEXT = "text"


@dataclass(frozen=True)
class Input:
    """Where records come from: paths (`-` for standard input), their format, and the column with the text."""

    paths: Sequence[str]
    form: str | None = None
    column: str | None = None
    header: bool = True

    def __post_init__(self) -> None:
        one_of(self.form, "the input format", (None, *READERS))

    def form_of(self, path: str) -> str:
        if self.form is not None:
            return self.form
        suffixes = [suffix for suffix in Path(path).suffixes if suffix[1:] not in MAGIC.values()]
        return SUFFIXES.get(suffixes[-1] if suffixes else "", "lines")


@dataclass
class Batch:
    """Records one after the other: `texts`, with None for a bad one, and why each bad one is."""

    texts: list[str | None]
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Place in `texts`, and a sentence that names the file, the record and what was found."""
    position: int = 0
    """Bytes of all files read so far."""

    def after(self, count: int) -> Batch:
        """The batch without its first records."""
        bad = [(at - count, why) for at, why in self.bad if at >= count]
        return Batch(self.texts[count:], bad, self.position)


def read(source: Input) -> Iterator[Batch]:
    """Every record of every file, in order."""
    before = 0
    for path in source.paths:
        form = source.form_of(path)
        size = 0
        for batch in READERS[form](path, source):
            size, batch.position = batch.position, batch.position + before
            yield batch
        before += size


def _open(path: str) -> Source:
    if path == STDIN:
        stream = sys.stdin.buffer
        return Source(stream, "none", stream, 0)
    return open_plain(Path(path))


def _place(source: Source, path: str) -> int:
    return 0 if path == STDIN else source.position()


def _shown(path: str) -> str:
    return "standard input" if path == STDIN else path


def _pieces(source: Source, path: str) -> Iterator[bytes]:
    """Whole lines, a piece at a time; the last one may lack its newline."""
    rest = b""
    while True:
        try:
            # A pipe gives what it has, so that a slow writer's lines are not held back.
            block = source.stream.read1(PIECE) if path == STDIN else source.read(PIECE)
        except FileError as error:
            raise FileError(f"{_shown(path)} {error}: fetch it again") from error
        if not block:
            break
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest


def _lines(path: str, wanted: Input) -> Iterator[Batch]:
    """One record a line, split at line feeds alone, so that no other character breaks a record."""
    source = _open(path)
    number = 1
    try:
        for piece in _pieces(source, path):
            if number == 1:
                piece = piece.removeprefix(b"\xef\xbb\xbf")
            bad: list[tuple[int, str]] = []
            try:
                texts: list[str | None] = list(_split(piece.decode()))
            except UnicodeDecodeError:
                texts = list(_split(piece.decode("utf-8", "surrogateescape")))
                for at, text in enumerate(texts):
                    if text is not None and not _is_clean(text):
                        texts[at] = None
                        bad.append((at, f"{_shown(path)}, line {number + at}: it is not UTF-8"))
            number += len(texts)
            yield Batch(texts, bad, _place(source, path))
    finally:
        if path != STDIN:
            source.close()


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _is_clean(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _jsonl(path: str, wanted: Input) -> Iterator[Batch]:
    """One JSON value a line: an object with the column, or, where no column was named, a plain string."""
    column = wanted.column or TEXT
    number = 1
    for batch in _lines(path, wanted):
        texts: list[str | None] = []
        bad = list(batch.bad)
        for at, line in enumerate(batch.texts):
            value: Any = None
            if line is not None:
                try:
                    value = json.loads(line)
                    complaint = "" if isinstance(value, (dict, str)) else f"it is {_kind(value)}"
                    if isinstance(value, dict):
                        complaint = f"it has no {column!r}" if column not in value else ""
                        value = value.get(column)
                        if not complaint and not isinstance(value, str):
                            complaint = f"its {column!r} is {_kind(value)}"
                except ValueError as error:
                    complaint = f"it is no JSON ({error})" if line.strip() else "it is blank"
                if complaint:
                    value = None
                    bad.append((at, f"{_shown(path)}, line {number + at}: {complaint}"))
            texts.append(value)
        number += len(texts)
        yield Batch(texts, sorted(bad), batch.position)


def _kind(value: Any) -> str:
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        str: "a string",
    }
    return names.get(type(value), "an object")


def _table(path: str, wanted: Input, delimiter: str, quoting: int) -> Iterator[Batch]:
    source = _open(path)
    csv.field_size_limit(1 << 30)
    text = io.TextIOWrapper(source.stream, "utf-8-sig", "surrogateescape", newline="")
    try:
        rows = csv.reader(text, delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
        names = next(rows, []) if wanted.header else None
        column = _column(names, wanted.column, path)
        number = 1
        while some := list(islice(rows, BATCH)):
            texts: list[str | None] = []
            bad = []
            for at, row in enumerate(some):
                value: str | None = row[column] if column < len(row) else None
                complaint = "" if row else "it is blank"
                if value is None:
                    complaint = (
                        complaint
                        or f"it has {len(row)} columns and the text is in column {column + 1}"
                    )
                elif not _is_clean(value):
                    value, complaint = None, "it is not UTF-8"
                if complaint:
                    bad.append((at, f"{_shown(path)}, record {number + at}: {complaint}"))
                texts.append(value)
            number += len(some)
            yield Batch(texts, bad, _place(source, path))
    except csv.Error as error:
        raise FileError(f"{_shown(path)}, line {rows.line_num}: {error}; mend the file") from error
    finally:
        text.detach()
        if path != STDIN:
            source.close()


def _column(names: list[str] | None, column: str | None, path: str) -> int:
    """The place of the column with the text: its name, its number from 1 on, or the only one there is."""
    if names is not None and (column or TEXT) in names:
        return names.index(column or TEXT)
    if (
        column is not None
        and column.isdecimal()
        and 1 <= int(column) <= len(names or [column] * int(column))
    ):
        return int(column) - 1
    if names is None and column is None:
        return 0
    if column is None and names is not None and len(names) <= 1:
        return 0
    listed = ", ".join(names or [])
    raise ParameterError(
        f"{_shown(path)} has no column {column or TEXT!r}: choose one with --column"
        + (f", from {listed}" if listed else " and its number")
    )


def _parquet(path: str, wanted: Input) -> Iterator[Batch]:
    if path == STDIN:
        raise ParameterError(
            "a Parquet file is read from its end and cannot come from standard input: name the file"
        )
    parquet = pyarrow_parquet()
    try:
        table = parquet.ParquetFile(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path} cannot be read as Parquet: {error}") from error
    with table:
        names = table.schema_arrow.names
        name = names[_column(names, wanted.column, path)]
        kind = table.schema_arrow.field(name).type
        if str(kind) not in (
            "string",
            "large_string",
            "string_view",
            "dictionary<values=string, indices=int32, ordered=0>",
        ):
            raise ParameterError(
                f"column {name!r} of {path} holds {kind}, not strings: choose another with --column"
            )
        number = 1
        size = Path(path).stat().st_size
        for group in table.iter_batches(BATCH, columns=[name]):
            texts = group.column(0).to_pylist()
            bad = [
                (at, f"{path}, record {number + at}: its {name!r} is null")
                for at, text in enumerate(texts)
                if text is None
            ]
            number += len(texts)
            yield Batch(texts, bad, size * number // max(1, table.metadata.num_rows + 1))


def pyarrow_parquet() -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise FileError(
            "Parquet needs a package that is not there: pip install 'noppa[parquet]'"
        ) from error
    return parquet


def _csv(path: str, wanted: Input) -> Iterator[Batch]:
    return _table(path, wanted, ",", csv.QUOTE_MINIMAL)


def _tsv(path: str, wanted: Input) -> Iterator[Batch]:
    # Tabs cannot stand in a value, so nothing is quoted; texts with a lone quotation mark would break otherwise.
    return _table(path, wanted, "\t", csv.QUOTE_NONE)


READERS: dict[str, Callable[[str, Input], Iterator[Batch]]] = {
    "lines": _lines,
    "jsonl": _jsonl,
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
}
SUFFIXES = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
