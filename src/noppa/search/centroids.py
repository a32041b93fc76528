"""Spherical k-means: unit vectors in the middle of rows that lie near each other."""

from __future__ import annotations

import numpy as np

from noppa import _native as kernels
from noppa.search.stored_vectors import Vectors, unit
from noppa.threads import thread_count


def moved_centroids(sample: Vectors, centroids: Vectors, rounds: int) -> Vectors:
    """Centroids (cells, dim) after so many rounds over a sample (rows, dim); one that lost all its rows stays where it is."""
    centroids = centroids.copy()
    for _ in range(rounds):
        # By the kernel, because BLAS may round differently with another number of threads.
        cells = kernels.nearest_cells(sample, centroids, 1, thread_count())[:, 0]
        order = np.argsort(cells, kind="stable")
        starts = np.flatnonzero(np.diff(cells[order], prepend=-1))
        sums = np.add.reduceat(sample[order], starts, axis=0, dtype=np.float64)
        centroids[cells[order][starts]] = unit(sums)
    return centroids
