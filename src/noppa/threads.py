"""The number of threads: the argument, or else NOPPA_THREADS, or else the processors available to this process."""

from __future__ import annotations

import os

from noppa.parameters import whole

VARIABLE = "NOPPA_THREADS"
#: More threads than processors only wait, and no machine gives one process more processors.
MOST = 1024


def thread_count(threads: int | None = None, is_small: bool = False) -> int:
    """Return the number of threads for one call; 1 by default if its input is too small to share."""
    if threads is not None:
        return whole(threads, "threads", 1, MOST)
    variable = os.environ.get(VARIABLE)
    if variable:
        is_number = variable.strip().isdecimal() and len(variable) < 20
        return whole(int(variable) if is_number else variable, VARIABLE, 1, MOST)
    return 1 if is_small else available()


def available() -> int:
    """Return the number of processors that this process may use, at least one."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
