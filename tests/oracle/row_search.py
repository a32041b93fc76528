"""Search over stored rows in NumPy: the twin of src/native/search."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Rows that are compared at a time.
BLOCK = 1 << 14

Scores = NDArray[np.float32]
Nearest = tuple[NDArray[np.int64], Scores]


def nearest_rows(
    table: Any,
    rows: NDArray[np.int32] | None,
    allowed: NDArray[np.uint8] | None,
    bonus: Scores | None,
    queries: Scores,
    count: int,
    threads: int,
) -> Nearest:
    """The rows of a `Table` (rows, dim) with the largest dot product with each query (queries, dim), plus `bonus`.

    Gives numbers and scores (queries, up to `count`), largest first, of equal ones the smaller number.
    rows: which rows are compared, each once; all where None. allowed: 0 for a row that is passed over, (rows,).
    bonus: what is added to the dot products, (queries, rows).
    """
    compared = np.arange(len(table.matrix)) if rows is None else rows.astype(np.int64)
    if allowed is not None:
        compared = compared[allowed[compared] > 0]
    numbers = np.empty((len(queries), 0), np.int64)
    scores = np.empty((len(queries), 0), np.float32)
    for start in range(0, len(compared), BLOCK):
        block = compared[start : start + BLOCK]
        dots = (queries @ table.rows(block).T).astype(np.float32)
        if bonus is not None:
            dots += bonus[:, block]
        every = np.broadcast_to(block, dots.shape)
        numbers, scores = best(np.hstack([numbers, every]), np.hstack([scores, dots]), count)
    return numbers, scores


def nearest_codes(
    codes: NDArray[np.int8],
    scales: Scores,
    rows: NDArray[np.int32],
    allowed: NDArray[np.uint8] | None,
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
    query: Scores,
    count: int,
    threads: int,
) -> NDArray[np.int32]:
    """The rows (up to `count`,) with the largest dot products of their 8-bit codes with that of a query (dim,), largest first.

    codes (places, dim) and scales (places,) belong to the rows (places,); from each start up to its stop they are compared.
    allowed: 0 for a row that is passed over, (places,).
    """
    pieces = [np.arange(*bounds) for bounds in zip(starts, stops, strict=True)]
    places = np.concatenate([np.empty(0, np.int64), *pieces])
    if allowed is not None:
        places = places[allowed[rows[places]] > 0]
    most = np.abs(query).max(initial=0)
    code = np.rint(query / most * np.float32(127)) if most > 0 else np.zeros_like(query)
    dots = codes[places].astype(np.float64) @ code.astype(np.float64)
    scores = dots.astype(np.float32) * scales[places]
    found, _ = best(rows[places].astype(np.int64)[None], scores[None], count)
    return np.asarray(found[0], np.int32)


def best(numbers: NDArray[np.int64], scores: Scores, count: int) -> Nearest:
    """Return the `count` largest scores of each row, largest first; of equal scores the smaller number comes first."""
    order = np.lexsort((numbers, -scores), axis=1)[:, :count]
    return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)


def add_term(
    scores: Scores,
    rows: NDArray[np.int32],
    counts: NDArray[np.uint16],
    lengths: NDArray[np.uint32],
    weight: float,
    flat: float,
    sloped: float,
    threads: int,
) -> None:
    """Add to the `scores` (rows,) of the rows that hold a term `counts` times: weight · c / (c + flat + sloped · length)."""
    times = counts.astype(np.float32)
    norms = np.float32(flat) + np.float32(sloped) * lengths[rows].astype(np.float32)
    scores[rows] += np.float32(weight) * times / (times + norms)
