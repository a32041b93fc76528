"""Word vectors, refinement, search and near-duplicates in float64 NumPy, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.constants import FOUR_BIT_LEVELS, LEVEL_UNIT

Float = NDArray[np.float64]
MOST = float(np.finfo(np.float32).max)


class Table:
    """Word vectors as they are stored; rows come out as float64."""

    def __init__(
        self,
        matrix: NDArray[Any],
        scales: NDArray[Any] | None,
        blocks: Sequence[int] = (),
        bits: Sequence[int] = (),
    ) -> None:
        self.matrix, self.bits = matrix, list(bits)
        self.blocks = list(blocks) or [matrix.shape[1]]
        self.scales = None if scales is None else scales.reshape(len(matrix), len(self.blocks))

    def rows(self, ids: NDArray[np.int32]) -> Float:
        found = np.zeros((len(ids), sum(self.blocks)))
        real = ids < len(self.matrix)
        if self.bits and self.scales is not None:
            found[real] = self._levels(ids[real]) / LEVEL_UNIT
        else:
            found[real] = self.matrix[ids[real]]
        if self.scales is not None:
            found[real] *= np.repeat(self.scales[ids[real]], self.blocks, axis=1)
        return found

    def _levels(self, ids: NDArray[np.int32]) -> Float:
        """Return the levels of packed columns one by one: 8 bits are a byte, 4 bits half of one, the lower half first."""
        columns, byte = [], 0
        for width, depth in zip(self.blocks, self.bits, strict=True):
            for column in range(width):
                stored = self.matrix[ids, byte + column * depth // 8]
                nibble = stored >> 4 * (column % 2) & 15
                columns.append(
                    stored.view(np.int8) if depth == 8 else np.array(FOUR_BIT_LEVELS)[nibble]
                )
            byte += -(-width * depth // 8)
        return np.array(columns, float).T


class Steps:
    """Hold the refinement of pooled rows as tuples: see `noppa.refine`."""

    def __init__(self, steps: Sequence[tuple[Any, ...]]) -> None:
        self.steps = list(steps)


def apply_steps(
    pooled: NDArray[Any], known: NDArray[np.int32] | None, steps: Steps, threads: int
) -> Float:
    """Apply every step to each row by itself, so that a row gets the same bytes in any batch."""
    if not steps.steps:
        return np.asarray(pooled, np.float64)
    rows = [_through(row, steps.steps) for row in np.asarray(pooled, np.float64)]
    last = steps.steps[-1]
    width = last[1] if last[0] == "normalise" else last[1].shape[1]
    out = np.array(rows).reshape(len(rows), width)
    if known is not None:
        out[known == 0] = 0
    return out


def sparse_product(
    values: NDArray[np.float32],
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    matrix: NDArray[np.float32],
    threads: int,
) -> Float:
    """Multiply sparse rows by a matrix: row r has `values` at the columns `ids` from offsets[r] to offsets[r + 1]."""
    exact = np.asarray(values, np.float64)
    products = [exact[a:b] @ matrix[ids[a:b]] for a, b in pairwise(offsets)]
    return np.array(products).reshape(len(offsets) - 1, matrix.shape[1])


def saturated(values: Float) -> Float:
    """Clip to the range of float32, in which the native kernels work."""
    return np.clip(values, -MOST, MOST)


def _through(row: Float, steps: Sequence[tuple[Any, ...]]) -> Float:
    for kind, *arrays in steps:
        if kind == "remove":
            left, right, bias = (np.asarray(array, np.float64) for array in arrays)
            row = saturated(row - saturated(left @ row - bias) @ right)
        elif kind == "map":
            matrix, bias = (np.asarray(array, np.float64) for array in arrays)
            row = saturated(row @ matrix + bias)
        else:
            length = np.sqrt(row @ row)
            row = row / length if length > 0 else np.zeros_like(row)
    return row


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
    """Return the rows with the largest dot product with each query (queries, dim), and the products.

    Both are (queries, up to `count`), largest first; of equal products the smaller row comes first.

    Args:
        rows: the rows to compare, all if None.
        allowed: 0 for a row to leave out, (rows,).
        bonus: added to the dot products, (queries, rows).
    """
    compared = np.arange(len(table.matrix)) if rows is None else rows.astype(np.int64)
    if allowed is not None:
        compared = compared[allowed[compared] > 0]
    dots = (queries @ table.rows(compared).T).astype(np.float32)
    if bonus is not None:
        dots += bonus[:, compared]
    return best(np.broadcast_to(compared, dots.shape), dots, count)


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
    """Return the rows (up to `count`,) whose 8-bit codes have the largest dot products with that of a query (dim,).

    Place p holds codes[p] with scales[p] and belongs to rows[p]; each cell is the places from a start to its stop.
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


#: Float32 rounding of rows of length one.
ROUNDING = 1e-6


def nearest_cells(
    rows: NDArray[np.float32], centroids: NDArray[np.float32], probes: int, threads: int
) -> NDArray[np.int32]:
    """Return the cells nearest to each row (rows, probes), nearest first; of equal cells the first."""
    codes, scales = _coded(centroids)
    near = (_coded(rows)[0] @ codes.T).astype(np.float32) * scales
    return np.argsort(-near, axis=1, kind="stable")[:, :probes].astype(np.int32)


def _coded(rows: NDArray[np.float32]) -> tuple[Float, NDArray[np.float32]]:
    """Return 8-bit codes (rows, dim), as floats, and scales (rows,)."""
    most = np.abs(np.asarray(rows, np.float32)).max(axis=1, initial=0)
    levels = np.rint(rows / np.where(most > 0, most, 1)[:, None] * np.float32(127))
    return levels.astype(float), most / np.float32(127)


class Leaders:
    """Decides rows in their order: each repeats the most similar kept row that reaches the threshold, or is kept."""

    def __init__(
        self,
        vectors: NDArray[np.float32],
        centroids: NDArray[np.float32],
        probes: int,
        homes: int,
        threshold: float,
        reference: int = 0,
    ) -> None:
        self.vectors = np.asarray(vectors, float)
        self.cells = nearest_cells(vectors, centroids, probes, 1)
        self.threshold = np.float32(threshold) - np.float32(ROUNDING)
        self.homes, self.reference = homes, reference
        self.kept: list[list[int]] = [[] for _ in centroids]
        self.decided = 0

    def advance(self, count: int, threads: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The leader of each of the next rows, -1 for a kept one, and their cosines."""
        stop = min(self.decided + count, len(self.vectors))
        found = [self._decide(row) for row in range(self.decided, stop)]
        self.decided = stop
        return (
            np.array([leader for leader, _ in found], np.int64),
            np.array([cosine for _, cosine in found], np.float32),
        )

    def _decide(self, row: int) -> tuple[int, float]:
        numbers = np.array(sorted({n for cell in self.cells[row] for n in self.kept[cell]}), int)
        cosines = np.minimum(self.vectors[numbers] @ self.vectors[row], 1)
        if row >= self.reference and len(cosines) and cosines.max() >= self.threshold:
            best = int(cosines.argmax())
            return int(numbers[best]), float(cosines[best])
        for cell in self.cells[row, : self.homes]:
            self.kept[cell].append(row)
        return -1, 0.0
