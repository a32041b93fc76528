"""A pass over many rows in steps, so that it can be stopped by a deadline, by a client that leaves, or by Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator

from noppa.methods.k_means import interrupt

#: Rows of a step: some tens of milliseconds at most, and one step for most indexes.
BLOCK = 1 << 17


def row_blocks(count: int) -> Iterator[tuple[int, int]]:
    """The first row of each step and the one behind its last; before each, whoever waits is asked."""
    for start in range(0, count, BLOCK):
        interrupt.get()()
        yield start, min(start + BLOCK, count)
