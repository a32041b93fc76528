"""The fitted model: columns of features to logits, the same bytes for a text in any batch and with any number of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.classify.sparse_rows import SparseRows

Array = NDArray[np.float32]
Float = NDArray[np.float64]

#: Products that are in memory at a time.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Weights of the dense columns (width, columns), of the n-grams (n-grams, columns), and biases (columns,)."""

    dense: Array
    ngrams: Array
    biases: Float

    def logits(self, dense: Sequence[Array], sparse: SparseRows) -> Float:
        """(n, columns), each row summed in an order that depends on nothing but the model."""
        logits = np.tile(self.biases, (len(sparse), 1))
        start = 0
        for block in dense:
            logits += _row_products(block, self.dense[start : start + block.shape[1]])
            start += block.shape[1]
        for column in range(logits.shape[1]):
            parts = sparse.values.astype(np.float64) * self.ngrams[sparse.ids, column]
            logits[:, column] += sparse.row_sums(parts)
        return logits


def _row_products(rows: Array, weights: Array) -> Float:
    """rows (n, width) @ weights (width, columns) without BLAS, whose sums depend on the number of rows."""
    wide = np.ascontiguousarray(weights.T, np.float64)
    out = np.empty((len(rows), len(wide)))
    size = max(1, BLOCK // max(wide.size, 1))
    for start in range(0, len(rows), size):
        # The sum runs over the last axis, which lies contiguous in memory: its order depends on the width alone.
        block = rows[start : start + size, None].astype(np.float64)
        out[start : start + size] = (block * wide).sum(axis=2)
    return out
