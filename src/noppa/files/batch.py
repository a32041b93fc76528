"""Consecutive records, as every reader gives them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from noppa.files.columns import cell_value


@dataclass
class Batch:
    """Consecutive records of a file: `texts`, with None for a bad record."""

    texts: list[str | None]
    bad: list[tuple[int, str]] = field(default_factory=list)
    """Index in `texts` and fault of each bad record, in order."""
    position: int = 0
    """Bytes of input read so far, for a progress bar."""
    columns: Any = None
    """The columns to keep, an Arrow record batch of as many rows; None where a file is read for its texts alone."""
    records: list[dict[str, Any]] | None = None
    """The whole records by the names of their columns, of bad ones what is there; None where nobody asked for them."""
    column: str = ""
    """The name of the column with the text in `records`."""
    written: bool = False
    """Whether the values of `records` are cells of a table as they are written, so that a number is a text."""
    fingerprint: str = ""
    """Of all records up to the end of this batch, where a checkpoint needs it."""

    def other_fields(self) -> list[dict[str, Any]]:
        """Of each record all but the text, as values: a cell that is written as a number is one."""
        value = cell_value if self.written else lambda cell: cell
        return [
            {name: value(cell) for name, cell in record.items() if name != self.column}
            for record in self.records or []
        ]

    def after(self, count: int) -> Batch:
        """The texts, faults and whole records without those of the first records."""
        bad = [(at - count, fault) for at, fault in self.bad if at >= count]
        records = None if self.records is None else self.records[count:]
        return Batch(self.texts[count:], bad, self.position, records=records)


def is_clean(text: str) -> bool:
    """Whether a text can be written as UTF-8: it holds no half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
