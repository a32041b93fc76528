"""Rows whose cosine with an earlier row reaches a threshold: every pair up to `EXACT` rows, cells of near rows beyond."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.search.centroids import moved_centroids
from noppa.threads import thread_count

#: Up to this many rows each is compared with all kept ones before it.
EXACT = 50_000
#: With how many cells a row is compared, and in how many of them a kept row lies; docs/dedupe.md has the recall of this.
PROBES, HOMES = 12, 2
#: Products of so many 8-bit codes still add up in 32 bits.
MOST_DIMENSIONS = 1 << 16
#: Rows a cell that the centroids are learnt from, and rounds.
SAMPLE, ROUNDS = 40, 6
#: Rows between two calls of `progress`.
STEP = 1 << 14

Vectors = NDArray[np.float32]
#: Called with what is done, and how many of how many.
Progress = Callable[[str, int, int], None]


class NearDuplicates:
    """Vectors (rows, dim), of length 1 or 0, of which the first `reference` rows are kept in any case."""

    def __init__(
        self, vectors: Vectors, reference: int = 0, exact: int = EXACT, probes: int = PROBES
    ) -> None:
        if vectors.shape[1] > MOST_DIMENSIONS:
            raise ParameterError(
                f"vectors of {vectors.shape[1]} dimensions cannot be compared here, only up to {MOST_DIMENSIONS}: "
                "use an encoder of fewer"
            )
        self.vectors, self.reference = vectors, reference
        self.cells = 1 if len(vectors) <= exact else int(2 * len(vectors) ** 0.5)
        self.probes, self.homes = min(probes, self.cells), min(HOMES, probes, self.cells)

    def leaders(
        self, threshold: float, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """For each row the most similar kept row before it, of equal ones the first, or -1 where the row is kept itself;
        and their cosines. The same for any number of threads.
        """
        count, rows = thread_count(threads), len(self.vectors)
        leaders, cosines = np.empty(rows, np.int64), np.empty(rows, np.float32)
        search = kernels.Leaders(
            self.vectors, self.centroids, self.probes, self.homes, threshold, self.reference
        )
        for at in range(0, rows, STEP):
            if progress is not None:
                progress("compare", at, rows)
            leaders[at : at + STEP], cosines[at : at + STEP] = search.advance(STEP, count)
        return leaders, cosines

    @cached_property
    def centroids(self) -> Vectors:
        """Unit vectors (cells, dim) in the middle of rows that lie near each other: spherical k-means over a sample."""
        rows = self.vectors
        if self.cells == 1:
            return np.ones((1, rows.shape[1]), np.float32)
        size = min(len(rows), SAMPLE * self.cells)
        sample = np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)])
        chosen = np.random.default_rng(0).permutation(size)[: self.cells]
        return moved_centroids(sample, sample[np.sort(chosen)], ROUNDS)
