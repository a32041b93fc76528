"""What an index holds after a commit: segments, which of their rows are alive, and where an id is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.search.row_table import Row
from noppa.search.segment import Segment
from noppa.text.tokenizer import Split

#: The place of a part and the number of a row in it, by id.
Places = dict[str, tuple[int, int]]


#: How many small segments in a row are merged into one, and up to how many rows a segment is small: at each of these.
FAN, SMALL = 8, (8, 64, 512, 4096, 32768)


@dataclass(frozen=True, eq=False)
class Part:
    """A segment, and which of its rows are alive: all where None.

    name, alive_name: of the segment's folder and of the file with `alive`; "" for what is not on disk.
    """

    segment: Segment
    alive: NDArray[np.bool_] | None = None
    name: str = ""
    alive_name: str = ""

    @cached_property
    def count(self) -> int:
        """Rows that are alive."""
        return len(self.segment) if self.alive is None else int(np.count_nonzero(self.alive))

    @cached_property
    def length(self) -> int:
        """Terms of all texts that are alive."""
        lengths = self.segment.postings.lengths
        return int((lengths if self.alive is None else lengths[self.alive]).sum(dtype=np.int64))

    def without(self, rows: list[int]) -> Part:
        """The same part after some rows were deleted."""
        alive = np.ones(len(self.segment), np.bool_) if self.alive is None else self.alive.copy()
        alive[rows] = False
        return replace(self, alive=alive, alive_name="")


@dataclass(frozen=True, eq=False)
class State:
    """All that an index holds after a commit; never changed, so that a search sees one commit only."""

    parts: tuple[Part, ...] = ()
    next_id: int = 0

    def __len__(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def fields(self) -> list[str]:
        """Names in the metadata of its texts, deleted ones too."""
        return sorted({name for part in self.parts for name in part.segment.table.fields})

    def located(self, ids: list[str]) -> Places:
        """Where those of some ids are that are alive."""
        places = {}
        for at, part in enumerate(self.parts):
            for name, row in part.segment.table.numbers_of_ids(ids).items():
                if part.alive is None or part.alive[row]:
                    places[name] = (at, row)
        return places

    def new_ids(self, count: int) -> tuple[list[str], int]:
        """So many running numbers that are no text's id, also none that a user chose; and the number after them."""
        named: list[str] = []
        number = self.next_id
        while len(named) < count:
            some = [str(number + at) for at in range(count - len(named))]
            number += len(some)
            there = self.located(some)
            named += [id for id in some if id not in there]
        return named, number

    def known(self, ids: list[str]) -> Places:
        """Where some ids are, all of which must be there."""
        places = self.located(ids)
        missing = next((id for id in ids if id not in places), None)
        if missing is not None:
            raise ParameterError(f"there is no text with the id {missing!r} in the index")
        return places

    def rows(self, ids: list[str]) -> list[Row]:
        """The rows of some ids, all of which must be there."""
        places, found = self.known(ids), dict[str, Row]()
        for at in {at for at, _ in places.values()}:
            numbers = [row for own, row in places.values() if own == at]
            rows = self.parts[at].segment.table.rows(numbers).values()
            found.update({row.id: row for row in rows})
        return [found[id] for id in ids]

    def without(self, ids: list[str]) -> State:
        """The state after some ids were deleted, all of which must be there; a part without a row left is dropped."""
        rows: dict[int, list[int]] = {}
        for at, row in self.known(ids).values():
            rows.setdefault(at, []).append(row)
        parts = [
            part.without(rows[at]) if at in rows else part for at, part in enumerate(self.parts)
        ]
        return State(tuple(part for part in parts if part.count), self.next_id)


def small_tail(sizes: Sequence[int]) -> int:
    """Where the last segments of these sizes begin that are to be merged, because `FAN` of them are small.

    So there are never many segments, and each row is merged a few times only.
    """
    for most in reversed(SMALL):
        start = len(sizes)
        while start and sizes[start - 1] <= most:
            start -= 1
        if len(sizes) - start >= FAN:
            return start
    return len(sizes)


def merged(parts: Sequence[Part], split: Split) -> tuple[Part, ...]:
    """The rows of some parts that are alive, as one part; none where no row is. split: a text into tokens."""
    rows: list[Row] = []
    arrays: dict[str, list[NDArray[Any]]] = {}
    for part in parts:
        own = part.segment.table.all_rows()
        alive = np.arange(len(own)) if part.alive is None else np.flatnonzero(part.alive)
        rows += [own[at] for at in alive.tolist()]
        for name in ("vectors", "scales"):
            if name in part.segment.arrays:
                arrays.setdefault(name, []).append(part.segment.arrays[name][alive])
    if not rows:
        return ()
    joined = {name: np.concatenate(pieces) for name, pieces in arrays.items()}
    return (Part(Segment.made(rows, joined, split)),)
