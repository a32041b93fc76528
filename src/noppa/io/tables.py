"""Tables with the columns of a NamedTuple: CSV, JSON lines and Parquet files, and Arrow tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, get_type_hints

from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of

#: Rows of a Parquet row group.
GROUP_ROWS = 1 << 14
#: Digits of a number in a text file: the precision of float32.
DIGITS = 6

#: A class made by NamedTuple, whose annotations are the types of the columns.
Record = type[Any]


def check_table_path(path: str | PathLike[str], more: Iterable[str] = ()) -> Path:
    """Return the path if its suffix is one of a table format, or one of `more`."""
    target, suffixes = path_of(path), (*WRITERS, *more)
    if target.suffix.lower() not in suffixes:
        raise ParameterError(f"{target}: end the name in {', '.join(suffixes)}")
    return target


def write_table(path: str | PathLike[str], record: Record, rows: Iterable[Any]) -> None:
    """Write rows in the format of the suffix; the file is complete or not there."""
    target = check_table_path(path)
    with atomic_file(target) as new:
        WRITERS[target.suffix.lower()](new, record, iter(rows))


def arrow_table(record: Record, rows: Iterable[Any]) -> Any:
    """Return rows as an Arrow table."""
    with needs("parquet", "an Arrow table"):
        import pyarrow
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in record._fields]
    return pyarrow.table(columns, schema=_schema(record))


def _schema(record: Record) -> Any:
    import pyarrow as pa

    types = {
        int: pa.int64(),
        bool: pa.bool_(),
        float: pa.float32(),
        str: pa.string(),
        tuple[str, ...]: pa.list_(pa.string()),
    }
    return pa.schema([(name, types[kind]) for name, kind in get_type_hints(record).items()])


def _rounded(value: Any) -> Any:
    return round(value, DIGITS) if isinstance(value, float) else value


def _write_csv(path: Path, record: Record, rows: Iterator[Any]) -> None:
    def cell(value: Any) -> Any:
        return " ".join(value) if isinstance(value, tuple) else _rounded(value)

    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(record._fields)
        writer.writerows(map(cell, row) for row in rows)


def _write_jsonl(path: Path, record: Record, rows: Iterator[Any]) -> None:
    with path.open("w", encoding="utf-8", errors="replace") as file:
        for row in rows:
            fields = dict(zip(record._fields, map(_rounded, row), strict=True))
            file.write(json.dumps(fields, ensure_ascii=False) + "\n")


def _write_parquet(path: Path, record: Record, rows: Iterator[Any]) -> None:
    with needs("parquet", "Parquet"):
        import pyarrow.parquet as parquet
    with parquet.ParquetWriter(path, _schema(record)) as file:
        while group := list(islice(rows, GROUP_ROWS)):
            file.write_table(arrow_table(record, group))


WRITERS: dict[str, Callable[[Path, Record, Iterator[Any]], None]] = {
    ".csv": _write_csv,
    ".jsonl": _write_jsonl,
    ".parquet": _write_parquet,
}
