"""Progress bars of files on a terminal, none in a pipe; those of counts are in `noppa.progress_bar`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def bytes_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A callback (bytes done, bytes in total)."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )

    columns = (
        TextColumn(what),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total or None)


@contextmanager
def records_bar(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """A callback (records done, bytes of input read); `total` is the size of the input, 0 if unknown."""
    if not sys.stderr.isatty():
        yield lambda records, done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(what),
        BarColumn(),
        TextColumn("{task.fields[records]:,} records, {task.fields[rate]:,.0f} a second"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=total or None, records=0, rate=0.0)

        def update(records: int, done: int) -> None:
            elapsed = progress.tasks[0].elapsed or 1e-9
            progress.update(task, completed=done, records=records, rate=records / elapsed)

        yield update
