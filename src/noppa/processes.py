"""A pool of processes with one BLAS thread each, so that results do not depend on the number of processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from noppa.errors import NoppaError

Run = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]

#: One BLAS thread is faster for small products, and the last bit does not depend on the machine.
ONE_THREAD = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)


@contextmanager
def processes(jobs: int) -> Iterator[Run]:
    """Yield an ordered `map` over a number of processes, which end with the block."""
    before, others = dict(os.environ), set(multiprocessing.active_children())
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    # spawn, not fork: BLAS reads the variables above when a new interpreter imports NumPy.
    context = multiprocessing.get_context("spawn")
    # Ctrl-C reaches the whole process group; only the parent handles it, and ends the pool.
    ignored = (signal.SIGINT, signal.SIG_IGN)
    pool = ProcessPoolExecutor(jobs, context, signal.signal, ignored)
    try:
        yield pool.map
    except BaseException as error:
        for worker in set(multiprocessing.active_children()) - others:
            worker.terminate()
        if isinstance(error, BrokenProcessPool):
            raise NoppaError(
                "a process ended before its work was done, probably for lack of memory",
                "use fewer jobs",
            ) from error
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        os.environ.clear()
        os.environ.update(before)
