"""Find rows whose cosine with an earlier row reaches a threshold: all pairs up to `EXACT` rows, cells of near rows beyond."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.search.vectors import spherical_k_means
from noppa.threads import thread_count

#: Up to this many rows, each row is compared with all kept rows before it.
EXACT = 50_000
#: The number of cells a row is compared with, and the number of cells a kept row is in; docs/dedupe.md has the recall.
PROBES, HOMES = 12, 2
#: The largest dimension for which products of 8-bit codes add up without overflow in 32 bits.
MOST_DIMENSIONS = 1 << 16
#: k-means: sampled rows per cell, and rounds.
SAMPLE, ROUNDS = 40, 6
#: Rows between two calls of `progress`.
STEP = 1 << 14

Vectors = NDArray[np.float32]
#: Called with the name of the step, the number of finished rows, and the number of all rows.
Progress = Callable[[str, int, int], None]


class NearDuplicates:
    """Near-duplicates among vectors (rows, dim) of length 1 or 0; the first `reference` rows are always kept."""

    def __init__(
        self, vectors: Vectors, reference: int = 0, exact: int = EXACT, probes: int = PROBES
    ) -> None:
        if vectors.shape[1] > MOST_DIMENSIONS:
            raise ParameterError(
                f"vectors of {vectors.shape[1]} dimensions cannot be compared, at most {MOST_DIMENSIONS}",
                "use a model with fewer dimensions",
            )
        self.vectors, self.reference = vectors, reference
        self.cells = 1 if len(vectors) <= exact else int(2 * len(vectors) ** 0.5)
        self.probes, self.homes = min(probes, self.cells), min(HOMES, probes, self.cells)

    def leaders(
        self, threshold: float, threads: int | None = None, progress: Progress | None = None
    ) -> tuple[NDArray[np.int64], Vectors]:
        """Return, for each row, the most similar kept row before it (-1 if the row is kept), and their cosine.

        Ties go to the first row. The result is the same for any number of threads.
        """
        count, rows = thread_count(threads), len(self.vectors)
        leaders, cosines = np.empty(rows, np.int64), np.empty(rows, np.float32)
        search = kernels.Leaders(
            self.vectors, self.centroids, self.probes, self.homes, threshold, self.reference
        )
        for start in range(0, rows, STEP):
            if progress is not None:
                progress("compare", start, rows)
            block = slice(start, start + STEP)
            leaders[block], cosines[block] = search.advance(STEP, count)
        return leaders, cosines

    @cached_property
    def centroids(self) -> Vectors:
        """The centroids of the cells, unit vectors (cells, dim), learnt from a sample of the rows."""
        rows = self.vectors
        if self.cells == 1:
            return np.ones((1, rows.shape[1]), np.float32)
        size = min(len(rows), SAMPLE * self.cells)
        sample = np.ascontiguousarray(rows[np.linspace(0, len(rows) - 1, size).astype(np.int64)])
        chosen = np.random.default_rng(0).permutation(size)[: self.cells]
        return spherical_k_means(sample, sample[np.sort(chosen)], ROUNDS)
