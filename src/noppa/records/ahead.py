"""Items of an iterator made in a thread, one ahead of their use."""

from __future__ import annotations

from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

SECONDS_OF_A_WAIT = 0.2
Item = TypeVar("Item")


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, the next one made while this one is used.

    The maker is a daemon: a read from a pipe that nobody writes to must not hold up Ctrl-C. Nor must a wait for the
    maker: Python does not notice a signal that came just before it began, so no wait is long.
    """
    made: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
    room = Semaphore(0)
    stopped = Event()

    def make() -> None:
        try:
            for item in items:
                made.put((True, item))
                room.acquire()
                if stopped.is_set():
                    return
            made.put((False, None))
        except BaseException as error:
            made.put((False, error))

    Thread(target=make, daemon=True).start()
    try:
        while True:
            try:
                more, item = made.get(timeout=SECONDS_OF_A_WAIT)
            except Empty:
                continue
            room.release()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stopped.set()
        room.release()
