"""Rows of a segment: ids, texts and metadata in SQLite, in memory or in a file that is never changed.

The metadata has a second table for filters: reading it costs less than reading past all texts.
"""

from __future__ import annotations

import json
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.errors import FileError, InputError, ParameterError
from noppa.parameters import short_repr
from noppa.search.vectors import row_blocks
from noppa.search.where import Condition, comparable, plain_scalar

#: The most metadata fields in one segment, and the deepest nesting of lists and dicts.
MOST_FIELDS, MOST_DEPTH = 1000, 8
#: Ids or numbers per SQL statement, and filters whose result a table caches.
BATCH, CACHED_MASKS = 500, 16

Metadata = dict[str, Any]


class Row(NamedTuple):
    """A text of an index with its id and metadata."""

    id: str
    text: str
    metadata: Metadata

    def __repr__(self) -> str:
        return dataclass_repr(self)


# Validation of what users give


def checked_ids(ids: Any, count: int | None = None) -> list[str]:
    """Return distinct ids as strings; a single id becomes a list of one."""
    if isinstance(ids, (str, int, np.integer)):
        ids = [ids]
    elif not isinstance(ids, Iterable):
        raise InputError(f"ids must be a list of strings or integers, not {short_repr(ids)}")
    names: dict[str, None] = {}
    for id in ids:
        if not isinstance(id, (str, int, np.integer)) or isinstance(id, bool):
            raise ParameterError(f"an id must be a string or an integer, not {short_repr(id)}")
        name = str(id)
        if not name or not name.isprintable():
            raise ParameterError(
                f"an id must consist of printable characters, not {short_repr(id)}"
            )
        if name in names:
            raise ParameterError(f"the id {name!r} is given twice")
        names[name] = None
    if count is not None and len(names) != count:
        raise InputError(f"there are {count} texts and {len(names)} ids")
    return list(names)


def checked_metadata(metadata: Any, count: int) -> list[Metadata]:
    """Return one dict of plain values per text, without missing values."""
    if metadata is None:
        return [{} for _ in range(count)]
    if isinstance(metadata, (str, Mapping)) or not isinstance(metadata, Sequence):
        raise InputError(
            f"metadata must be a list with one dict per text, not {short_repr(metadata)}"
        )
    if len(metadata) != count:
        raise InputError(f"there are {count} texts and {len(metadata)} dicts of metadata")
    rows = []
    for number, fields in enumerate(metadata):
        if not isinstance(fields, (Mapping, NoneType)):
            raise InputError(f"metadata {number} must be a dict, not {short_repr(fields)}")
        for name in fields or ():
            if not isinstance(name, str) or not name:
                raise InputError(
                    f"metadata {number} has the name {short_repr(name)}",
                    "a name must be a non-empty string",
                )
        plain = {
            name: plain_value(value, f"{name!r} of metadata {number}")
            for name, value in (fields or {}).items()
        }
        rows.append({name: value for name, value in plain.items() if value is not None})
    return rows


