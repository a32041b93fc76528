"""Timing of a benchmark, and its figures printed as one JSON object a line."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any


def best(run: Callable[[], object], times: int) -> float:
    """Seconds of the fastest of several runs."""
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def tell(digits: int, **facts: Any) -> None:
    rounded = {
        name: round(value, digits) if isinstance(value, float) else value
        for name, value in facts.items()
    }
    print(json.dumps(rounded), flush=True)
