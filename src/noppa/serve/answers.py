"""The JSON of answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.serve.served_models import BLOCK_TEXTS, Watch


def dumped(answer: Any) -> bytes:
    """JSON with the numbers of arrays rounded to nine places, more than a float32 has."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.round(value, 9).tolist()
        raise TypeError(type(value).__name__)

    return json.dumps(answer, default=plain, allow_nan=False, separators=(",", ":")).encode()


def listed(items: Iterable[Any], watch: Watch, head: bytes = b"[", tail: bytes = b"]") -> bytes:
    """A JSON array between the rest of an answer, item by item: one long call of json holds the GIL, and the event loop."""
    parts = []
    for at, item in enumerate(items):
        if at % BLOCK_TEXTS == 0:
            watch.check()
        parts.append(dumped(item))
    return b"%b%b%b" % (head, b",".join(parts), tail)


def written(
    rows: NDArray[np.float32], watch: Watch, threads: int, head: bytes = b"[", tail: bytes = b"]"
) -> memoryview:
    """Rows as JSON arrays between the rest of an answer, written in blocks."""
    answer = bytearray(head)
    for start in range(0, len(rows), BLOCK_TEXTS):
        watch.check()
        lines = kernels.format_rows(rows[start : start + BLOCK_TEXTS], ",", threads)
        answer += b"," if start else b""
        answer += b"[%b]" % b"],[".join(lines)
    answer += tail
    return memoryview(answer)
