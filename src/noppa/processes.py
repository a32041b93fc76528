"""A pool of processes, each with one thread of linear algebra: what they compute does not depend on their number."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

#: Small products are slower with threads of their own, and with one thread their last bit is always the same.
ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def processes(jobs: int) -> Iterator[Run]:
    """A `map` over that many processes, in order; they end with the block."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        # a new interpreter reads the variables above before its NumPy starts; a copy of this one would not
        pool = multiprocessing.get_context("spawn").Pool(jobs, _ignore_interrupts)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    with pool:
        yield pool.imap


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the first one answers it and ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
