"""Read the rows of files and of standard input as one stream of batches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

from noppa.errors import FileError, NoppaError, warn
from noppa.files.formats import FORMATS, Batch, Input
from noppa.files.inputs import STDIN, InputFile
from noppa.io.compression import damage

ON_ERROR = ("raise", "skip", "empty")
#: Python can miss a signal that arrives right before a blocking wait, so no wait is long.
LONGEST_WAIT = 0.2

Item = TypeVar("Item")


def read(source: Input, stdin: InputFile | None = None) -> Iterator[Batch]:
    """Yield every row of every file, in order; the fault of a bad row names its file and its number.

    `stdin` is read in place of standard input.
    """
    bytes_before = 0
    for path in source.paths:
        file = stdin if stdin is not None and path == STDIN else InputFile(path)
        format = source.format_of(path)
        unit = "line" if format in ("lines", "jsonl") else "row"
        number, position = 1, 0
        try:
            # A generator that is not used up would keep its file open until it is collected.
            with closing(FORMATS[format](file, source)) as batches:  # type: ignore[type-var]
                for batch in batches:
                    batch.bad = [
                        (row, f"{file.name}, {unit} {number + row}: {fault}")
                        for row, fault in batch.bad
                    ]
                    number += len(batch.texts)
                    position = batch.position
                    batch.position += bytes_before
                    yield batch
        except UnicodeError as error:
            reason = getattr(error, "reason", error)
            raise FileError(
                f"{file.name} is not {source.encoding or 'UTF-8'} ({reason})",
                "pass another encoding=",
            ) from error
        except (OSError, ValueError, EOFError) as error:
            if isinstance(error, NoppaError):
                raise
            raise FileError(f"{file.name} {damage(error)}") from error
        if number == 1:
            warn(f"{file.name} is empty")
        bytes_before += position


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """Yield the same items, and produce the next one in a thread while the caller uses this one.

    The thread is a daemon, so that a blocked read from an idle pipe does not delay the exit on Ctrl-C.
    """
    queue: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
    slots = Semaphore(0)
    stopped = Event()

    def produce() -> None:
        try:
            with closing(items):  # type: ignore[type-var]
                for item in items:
                    queue.put((True, item))
                    slots.acquire()
                    if stopped.is_set():
                        return
            queue.put((False, None))
        except BaseException as error:
            queue.put((False, error))

    Thread(target=produce, daemon=True).start()
    try:
        while True:
            try:
                more, item = queue.get(timeout=LONGEST_WAIT)
            except Empty:
                continue
            slots.release()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stopped.set()
        slots.release()
