"""Cells: the rows of a large segment by their nearest centroid, so that a query is compared with those of a few cells.

Made by k-means over a sample. The vectors lie a second time in the order of the cells, as int8: read in a row, they propose
candidates, which are then compared as they are stored. Results are the same for any number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.io import schema
from noppa.kernels.backend import kernels
from noppa.search.stored_vectors import Vectors, float_rows, stored, unit
from noppa.threads import thread_count

#: A segment of more rows has cells; the others are compared row by row.
EXACT = 1 << 18
#: Of the cells, how many a query is compared with, and how many candidates more than are asked for.
SHARE, FEWEST, MORE = 0.2, 8, 40
#: k-means: points a cell, and how often the centroids move.
SAMPLE, ROUNDS = 64, 8
BLOCK = 1 << 16
#: Arrays of a segment.
ARRAYS = {
    "?centroids": "f4 cells dim",
    "?cell_bounds": "i8 cells+1",
    "?cell_rows": "i4 rows <rows",
    "?cell_vectors": "i1 rows dim",
    "?cell_scales": "f4 rows positive",
}


def made_arrays(vectors: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """The arrays of `ARRAYS` for the vectors of a segment."""
    matrix, scales = vectors["vectors"], vectors.get("scales")
    count = isqrt(len(matrix))
    places = np.linspace(0, len(matrix) - 1, min(len(matrix), SAMPLE * count)).astype(np.int64)
    sample = float_rows(matrix, scales, places).astype(np.float32)
    centroids = _centroids(sample, sample[:: len(sample) // count][:count].copy())
    starts = range(0, len(matrix), BLOCK)
    blocks = [np.arange(start, min(start + BLOCK, len(matrix))) for start in starts]
    labels = np.concatenate(
        [_nearest(float_rows(matrix, scales, block), centroids) for block in blocks]
    )
    order = np.argsort(labels, kind="stable")
    rows = [float_rows(matrix, scales, order[block]).astype(np.float32) for block in blocks]
    codes = [stored(some, "int8") for some in rows]
    return {
        "centroids": centroids,
        "cell_bounds": np.searchsorted(labels[order], np.arange(count + 1)).astype(np.int64),
        "cell_rows": order.astype(np.int32),
        "cell_vectors": np.concatenate([some["vectors"] for some in codes]),
        "cell_scales": np.concatenate([some["scales"] for some in codes]),
    }


def _centroids(sample: Vectors, centroids: Vectors) -> Vectors:
    """Centroids of length one; one that lost all its points stays where it is."""
    for _ in range(ROUNDS):
        labels = _nearest(sample, centroids)
        sums = np.zeros(centroids.shape)
        np.add.at(sums, labels, sample)
        filled = np.bincount(labels, minlength=len(centroids)) > 0
        centroids = np.where(filled[:, None], unit(sums), centroids).astype(np.float32)
    return centroids


def _nearest(rows: NDArray[Any], centroids: Vectors) -> NDArray[np.int64]:
    table, queries = kernels.Table(centroids, None), rows.astype(np.float32)
    return kernels.nearest_rows(table, None, None, None, queries, 1, thread_count())[0][:, 0]


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
        self._centroids = kernels.Table(arrays["centroids"], None)
        self._vectors = kernels.Table(arrays["cell_vectors"], arrays["cell_scales"])
        self._rows, self._bounds = arrays["cell_rows"], arrays["cell_bounds"]
        self._count = max(FEWEST, ceil(SHARE * len(arrays["centroids"])))

    def candidates(
        self, query: Vectors, alive: NDArray[np.bool_] | None, count: int, threads: int
    ) -> NDArray[np.int32]:
        """Some more than `count` rows that are near to a query (dim,)."""
        cells, _ = kernels.nearest_rows(
            self._centroids, None, None, None, query[None], self._count, 1
        )
        pieces = [np.arange(*self._bounds[at : at + 2], dtype=np.int32) for at in cells[0]]
        places = np.concatenate(pieces)
        if alive is not None:
            places = places[alive[self._rows[places]]]
        found, _ = kernels.nearest_rows(
            self._vectors, places, None, None, query[None], count + MORE, threads
        )
        return np.asarray(self._rows[found[0]])