def plain_value(value: Any, name: str, depth: int = 0) -> Any:
    """Return a value that JSON can hold: a scalar, or a list or dict of scalars."""
    if depth > MOST_DEPTH:
        raise ParameterError(
            f"{name} is nested too deeply", f"at most {MOST_DEPTH} levels are stored"
        )
    if isinstance(value, Mapping):
        return {str(key): plain_value(item, name, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain_value(item, name, depth + 1) for item in value]
    return plain_scalar(value, name)


# The table


class RowTable:
    """Rows numbered from 0, found by id or by conditions; safe to use from several threads."""

    def __init__(self, connection: Any, fields: Sequence[str], location: str) -> None:
        self.fields = list(fields)
        self._connection, self._location = connection, location
        self._columns = {name: f"c{number}" for number, name in enumerate(fields)}
        self._masks: dict[str, NDArray[np.bool_]] = {}
        self._lock = threading.Lock()
        weakref.finalize(self, connection.close)

    @classmethod
    def from_rows(cls, rows: Sequence[Row]) -> RowTable:
        """Build a table in memory."""
        import sqlite3

        fields = list(dict.fromkeys(name for row in rows for name in row.metadata))
        if len(fields) > MOST_FIELDS:
            raise ParameterError(
                f"the metadata has {len(fields)} different fields, at most {MOST_FIELDS}",
                "keep rare fields in a dict of their own",
            )
        columns = "".join(f", c{number}" for number in range(len(fields)))
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.execute(
            "CREATE TABLE rows (number INTEGER PRIMARY KEY, id TEXT UNIQUE, text BLOB, metadata TEXT)"
        )
        connection.execute(f"CREATE TABLE fields (number INTEGER PRIMARY KEY{columns})")
        connection.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?)",
            (
                (
                    number,
                    row.id,
                    row.text.encode("utf-8", "surrogatepass"),
                    json.dumps(row.metadata) if row.metadata else None,
                )
                for number, row in enumerate(rows)
            ),
        )
        connection.executemany(
            f"INSERT INTO fields VALUES ({_marks([None, *fields])})",
            (
                (number, *(comparable(row.metadata.get(name)) for name in fields))
                for number, row in enumerate(rows)
            ),
        )
        connection.commit()
        return cls(connection, fields, "the index")

    @classmethod
    def open(cls, path: Path, fields: Sequence[str]) -> RowTable:
        """Open the table in a file."""
        import sqlite3

        # immutable: the file never changes, so that SQLite neither locks it nor looks for a journal.
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        with _damage_reported(str(path)):
            connection = sqlite3.connect(address, uri=True, check_same_thread=False)
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return cls(connection, fields, str(path))

    def write(self, path: Path) -> None:
        """Write a new file; the writer of the folder syncs it."""
        import sqlite3

        try:
            with self._lock, closing(sqlite3.connect(path)) as file:
                file.execute("PRAGMA journal_mode = OFF")
                file.execute("PRAGMA synchronous = OFF")
                self._connection.backup(file)
        except sqlite3.Error as error:
            raise FileError(f"cannot write {path}: {error}") from error

    def numbers_of_ids(self, ids: Sequence[str]) -> dict[str, int]:
        """Map each id that the table has to its row number."""
        numbers: dict[str, int] = {}
        for start in range(0, len(ids), BATCH):
            batch = ids[start : start + BATCH]
            query = f"SELECT id, number FROM rows WHERE id IN ({_marks(batch)})"
            numbers.update(self._select(query, batch))
        return numbers

    def rows(self, numbers: Sequence[int]) -> dict[int, Row]:
        """Return rows by their numbers."""
        rows: dict[int, Row] = {}
        for start in range(0, len(numbers), BATCH):
            batch = numbers[start : start + BATCH]
            query = f"SELECT number, id, text, metadata FROM rows WHERE number IN ({_marks(batch)})"
            rows.update(self._select(query, batch, _rows))
        return self._all_there(rows, len(numbers))

    def all_rows(self, count: int) -> list[Row]:
        """Return the `count` rows of the table in order."""
        query = "SELECT number, id, text, metadata FROM rows ORDER BY number"
        return list(self._all_there(self._select(query, [], _rows), count).values())

    def _all_there(self, rows: dict[int, Row], count: int) -> dict[int, Row]:
        if len(rows) != count:
            raise FileError(
                f"{self._location} is damaged: rows are missing", "copy the index again"
            )
        return rows

    def mask(self, conditions: Sequence[Condition], count: int) -> NDArray[np.bool_]:
        """Return which of the `count` rows satisfy all conditions; recent masks are cached, since rows never change."""
        key = repr(conditions)
        mask = self._masks.get(key)
        if mask is not None:
            return mask
        parts = [
            condition.sql(self._columns.get(condition.field, "NULL")) for condition in conditions
        ]
        condition = " AND ".join(f"({sql})" for sql, _ in parts)
        values = [value for _, parameters in parts for value in parameters]
        query = f"SELECT number FROM fields WHERE number >= ? AND number < ? AND {condition}"
        mask = np.zeros(count, np.bool_)
        for bounds in row_blocks(count):
            found = self._select(query, [*bounds, *values], lambda rows: np.array(rows, np.int64))
            mask[found] = True
        if len(self._masks) >= CACHED_MASKS:
            self._masks.clear()
        self._masks[key] = mask
        return mask

    def _select(
        self, query: str, values: Sequence[Any], convert: Callable[[list[Any]], Any] = list
    ) -> Any:
        with _damage_reported(self._location):
            with self._lock:
                selected = self._connection.execute(query, values).fetchall()
            return convert(selected)


def _rows(selected: list[Any]) -> dict[int, Row]:
    rows = {}
    for number, id, text, metadata in selected:
        fields = {} if metadata is None else dict(json.loads(metadata))
        rows[number] = Row(str(id), text.decode("utf-8", "surrogatepass"), fields)
    return rows


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))


@contextmanager
def _damage_reported(location: str) -> Iterator[None]:
    """Report what a damaged table raises as a FileError."""
    import sqlite3

    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, IndexError, AttributeError) as error:
        raise FileError(f"{location} is damaged: {error}", "copy the index again") from error
