"""Vectors of a segment: how they are stored, and the cells that let a query skip most rows of a large segment.

Cells group the rows of a large segment by their nearest centroid. Their vectors are stored a second time, in the order of the
cells, rotated to their principal axes, cut to two fifths of the dimensions, and quantized to int8. A query reads the cells
nearest to it sequentially to propose candidates, which are then compared as they are stored. Results are the same for any
number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil, isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.encoder.models import unit_rows
from noppa.errors import FileError, ParameterError
from noppa.io import schema
from noppa.methods.k_means import interrupt
from noppa.parameters import whole
from noppa.threads import thread_count

#: The NumPy type for each way to store vectors.
DTYPES = {"float32": np.float32, "float16": np.float16, "int8": np.int8}
LARGEST_CODE = 127
#: Rows between two checks for an interrupt: some tens of milliseconds at most, and one block for most indexes.
BLOCK = 1 << 17

#: Segments with more rows have cells; the others are compared row by row.
EXACT = 1 << 18
#: The share of cells that a query is compared with, their least number, and the surplus of candidates: bench/index.py chose them.
SHARE, FEWEST, MORE = 0.25, 16, 1200
#: The share of the dimensions that cells store, rounded up to a multiple of STEP.
KEPT, STEP = 0.4, 32
#: k-means: sampled rows per cell, and rounds.
SAMPLE, ROUNDS = 32, 8
#: Rows that are assigned to cells at a time.
ASSIGNED = 1 << 16
#: The arrays that cells add to a segment.
CELL_ARRAYS = {
    "?projection": "f4 dim short",
    "?centroids": "f4 cells short",
    "?cell_bounds": "i8 cells+1",
    "?cell_rows": "i4 rows <rows",
    "?cell_vectors": "i1 rows short",
    "?cell_scales": "f4 rows positive",
}

Vectors = NDArray[np.float32]


def row_blocks(count: int) -> Iterator[tuple[int, int]]:
    """Yield (start, stop) of consecutive blocks of rows; before each, a deadline, a lost client or Ctrl-C may stop the work."""
    for start in range(0, count, BLOCK):
        interrupt.get()()
        yield start, min(start + BLOCK, count)


def to_stored(rows: Vectors, dtype: str) -> dict[str, NDArray[Any]]:
    """Return the arrays `vectors` (rows, dim) and, for int8, `scales` (rows,)."""
    if dtype != "int8":
        return {"vectors": rows.astype(DTYPES[dtype])}
    scales = np.abs(rows).max(axis=1, initial=0) / LARGEST_CODE
    scales = np.where(scales > 0, scales, 1).astype(np.float32)
    return {"vectors": np.rint(rows / scales[:, None]).astype(np.int8), "scales": scales}


def float_rows(
    matrix: NDArray[Any], scales: NDArray[np.float32] | None, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return some rows of stored vectors as float64."""
    chosen = matrix[rows].astype(np.float64)
    return chosen if scales is None else chosen * scales[rows, None]


def nearest(
    rows: NDArray[Any], queries: NDArray[Any], n: int, threads: int | None = None
) -> tuple[NDArray[np.int64], Vectors]:
    """Return the numbers and cosines (queries, up to n) of the rows nearest to each query, nearest first.

    >>> nearest(np.eye(2, dtype=np.float32), np.array([[1, 0.1]]), 1)[0]
    array([[0]])
    """
    compared, wanted = (unit_rows(np.asarray(array, np.float32)) for array in (rows, queries))
    if wanted.ndim != 2 or compared.ndim != 2 or wanted.shape[1] != compared.shape[1]:
        raise ParameterError(
            f"queries have the shape {wanted.shape}, which does not match rows of {compared.shape}"
        )
    count = whole(n, "n", 1)
    if not len(compared):
        return np.empty((len(wanted), 0), np.int64), np.empty((len(wanted), 0), np.float32)
    table = kernels.Table(np.ascontiguousarray(compared), None)
    return kernels.nearest_rows(table, None, None, None, wanted, count, thread_count(threads))


