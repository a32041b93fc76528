"""The twin of the native search for near-duplicates: the same rule, row by row."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
#: Float32 rounding of rows of length one.
ROUNDING = 1e-6
BLOCK = 256


def nearest_cells(
    rows: NDArray[np.float32], centroids: NDArray[np.float32], probes: int, threads: int
) -> NDArray[np.int32]:
    """The cells nearest to each row (rows, probes), the nearest first, of equal ones the first."""
    codes, scales = _coded(centroids)
    cells = np.empty((len(rows), probes), np.int32)
    for at in range(0, len(rows), BLOCK):
        dots = _coded(rows[at : at + BLOCK])[0] @ codes.T
        near = dots.astype(np.float32) * scales
        cells[at : at + BLOCK] = np.argsort(-near, axis=1, kind="stable")[:, :probes]
    return cells


def _coded(rows: NDArray[np.float32]) -> tuple[Float, NDArray[np.float32]]:
    """8-bit codes (rows, dim), as floats, and scales (rows,)."""
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
