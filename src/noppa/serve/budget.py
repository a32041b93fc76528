"""The memory budget of a process: bytes of bodies, texts and answers that all its requests hold together."""

from __future__ import annotations

from noppa.serve.metrics import Metrics
from noppa.serve.problems import OUT_OF_MEMORY, busy


class Budget:
    """The bytes that are held, and their limit."""

    def __init__(self, limit: int, metrics: Metrics) -> None:
        self.limit, self.metrics = limit, metrics
        self.held = 0

    def lease(self) -> Lease:
        return Lease(self)

    def change(self, size: int) -> None:
        self.held += size
        self.metrics.gauge("held_bytes", self.held)


class Lease:
    """The bytes that one request holds, from the start of its body to the end of its answer."""

    def __init__(self, budget: Budget) -> None:
        self.budget, self.size = budget, 0

    def grow(self, size: int) -> None:
        """Hold at least `size` bytes; 503 if that exceeds the budget."""
        more = size - self.size
        if more <= 0:
            return
        if self.budget.held + more > self.budget.limit:
            raise busy(
                f"requests hold {self.budget.held} of the {self.budget.limit} bytes that this server has for all of "
                "them: try again later, or send less at a time",
                code=OUT_OF_MEMORY,
            )
        self.resize(size)

    def resize(self, size: int) -> None:
        """Hold exactly `size` bytes, without a check: they are in memory already."""
        self.budget.change(size - self.size)
        self.size = size
