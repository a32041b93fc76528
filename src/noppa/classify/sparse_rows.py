"""Rows of mostly zeros."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Row r has `values` (nonzeros,) at the columns `ids` (nonzeros,), from offsets[r] to offsets[r + 1]; `width` columns."""

    values: NDArray[np.float32]
    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    width: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def row_numbers(self) -> NDArray[np.int64]:
        """The row of each value, (nonzeros,)."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def transposed(self) -> SparseRows:
        order = np.argsort(self.ids, kind="stable")
        counts = np.bincount(self.ids, minlength=self.width)
        offsets = np.concatenate([[0], np.cumsum(counts)])
        rows = self.row_numbers[order].astype(np.int32)
        return SparseRows(self.values[order], rows, offsets, len(self))

    @property
    def pattern(self) -> SparseRows:
        """The same places with the value 1."""
        return SparseRows(np.ones_like(self.values), self.ids, self.offsets, self.width)

    def times(self, matrix: NDArray[np.float32], threads: int) -> NDArray[np.float32]:
        """The product with a matrix (width, columns), (rows, columns)."""
        table = np.ascontiguousarray(matrix, np.float32)
        product = kernels.sparse_product(self.values, self.ids, self.offsets, table, threads)
        return np.asarray(product, np.float32)

    def row_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums (rows,) of one number a nonzero, each row in its own order, so that they do not depend on other rows."""
        return np.asarray(np.bincount(self.row_numbers, values, len(self)), np.float64)

    def mean_squares(self) -> NDArray[np.float64]:
        """Of each column, (width,)."""
        squares = self.values.astype(np.float64) ** 2
        return np.bincount(self.ids, squares, self.width) / max(len(self), 1)


def sparse_rows(
    rows: NDArray[np.int64],
    ids: NDArray[np.int64],
    values: NDArray[np.float64],
    shape: tuple[int, int],
) -> SparseRows:
    """From triplets in any order; those of one place are added up."""
    count, width = shape
    keys, places = np.unique(rows * width + ids, return_inverse=True)
    sums = np.bincount(places, values, len(keys)).astype(np.float32)
    offsets = np.searchsorted(keys, np.arange(count + 1) * width)
    return SparseRows(
        sums, (keys % max(width, 1)).astype(np.int32), offsets.astype(np.int64), width
    )
