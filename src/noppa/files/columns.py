"""The columns of records: which one holds the text, and which ones are kept beside the vectors."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noppa.errors import ParameterError

#: The column that holds the text where the user names none.
TEXT = "text"
#: How many column names an error lists, and characters of each.
LISTED = 20
LAST_COLUMN = 10**9


@dataclass(frozen=True)
class Selection:
    """What the user says about the columns: the one with the text, whether tables have a header, which to keep."""

    column: str | None = None
    header: bool = True
    keep: Sequence[str] | None = None
    """All columns where None."""
    records: bool = False
    """Give the whole records of a stream beside their texts."""
    encoding: str | None = None
    """Of text files; UTF-8 where None, unless a byte order mark tells another."""
    delimiter: str | None = None
    """Of tables; by the name and the first rows of a file where None."""


@dataclass(frozen=True)
class Fields:
    """The format of some files, the columns of their records, which one holds the text, and which are kept."""

    form: str
    names: list[str]
    text: str
    header: bool
    encoded: str
    """The Arrow schema of the columns to keep, serialized and in base64, so that JSON can hold it."""
    encoding: str | None = None
    delimiter: str = ""

    @classmethod
    def of(
        cls,
        form: str,
        text: str,
        schema: Any,
        selection: Selection,
        header: bool = False,
        delimiter: str = "",
    ) -> Fields:
        """From the Arrow schema of all columns of a record."""
        keep = selection.keep
        names = list(schema.names)
        if keep is not None:
            unknown = [name for name in keep if name not in names]
            if unknown:
                raise ParameterError(
                    f"there is no column {unknown[0]!r} to keep: choose from {', '.join(names)}"
                )
            import pyarrow

            schema = pyarrow.schema([schema.field(name) for name in keep])
        encoded = base64.b64encode(schema.serialize()).decode()
        return cls(form, names, text, header, encoded, selection.encoding, delimiter)

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the columns to keep."""
        import pyarrow

        return pyarrow.ipc.read_schema(pyarrow.py_buffer(base64.b64decode(self.encoded)))


_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+([eE][+-]?[0-9]{1,3})?")


def cell_value(cell: str | None) -> str | int | float | None:
    """What a cell of a text table stands for: a number where it is written as one (`007` is not), None where it is empty."""
    if cell is None:
        return None
    if _WHOLE.fullmatch(cell):
        return int(cell)
    return float(cell) if _DECIMAL.fullmatch(cell) else cell or None


def text_column(names: list[str] | None, column: str | None, address: str) -> int:
    """The index of the column with the text: by its name, by its number from 1 on, or the only one there is.

    names: of the columns, None for a table without a header.
    """
    if names is not None and (column or TEXT) in names:
        return names.index(column or TEXT)
    number = int(column) if column is not None and re.fullmatch("[0-9]{1,9}", column) else 0
    if 1 <= number <= (LAST_COLUMN if names is None else len(names)):
        return number - 1
    if column is None and (names is None or len(names) <= 1):
        return 0
    listed = ", ".join(name[:LISTED] for name in (names or [])[:LISTED])
    raise ParameterError(
        f"{address} has no column {column or TEXT!r}: choose one with --column"
        + (f", from {listed}" if listed else " and its number")
    )
