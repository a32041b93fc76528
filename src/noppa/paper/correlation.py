"""Cosines of pairs against human scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]


def cosines(left: ArrayLike, right: ArrayLike) -> Float:
    """Cosine of each row of `left` with its row of `right`, (n,); 0 where one of them is all zeros."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.einsum("nd,nd->n", a, b) / np.where(lengths > 0, lengths, 1))


def pearson(left: ArrayLike, right: ArrayLike) -> float:
    """Pearson's correlation; 0 where one side is constant."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    a, b = a - a.mean(), b - b.mean()
    spread = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / spread) if spread > 0 else 0.0


def spearman(left: ArrayLike, right: ArrayLike) -> float:
    """Spearman's correlation: Pearson's of the ranks."""
    return pearson(ranks(left), ranks(right))


def ranks(values: ArrayLike) -> Float:
    """Rank of each value, (n,); ties share the mean of their ranks."""
    _, code, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[code])
