"""Progress of a run, from outcomes as they come, or from files that are there where an engine tells nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from noppa.cluster.places import Place
from noppa.cluster.plan import Shard

#: Called with the records done, as far as they are known, and the bytes of input done.
Progress = Callable[[int, int], None]


class Teller:
    """Tells of pass `at` of some over the same shards, whose outcomes leave a file each in a folder."""

    def __init__(
        self,
        progress: Progress | None,
        folder: Place,
        shards: list[Shard],
        at: int = 0,
        passes: int = 1,
        before: Iterable[dict[str, Any]] = (),
    ) -> None:
        self.progress, self.folder, self.passes = progress, folder, passes
        self.sizes = {shard.number: shard.size for shard in shards}
        self.first = at * sum(self.sizes.values())
        self.records = self.bytes = 0
        self.told = False
        self.next = 0.0
        for outcome in before:
            self._add(outcome)

    def __call__(self, outcome: dict[str, Any]) -> None:
        self.told = True
        self._add(outcome)
        if self.progress is not None:
            self.progress(self.records, (self.first + self.bytes) // self.passes)

    def _add(self, outcome: dict[str, Any]) -> None:
        self.records += outcome["records"]
        self.bytes += self.sizes[outcome["number"]]

    def tick(self) -> None:
        """Look how many files there are, unless outcomes tell; a listing that is slow is not made often."""
        if self.progress is None or self.told or time.monotonic() < self.next:
            return
        start = time.monotonic()
        done = sum(not name.startswith(".") for name in self.folder.sizes())
        self.next = time.monotonic() + 10 * (time.monotonic() - start)
        size = sum(self.sizes.values()) * done // max(len(self.sizes), 1)
        self.progress(self.records, (self.first + size) // self.passes)