def spherical_k_means(sample: Vectors, centroids: Vectors, rounds: int) -> Vectors:
    """Improve unit centroids (cells, dim) over a sample (rows, dim); a centroid that loses all its rows stays where it is."""
    centroids = centroids.copy()
    for _ in range(rounds):
        # The kernel instead of BLAS, whose rounding may depend on the number of threads.
        cells = kernels.nearest_cells(sample, centroids, 1, thread_count())[:, 0]
        order = np.argsort(cells, kind="stable")
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        sums = np.add.reduceat(sample[order], starts, axis=0, dtype=np.float64)
        centroids[cells[order][starts]] = unit_rows(sums)
    return centroids


def build_cells(stored: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of `CELL_ARRAYS` for stored vectors."""
    matrix, scales = stored["vectors"], stored.get("scales")
    count = 2 * isqrt(len(matrix))
    places = np.linspace(0, len(matrix) - 1, min(len(matrix), SAMPLE * count)).astype(np.int64)
    sample = float_rows(matrix, scales, places)
    projection = _projection(sample)
    points = (sample @ projection).astype(np.float32)
    seeds = unit_rows(points[:: len(points) // count][:count])
    centroids = spherical_k_means(points, seeds, ROUNDS)
    codes, labels = [], []
    for start in range(0, len(matrix), ASSIGNED):
        rows = np.arange(start, min(start + ASSIGNED, len(matrix)))
        short = (float_rows(matrix, scales, rows).astype(np.float32) @ projection).astype("f4")
        codes.append(to_stored(short, "int8"))
        labels.append(kernels.nearest_cells(short, centroids, 1, thread_count())[:, 0])
    cells = np.concatenate(labels)
    order = np.argsort(cells, kind="stable")
    return {
        "projection": projection,
        "centroids": centroids,
        "cell_bounds": np.searchsorted(cells[order], np.arange(count + 1)).astype(np.int64),
        "cell_rows": order.astype(np.int32),
        "cell_vectors": np.concatenate([block["vectors"] for block in codes])[order],
        "cell_scales": np.concatenate([block["scales"] for block in codes])[order],
    }


def _projection(sample: NDArray[np.float64]) -> Vectors:
    """Return the directions (dim, short) in which the rows of a sample are longest."""
    dim = sample.shape[1]
    short = min(dim, STEP * ceil(KEPT * dim / STEP))
    directions = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(directions[:, ::-1][:, :short], np.float32)


def check_cells(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Raise if a part of the cells is missing, or if their bounds leave the rows."""
    present = [name.lstrip("?") in arrays for name in CELL_ARRAYS]
    if any(present) and not all(present):
        raise FileError(
            f"{file.parent} is damaged: a part of its cells is missing", "copy it again"
        )
    if all(present):
        schema.check_bounds(arrays["cell_bounds"], len(arrays["cell_rows"]), file)


class Cells:
    """The cells of one segment."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._projection = arrays["projection"]
        self._centroids = kernels.Table(arrays["centroids"], None)
        self._codes = arrays["cell_vectors"], arrays["cell_scales"], arrays["cell_rows"]
        self._bounds = arrays["cell_bounds"]
        self._probes = max(FEWEST, ceil(SHARE * len(arrays["centroids"])))

    def candidates(
        self, query: Vectors, alive: NDArray[np.bool_] | None, count: int, threads: int
    ) -> NDArray[np.int32]:
        """Return somewhat more than `count` rows near a query (dim,), in ascending order."""
        # einsum instead of BLAS, whose rounding may depend on the number of threads.
        short = np.einsum("d,ds->s", query, self._projection, dtype=np.float64).astype(np.float32)
        cells, _ = kernels.nearest_rows(
            self._centroids, None, None, None, short[None], self._probes, 1
        )
        cells = np.sort(cells[0])
        allowed = None if alive is None else alive.view(np.uint8)
        bounds = self._bounds[cells], self._bounds[cells + 1]
        rows = kernels.nearest_codes(*self._codes, allowed, *bounds, short, count + MORE, threads)
        return np.sort(rows)
