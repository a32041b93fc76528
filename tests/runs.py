"""What tests of resumable runs share: a run that waits in its middle, and JSON files with something changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

PATIENCE = 240


@contextmanager
def waiting(run: Callable[[Callable[[int, int], None]], Any]) -> Iterator[None]:
    """While the block lasts, a run in another thread waits in its first call of the progress function that it is given."""
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
