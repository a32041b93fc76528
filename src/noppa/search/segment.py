"""Segments of an index, which never change, and the state of an index: its segments and which of their rows are alive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError, ParameterError
from noppa.io import schema, storage
from noppa.search.rows import Row, RowTable
from noppa.search.terms import POSTING_ARRAYS, build_postings, check_postings
from noppa.search.vectors import CELL_ARRAYS, EXACT, Cells, build_cells, check_cells
from noppa.search.where import Condition
from noppa.text.tokenizer import Split

KIND = "index segment"
TABLE = "rows.sqlite"
FIELDS = {"fields": schema.is_texts, "table": schema.is_object}
ARRAYS = {
    "vectors": "f4|f2|i1 rows dim",
    "?scales": "f4 rows positive",
    **POSTING_ARRAYS,
    **CELL_ARRAYS,
}
#: FAN consecutive segments are merged if each has at most this many rows; the largest limit is tried first.
FAN, SMALL = 8, (8, 64, 512, 4096, 32768)

Mask = NDArray[np.bool_]


class Segment:
    """Texts with ids and metadata, their unit vectors (rows, dim), their postings and, for many rows, their cells.

    checksum: of everything in the folder; "" in memory.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], table: RowTable, checksum: str = ""
    ) -> None:
        self.arrays, self.table, self.checksum = arrays, table, checksum
        self.vectors = arrays["vectors"]
        self.scales = arrays.get("scales")
        self.count, self.dim = self.vectors.shape
        self.dtype = str(self.vectors.dtype)
        self.whole = self.slice(0, self.count)
        self.cells = Cells(arrays) if "centroids" in arrays else None

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Row],
        vectors: Mapping[str, NDArray[Any]],
        split: Split,
    ) -> Segment:
        """Build a segment in memory, from vectors as `to_stored` returns them; `split` gives the tokens of a text."""
        arrays = {**vectors, **build_postings((row.text for row in rows), split)}
        if len(rows) > EXACT:
            arrays.update(build_cells(vectors))
        return cls(arrays, RowTable.from_rows(rows))

    def slice(self, start: int, stop: int) -> Any:
        """Return the vectors of consecutive rows, as the kernels take them."""
        scales = None if self.scales is None else self.scales[start:stop]
        return kernels.Table(self.vectors[start:stop], scales)

    def write(self, path: Path) -> None:
        """Write the segment to a folder."""

        def write_table(folder: Path) -> dict[str, Any]:
            file = folder / TABLE
            self.table.write(file)
            return {"table": {"bytes": file.stat().st_size, "sha256": storage.sha256(file)}}

        storage.write_folder(path, KIND, {"fields": self.table.fields}, self.arrays, write_table)

    @classmethod
    def open(cls, path: Path) -> Segment:
        """Open the segment in a folder; its arrays are memory-mapped."""
        folder = storage.read_folder(path, KIND, FIELDS)
        arrays = folder.read(ARRAYS, {})
        if (arrays["vectors"].dtype == np.int8) != ("scales" in arrays):
            raise FileError(f"{path} is damaged: int8 vectors and their scales belong together")
        check_postings(arrays, folder.file("posting_bounds"))
        check_cells(arrays, folder.file("cell_bounds"))
        entry = folder.header["table"]
        if not storage.is_file_entry(entry):
            raise FileError(f"{path / storage.HEADER} is damaged: its table has no size")
        storage.read_file(path / TABLE, entry, storage.VERIFIED_BYTES)
        table = RowTable.open(path / TABLE, folder.header["fields"])
        return cls(arrays, table, folder.header_checksum)


@dataclass(frozen=True, eq=False)
class Part:
    """A segment of an index, and which of its rows are alive; None for all.

    name, alive_name: the names of the segment's folder and of the file with `alive`; "" if they are not on disk.
    """

    segment: Segment
    alive: Mask | None = None
    name: str = ""
    alive_name: str = ""

    @cached_property
    def count(self) -> int:
        """The number of live rows."""
        return self.segment.count if self.alive is None else int(np.count_nonzero(self.alive))

    @cached_property
    def length(self) -> int:
        """The number of terms in all live texts."""
        lengths = self.segment.arrays["lengths"]
        return int((lengths if self.alive is None else lengths[self.alive]).sum(dtype=np.int64))

    def allowed(self, conditions: Sequence[Condition]) -> Mask | None:
        """Return which rows are alive and satisfy all conditions; None for all rows."""
        if not conditions:
            return self.alive
        mask = self.segment.table.mask(conditions, self.segment.count)
        return mask if self.alive is None else mask & self.alive

    def without(self, rows: list[int]) -> Part:
        """Return the part after some rows were deleted."""
        alive = np.ones(self.segment.count, np.bool_) if self.alive is None else self.alive.copy()
        alive[rows] = False
        return replace(self, alive=alive, alive_name="")


