"""The texts, ids and metadata of a segment in SQLite, in memory or in a file that is never changed.

Filters have a table of their own: reading it costs less than reading past all texts.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.errors import FileError, ParameterError
from noppa.search import metadata
from noppa.search.metadata import Metadata
from noppa.search.row_blocks import row_blocks
from noppa.search.where import Condition, sql_of

#: How many ids or numbers one statement asks for.
ASKED = 500
#: How many filters a table remembers.
KEPT_MASKS = 16


class Row(NamedTuple):
    """A text of the index with what is kept beside it."""

    id: str
    text: str
    metadata: Metadata

    def __repr__(self) -> str:
        return dataclass_repr(self)


class RowTable:
    """Rows by their numbers from 0 on, found by id or by conditions; safe to use from many threads."""

    def __init__(self, connection: Any, fields: Sequence[str], where: str) -> None:
        self.fields = list(fields)
        self._connection, self._where = connection, where
        self._columns = {name: f"c{at}" for at, name in enumerate(fields)}
        self._masks: dict[str, NDArray[np.bool_]] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, connection.close)

    @classmethod
    def made(cls, rows: Sequence[Row]) -> RowTable:
        """A table in memory."""
        import sqlite3

        fields = list(dict.fromkeys(name for row in rows for name in row.metadata))
        if len(fields) > metadata.MOST_FIELDS:
            raise ParameterError(
                f"the metadata have {len(fields)} different names, at most {metadata.MOST_FIELDS}: "
                "keep the rest in a dict of their own"
            )
        columns = "".join(f", c{at}" for at in range(len(fields)))
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.execute(
            "CREATE TABLE rows (number INTEGER PRIMARY KEY, id TEXT UNIQUE, text BLOB, metadata TEXT)"
        )
        connection.execute(f"CREATE TABLE fields (number INTEGER PRIMARY KEY{columns})")
        connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", _texts(rows))
        marks = _marks([None, *fields])
        connection.executemany(f"INSERT INTO fields VALUES ({marks})", _fields(rows, fields))
        connection.commit()
        return cls(connection, fields, "the index")

    @classmethod
    def read(cls, path: Path, fields: Sequence[str]) -> RowTable:
        """The table in a file, which is opened now and read when something is asked."""
        import sqlite3

        # immutable: nobody changes the file, so that SQLite neither locks it nor looks for a journal.
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with _explained(str(path)):
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return cls(connection, fields, str(path))

    def write(self, path: Path) -> None:
        """Write a new file; whoever writes the folder syncs it."""
        import sqlite3

        try:
            with self._lock, closing(sqlite3.connect(path)) as file:
                file.execute("PRAGMA journal_mode = OFF")
                file.execute("PRAGMA synchronous = OFF")
                self._connection.backup(file)
        except sqlite3.Error as error:
            raise FileError(f"cannot write {path}: {error}") from error

    def numbers_of_ids(self, ids: Sequence[str]) -> dict[str, int]:
        """The numbers of those ids that are there."""
        found: dict[str, int] = {}
        for start in range(0, len(ids), ASKED):
            some = ids[start : start + ASKED]
            found.update(
                self._select(f"SELECT id, number FROM rows WHERE id IN ({_marks(some)})", some)
            )
        return found

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Some rows by their numbers."""
        found = {}
        for start in range(0, len(numbers), ASKED):
            some = numbers[start : start + ASKED]
            query = f"SELECT number, id, text, metadata FROM rows WHERE number IN ({_marks(some)})"
            with _explained(self._where):
                found.update({number: _row(*rest) for number, *rest in self._select(query, some)})
        return found

    def all_rows(self) -> list[Row]:
        """Every row in order."""
        query = "SELECT id, text, metadata FROM rows ORDER BY number"
        with _explained(self._where):
            return [_row(*values) for values in self._select(query, [])]

    def mask(self, conditions: Sequence[Condition], count: int) -> NDArray[np.bool_]:
        """Which of the `count` rows satisfy all conditions; the last answers are kept, since rows never change."""
        key = repr(conditions)
        mask = self._masks.get(key)
        if mask is None:
            mask = self._new_mask(conditions, count)
            if len(self._masks) >= KEPT_MASKS:
                self._masks.clear()
            self._masks[key] = mask
        return mask

    def _new_mask(self, conditions: Sequence[Condition], count: int) -> NDArray[np.bool_]:
        parts = [sql_of(one, self._columns.get(one.field, "NULL")) for one in conditions]
        condition = " AND ".join(f"({sql})" for sql, _ in parts)
        values = [value for _, some in parts for value in some]
        query = f"SELECT number FROM fields WHERE number >= ? AND number < ? AND {condition}"
        mask = np.zeros(count, np.bool_)
        for bounds in row_blocks(count):
            found = self._select(query, [*bounds, *values])
            with _explained(self._where):
                mask[np.fromiter((number for (number,) in found), np.int64, len(found))] = True
        return mask

    def _select(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._lock, _explained(self._where):
            return list(self._connection.execute(query, values).fetchall())


def _texts(rows: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(rows):
        text = row.text.encode("utf-8", "surrogatepass")
        yield number, row.id, text, metadata.dumped(row.metadata)


def _fields(rows: Sequence[Row], fields: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    for number, row in enumerate(rows):
        yield number, *(metadata.compared(row.metadata.get(name)) for name in fields)


def _row(name: str, text: bytes, content: str | None) -> Row:
    return Row(str(name), text.decode("utf-8", "surrogatepass"), metadata.loaded(content))


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


@contextmanager
def _explained(where: str) -> Iterator[None]:
    """Turn what a damaged table raises into one sentence."""
    import sqlite3

    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, IndexError, AttributeError) as error:
        raise FileError(f"{where} is damaged: {error}; copy the index again") from error
