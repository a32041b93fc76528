"""Cells: the rows of a large segment by their nearest centroid, so that a query is compared with those of a few cells.

The vectors lie a second time in the order of the cells, turned so that the dimensions in which they differ most come first, of
these two fifths, as int8. Read in a row, they propose candidates, which are then compared as they are stored. Results are the
same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io import schema
from noppa.search.centroids import moved_centroids
from noppa.search.stored_vectors import Vectors, float_rows, stored, unit
from noppa.threads import thread_count

#: A segment of more rows has cells; the others are compared row by row.
EXACT = 1 << 18
#: Of the cells, how many a query is compared with, and how many candidates more than are asked for: bench/index.py chose both.
SHARE, FEWEST, MORE = 0.25, 16, 1200
#: Of the dimensions, which share is compared in cells, in steps of how many.
KEPT, STEP = 0.4, 32
#: k-means: rows a cell, and how often the centroids move.
SAMPLE, ROUNDS = 32, 8
BLOCK = 1 << 16
#: Arrays of a segment.
ARRAYS = {
    "?projection": "f4 dim short",
    "?centroids": "f4 cells short",
    "?cell_bounds": "i8 cells+1",
    "?cell_rows": "i4 rows <rows",
    "?cell_vectors": "i1 rows short",
    "?cell_scales": "f4 rows positive",
}


def made_arrays(vectors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of `ARRAYS` for the vectors of a segment."""
    matrix, scales = vectors["vectors"], vectors.get("scales")
    count = 2 * isqrt(len(matrix))
    places = np.linspace(0, len(matrix) - 1, min(len(matrix), SAMPLE * count)).astype(np.int64)
    sample = float_rows(matrix, scales, places)
    projection = _projection(sample)
    points = (sample @ projection).astype(np.float32)
    centroids = moved_centroids(points, unit(points[:: len(points) // count][:count]), ROUNDS)
    codes, labels = [], []
    for start in range(0, len(matrix), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(matrix)))
        short = (float_rows(matrix, scales, rows).astype(np.float32) @ projection).astype("f4")
        codes.append(stored(short, "int8"))
        labels.append(kernels.nearest_cells(short, centroids, 1, thread_count())[:, 0])
    cells = np.concatenate(labels)
    order = np.argsort(cells, kind="stable")
    return {
        "projection": projection,
        "centroids": centroids,
        "cell_bounds": np.searchsorted(cells[order], np.arange(count + 1)).astype(np.int64),
        "cell_rows": order.astype(np.int32),
        "cell_vectors": np.concatenate([some["vectors"] for some in codes])[order],
        "cell_scales": np.concatenate([some["scales"] for some in codes])[order],
    }


def _projection(sample: NDArray[np.float64]) -> Vectors:
    """The directions (dim, short) in which the rows of a sample are longest."""
    dim = sample.shape[1]
    short = min(dim, STEP * ceil(KEPT * dim / STEP))
    directions = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(directions[:, ::-1][:, :short], np.float32)


def check_arrays(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Refuse cells of which a part is missing, or whose bounds leave their rows."""
    there = [name.lstrip("?") in arrays for name in ARRAYS]
    if any(there) and not all(there):
        raise FileError(f"{file.parent} is damaged: a part of its cells is missing; copy it again")
    if all(there):
        schema.check_bounds(arrays["cell_bounds"], len(arrays["cell_rows"]), file)


class Cells:
    """The cells of one segment."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._projection = arrays["projection"]
        self._centroids = kernels.Table(arrays["centroids"], None)
        self._coded = arrays["cell_vectors"], arrays["cell_scales"], arrays["cell_rows"]
        self._bounds = arrays["cell_bounds"]
        self._count = max(FEWEST, ceil(SHARE * len(arrays["centroids"])))

    def candidates(
        self, query: Vectors, alive: NDArray[np.bool_] | None, count: int, threads: int
    ) -> NDArray[np.int32]:
        """Some more than `count` rows that are near to a query (dim,), in their order."""
        # einsum and not BLAS, which may round differently with another number of threads
        short = np.einsum("d,ds->s", query, self._projection, dtype=np.float64).astype(np.float32)
        cells, _ = kernels.nearest_rows(
            self._centroids, None, None, None, short[None], self._count, 1
        )
        places = np.sort(cells[0])
        allowed = None if alive is None else alive.view(np.uint8)
        starts, stops = self._bounds[places], self._bounds[places + 1]
        found = kernels.nearest_codes(
            *self._coded, allowed, starts, stops, short, count + MORE, threads
        )
        return np.sort(found)
