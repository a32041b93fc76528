"""Records that are rows of a table in text: CSV and TSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.records.batch import STDIN, TEXT, Batch, Input, is_clean, open_input, place, shown

BATCH = 4096
#: Characters of a batch, which one long row may pass alone.
CHARACTERS = 8 << 20
NAMED = 20
LAST_COLUMN = 10**9


def read_csv(path: str, wanted: Input) -> Iterator[Batch]:
    return _table(path, wanted, ",", csv.QUOTE_MINIMAL)


def read_tsv(path: str, wanted: Input) -> Iterator[Batch]:
    # Tabs cannot stand in a value, so nothing is quoted; texts with a lone quotation mark would break otherwise.
    return _table(path, wanted, "\t", csv.QUOTE_NONE)


def _table(path: str, wanted: Input, delimiter: str, quoting: int) -> Iterator[Batch]:
    source = open_input(path)
    text = io.TextIOWrapper(source.stream, "utf-8-sig", "surrogateescape", newline="")
    try:
        blocks = rows_of(text, delimiter, quoting, shown(path))
        names = next(blocks, [[]])[0] if wanted.header else None
        column = column_of(names, wanted.column, path)
        number = 1
        for some in blocks:
            texts: list[str | None] = []
            bad = []
            for at, row in enumerate(some):
                value, fault = cell_of(row, column)
                if fault:
                    bad.append((at, f"{shown(path)}, record {number + at}: {fault}"))
                texts.append(value)
            number += len(some)
            yield Batch(texts, bad, place(source, path))
    finally:
        text.detach()
        if path != STDIN:
            source.close()


def rows_of(text: Any, delimiter: str, quoting: int, where: str) -> Iterator[list[list[str]]]:
    """The rows of a table, the first one alone, then in blocks."""
    csv.field_size_limit(1 << 30)
    rows = csv.reader(text, delimiter=delimiter, quoting=quoting)  # type: ignore[arg-type]
    try:
        yield from ([row] for row in islice(rows, 1))
        some: list[list[str]] = []
        size = 0
        for row in rows:
            some.append(row)
            size += sum(map(len, row))
            if len(some) == BATCH or size > CHARACTERS:
                yield some
                some, size = [], 0
        if some:
            yield some
    except csv.Error as error:
        raise FileError(f"{where}, line {rows.line_num}: {error}; mend the file") from error


def cell_of(row: list[str], column: int) -> tuple[str | None, str]:
    """The text of a row, and what is wrong with it where it has none."""
    if not row:
        return None, "it is blank"
    if column >= len(row):
        return None, f"it has {len(row)} columns and the text is in column {column + 1}"
    return (row[column], "") if is_clean(row[column]) else (None, "it is not UTF-8")


def column_of(names: list[str] | None, column: str | None, path: str) -> int:
    """The place of the column with the text: its name, its number from 1 on, or the only one there is."""
    if names is not None and (column or TEXT) in names:
        return names.index(column or TEXT)
    number = int(column) if column is not None and re.fullmatch("[0-9]{1,9}", column) else 0
    if 1 <= number <= (LAST_COLUMN if names is None else len(names)):
        return number - 1
    if names is None and column is None:
        return 0
    if column is None and names is not None and len(names) <= 1:
        return 0
    listed = ", ".join(name[:NAMED] for name in (names or [])[:NAMED])
    raise ParameterError(
        f"{shown(path)} has no column {column or TEXT!r}: choose one with --column"
        + (f", from {listed}" if listed else " and its number")
    )
