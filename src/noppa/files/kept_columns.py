"""Columns of the input that are written beside the vectors: some by name, or all."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.batch import is_clean
from noppa.files.columns import LISTED

Record = dict[str, Any]


class KeptColumns:
    """What is kept of each record: the columns of `keep`, all where it is None.

    reserved: names of columns that the output has anyway.
    """

    def __init__(self, keep: Sequence[str] | None, reserved: Sequence[str]) -> None:
        self.keep, self.reserved = keep, reserved
        self.names: list[str] | None = None if keep is None else list(keep)
        self._seen = False

    def rows(self, records: list[Record]) -> list[Record]:
        """The kept columns of some records, which the first of them must have."""
        if not self._seen and records:
            self._settle(records)
        if self.keep is None:
            return records
        return [{name: record.get(name) for name in self.keep} for record in records]

    def _settle(self, records: list[Record]) -> None:
        self._seen = True
        found = list(dict.fromkeys(name for record in records for name in record))
        self.names = found if self.names is None else self.names
        unknown = next((name for name in self.names if name not in found), None)
        if unknown is not None:
            raise ParameterError(
                f"there is no column {unknown!r} to keep: choose from {', '.join(found[:LISTED])}"
            )
        taken = next((name for name in self.names if name in self.reserved), None)
        if taken is not None:
            raise ParameterError(
                f"the output has a column {taken!r} of its own: rename that of the input, or keep the others with --keep"
            )

    def cells(self, records: list[Record]) -> list[list[Any]]:
        """The values of some records in the order of the names, for a table."""
        rows = self.rows(records)
        names = self.names or []
        more = next((name for row in rows for name in row if name not in names), None)
        if more is not None:
            raise FileError(
                f"a record has the column {more!r}, which the first ones lack: write .jsonl, which holds any record"
            )
        return [[row.get(name) for name in names] for row in rows]


def cell_text(value: Any) -> Any:
    """A value for a cell of a text table."""
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else value


def json_fields(row: Record) -> bytes:
    """The fields of a JSON object, with a comma behind them; nothing where there are none."""
    text = json.dumps(row, ensure_ascii=False, default=str)
    text = text if is_clean(text) else json.dumps(row, default=str)
    return b"" if text == "{}" else f"{text[1:-1]}, ".encode()
