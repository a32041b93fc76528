"""How many threads to use: the argument, else NOPPA_THREADS, else the processors available to this process."""

from __future__ import annotations

import math
import os
import re
from functools import lru_cache
from pathlib import Path

from noppa.parameters import whole

VARIABLE = "NOPPA_THREADS"
#: More threads than processors only wait, and no machine gives one process more processors.
MOST = 1024
DIGITS = re.compile(r"\s*[0-9]{1,9}\s*\Z", re.ASCII)


def thread_count(threads: int | None = None, is_small: bool = False) -> int:
    """The number of threads for one call; one that is too small to share does not ask how many processors there are."""
    if threads is not None:
        return whole(threads, "threads", 1, MOST)
    variable = os.environ.get(VARIABLE)
    if variable:
        return whole(int(variable) if DIGITS.match(variable) else variable, VARIABLE, 1, MOST)
    return 1 if is_small else available()


def available() -> int:
    """Processors within the CPU affinity and the cgroup quota of this process, at least one."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return max(1, math.ceil(min(processors, quota())))


@lru_cache(maxsize=1)
def quota(root: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")) -> float:
    """The CPU quota of this process's cgroups, in processors; infinite without a limit."""
    try:
        lines = groups.read_text().splitlines()
    except OSError:
        return math.inf
    limit = math.inf
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        folder = top / path.lstrip("/")
        while True:
            limit = min(limit, _limit_of(folder))
            if folder == top or top not in folder.parents:
                break
            folder = folder.parent
    return limit


def _limit_of(folder: Path) -> float:
    """The quota of one cgroup: `cpu.max` in version 2, the two `cpu.cfs_*` files in version 1."""
    try:
        if (folder / "cpu.max").exists():
            quota_us, period = (folder / "cpu.max").read_text().split()
        else:
            quota_us = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
    except (OSError, ValueError):
        return math.inf
    if quota_us in ("max", "-1"):
        return math.inf
    return int(quota_us) / int(period)
