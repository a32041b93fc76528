"""A pool of processes with one BLAS thread each, so that results do not depend on the number of processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.pool import Pool
from typing import Any

from noppa.errors import NoppaError

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

#: One BLAS thread: faster for small products, and the last bit does not depend on the machine.
ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def processes(jobs: int) -> Iterator[Run]:
    """An ordered `map` over that many processes, which end with the block."""
    others = set(multiprocessing.active_children())
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    try:
        # spawn, not fork: BLAS reads the variables above when a new interpreter imports NumPy.
        pool = multiprocessing.get_context("spawn").Pool(jobs, _ignore_interrupts)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    workers = set(multiprocessing.active_children()) - others
    with pool:
        yield lambda function, items: _results(pool, workers, function, items)


def _results(
    pool: Pool,
    workers: set[multiprocessing.process.BaseProcess],
    function: Callable[[Any], Any],
    items: Iterable[Any],
) -> Iterator[Any]:
    """`pool.imap`, which alone would wait forever for the result of a process that was killed."""
    results = pool.imap(function, items)
    while True:
        try:
            yield results.next(timeout=1)
        except StopIteration:
            return
        except multiprocessing.TimeoutError:
            if not all(worker.is_alive() for worker in workers):
                raise NoppaError(
                    "a process ended before its work was done, most likely for want of memory: give fewer --jobs"
                ) from None


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole process group; only the parent handles it, and ends the pool."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)