@dataclass(frozen=True, eq=False)
class State:
    """The contents of an index after a commit; never changed, so that a search sees exactly one commit."""

    parts: tuple[Part, ...] = ()
    next_id: int = 0

    @cached_property
    def count(self) -> int:
        """The number of live rows."""
        return sum([part.count for part in self.parts])

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The number of the first row of each part, and the number of all rows, (parts + 1,)."""
        return np.cumsum([0, *[part.segment.count for part in self.parts]])

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms in a live text; 1 if there are none."""
        return sum([part.length for part in self.parts]) / max(1, self.count) or 1.0

    @property
    def fields(self) -> list[str]:
        """The names in the metadata, including those of deleted texts."""
        return sorted({name for part in self.parts for name in part.segment.table.fields})

    def locate(self, ids: list[str]) -> dict[str, tuple[int, int]]:
        """Map each live id to its (part, row)."""
        places = {}
        for number, part in enumerate(self.parts):
            for id, row in part.segment.table.numbers_of_ids(ids).items():
                if part.alive is None or part.alive[row]:
                    places[id] = (number, row)
        return places

    def by_part(self, ids: list[str]) -> dict[int, list[int]]:
        """Return the rows of ids in each part; raise if one of them is not in the index."""
        places = self.locate(ids)
        rows: dict[int, list[int]] = {}
        for id in ids:
            if id not in places:
                raise ParameterError(f"there is no text with the id {id!r} in the index")
            part, row = places[id]
            rows.setdefault(part, []).append(row)
        return rows

    def new_ids(self, count: int) -> tuple[list[str], int]:
        """Return consecutive numbers that are not ids yet, and the number after them."""
        ids: list[str] = []
        number = self.next_id
        while len(ids) < count:
            candidates = [str(number + offset) for offset in range(count - len(ids))]
            number += len(candidates)
            taken = self.locate(candidates)
            ids += [id for id in candidates if id not in taken]
        return ids, number

    def rows(self, ids: list[str]) -> list[Row]:
        """Return the rows of ids, all of which must be in the index."""
        rows = {
            row.id: row
            for part, wanted in self.by_part(ids).items()
            for row in self.parts[part].segment.table.rows(wanted).values()
        }
        return [rows[id] for id in ids]

    def without(self, ids: list[str]) -> State:
        """Return the state after ids were deleted, all of which must be in the index; empty parts are dropped."""
        deleted = self.by_part(ids)
        parts = (
            part.without(deleted[number]) if number in deleted else part
            for number, part in enumerate(self.parts)
        )
        return State(tuple(part for part in parts if part.count), self.next_id)

    def with_small_merged(self, split: Split) -> State | None:
        """Return the state after merging the last parts, if at least `FAN` of them are small.

        So there are never many segments, and each row is merged only a few times.
        """
        for limit in reversed(SMALL):
            start = len(self.parts)
            while start and self.parts[start - 1].segment.count <= limit:
                start -= 1
            if len(self.parts) - start >= FAN:
                merged = merge(self.parts[start:], split)
                return State((*self.parts[:start], *merged), self.next_id)
        return None


def merge(parts: Sequence[Part], split: Split) -> tuple[Part, ...]:
    """Merge the live rows of parts into one part; () if there are none. `split` gives the tokens of a text."""
    rows: list[Row] = []
    arrays: dict[str, list[NDArray[Any]]] = {}
    for part in parts:
        every = part.segment.table.all_rows(part.segment.count)
        alive = np.arange(len(every)) if part.alive is None else np.flatnonzero(part.alive)
        rows += [every[row] for row in alive.tolist()]
        for name in ("vectors", "scales"):
            if name in part.segment.arrays:
                arrays.setdefault(name, []).append(part.segment.arrays[name][alive])
    if not rows:
        return ()
    joined = {name: np.concatenate(pieces) for name, pieces in arrays.items()}
    return (Part(Segment.from_rows(rows, joined, split)),)
