"""Threads beside the one that encodes: one that reads ahead, and one that writes behind; and files that end with their use."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import Any, TypeVar

#: Python can miss a signal that arrives right before a blocking wait, so that no wait is long.
LONGEST_WAIT = 0.2
Item = TypeVar("Item")


@contextmanager
def ended(items: Iterator[Item]) -> Iterator[Iterator[Item]]:
    """Items, of which the generator ends with the block: one that is not used up would keep its file open until it is collected."""
    try:
        yield items
    finally:
        if isinstance(items, Generator):
            items.close()


def read_ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, the next one made in a thread while this one is used.

    The thread is a daemon, because a read from a pipe that nobody writes to must not block the exit on Ctrl-C.
    """
    queue: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
    slots = Semaphore(0)
    stopped = Event()

    def produce() -> None:
        try:
            with ended(items):
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


class WriteBehind:
    """Runs calls in order in a thread; after one that failed, every later one fails with the same error.

    A write after a failed one would leave a hole, and a checkpoint after it would record the hole as done.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1)
        self._error: BaseException | None = None

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(self._run, call, arguments)

    def _run(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self._error is not None:
            raise self._error
        try:
            return call(*arguments)
        except BaseException as error:
            self._error = error
            raise

    def __enter__(self) -> WriteBehind:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
