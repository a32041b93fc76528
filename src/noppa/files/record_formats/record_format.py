"""What a record format knows: its columns, how to read a file whole, where to cut one, and how to read a section."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol, TypeVar

from noppa.files.batch import Batch
from noppa.files.columns import Fields, Selection
from noppa.files.record_file import CuttableFile, WholeFile

#: Threads that open files while a run is planned; on remote file systems that is mostly waiting.
OPENERS = 16
#: `stop` of a section that is a whole file, because nothing can be read from its middle.
WHOLE = -1

Item = TypeVar("Item")
Result = TypeVar("Result")


class Section(NamedTuple):
    """Consecutive records of a file: those that begin in the bytes from `start` up to `stop`, or Parquet rows."""

    start: int
    stop: int
    size: int
    """Bytes of text, as far as the file tells."""
    before: int | None
    """How many records of the file come before it; None where that would take reading the file."""


class RecordFormat(Protocol):
    """One file format of records."""

    #: What messages of a stream call a record: "line" or "record".
    unit: str

    def stream(self, file: WholeFile, selection: Selection) -> Iterator[Batch]:
        """All texts of a file, in memory of a few batches."""

    def divide(
        self,
        files: Sequence[CuttableFile],
        sizes: Sequence[int],
        selection: Selection,
        section_size: int,
    ) -> tuple[Fields, list[list[Section]]]:
        """The columns that all files share, and sections of about `section_size` bytes of text for each file."""

    def read(self, file: CuttableFile, start: int, stop: int, fields: Fields) -> Iterator[Batch]:
        """The records of a section, with the columns to keep."""


def in_parallel(function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """The results in the order of the items."""
    with ThreadPoolExecutor(OPENERS) as pool:
        return list(pool.map(function, items))
