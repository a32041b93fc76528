"""Progress bars of files on a terminal, none in a pipe; those of counts are in `noppa.progress_bar`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from noppa.progress_bar import terminal_bar


@contextmanager
def bytes_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (bytes done, bytes in total)."""
    with terminal_bar(what, "DownloadColumn", "TransferSpeedColumn") as update:
        yield lambda done, total: update(completed=done, total=total or None)


@contextmanager
def records_bar(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A callback (records done, bytes of input read); `total` is the size of the input, 0 if unknown."""
    began = time.monotonic()

    def told(records: int, done: int) -> None:
        rate = records / max(time.monotonic() - began, 1e-9)
        counts = f"{what}: {records:,} records, {rate:,.0f} a second"
        update(description=counts, completed=done, total=total or None)

    with terminal_bar(what) as update:
        yield told
