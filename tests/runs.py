"""Wait for conditions, hold a run, and change JSON files in tests."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

#: Seconds that a test waits for what is bound to come, on a machine that is busy with something else.
PATIENCE = 240


def wait_until(true: Callable[[], Any], seconds: float = PATIENCE) -> Any:
    """Return the result of `true` as soon as it is true."""
    end = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)
    return value


@contextmanager
def waiting(run: Callable[[Callable[[int, int], None]], Any]) -> Iterator[None]:
    """Hold a run in another thread, in its first call of the progress function, during the block."""
    reached, proceed = Event(), Event()

    def progress(records: int, position: int) -> None:
        reached.set()
        proceed.wait(PATIENCE)

    thread = Thread(target=run, args=(progress,))
    thread.start()
    try:
        assert reached.wait(PATIENCE)
        yield
    finally:
        proceed.set()
        thread.join()


def changed(**changes: Any) -> Callable[[Any], str]:
    """A function from the content of a JSON file to the text of another one: `a__0__b=1` sets content["a"][0]["b"]."""

    def change(content: Any) -> str:
        for path, value in changes.items():
            *parents, last = path.split("__")
            place = content
            for parent in parents:
                place = place[int(parent) if parent.isdecimal() else parent]
            place[last] = value
        return json.dumps(content)

    return change
