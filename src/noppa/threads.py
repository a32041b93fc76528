"""How many threads to use: an argument, else NOPPA_THREADS, else the processors this process may really use."""

from __future__ import annotations

import math
import os
from functools import lru_cache
from pathlib import Path

from noppa.errors import ParameterError

VARIABLE = "NOPPA_THREADS"


def thread_count(threads: int | None = None) -> int:
    """The number of threads for one call."""
    if threads is not None:
        return _checked(threads, "threads")
    wanted = os.environ.get(VARIABLE)
    if wanted:
        return _checked(wanted, VARIABLE)
    return available()


def available() -> int:
    """Processors within this process's affinity and its control group's quota, at least one."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    return max(1, math.ceil(min(processors, quota())))


def _checked(value: object, name: str) -> int:
    try:
        count = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        count = 0
    if isinstance(value, (bool, float)) or count < 1:
        raise ParameterError(f"{name} must be a whole number from 1 on, not {value!r}")
    return int(count)


@lru_cache(maxsize=1)
def quota(root: Path = Path("/sys/fs/cgroup"), groups: Path = Path("/proc/self/cgroup")) -> float:
    """Processors that the control groups of this process allow, infinite where nothing limits them."""
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
    """The limit that one group sets: `cpu.max` of version 2, the two `cpu.cfs_*` files of version 1."""
    try:
        if (folder / "cpu.max").exists():
            allowed, period = (folder / "cpu.max").read_text().split()
        else:
            allowed = (folder / "cpu.cfs_quota_us").read_text().strip()
            period = (folder / "cpu.cfs_period_us").read_text().strip()
    except (OSError, ValueError):
        return math.inf
    if allowed in ("max", "-1"):
        return math.inf
    return int(allowed) / int(period)
