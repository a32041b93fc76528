"""`Moments`: what refinements are fitted from; they add up over sentences, files and machines."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.display import dataclass_repr
from noppa.errors import ParameterError
from noppa.parameters import numbers

Float = NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Count, sum (dim,) and sum of outer products (dim, dim) of vectors, in float64. Adding two merges them."""

    __repr__ = dataclass_repr

    count: int
    total: Float
    products: Float

    @classmethod
    def empty(cls, dim: int) -> Moments:
        """Moments of no vector yet."""
        return cls(0, np.zeros(dim), np.zeros((dim, dim)))

    @classmethod
    def of(cls, rows: ArrayLike) -> Moments:
        """Moments of rows (count, dim)."""
        block = np.asarray(numbers(rows, "an array of rows"), np.float64)
        if block.ndim != 2:
            raise ParameterError(f"rows have the shape (count, dim), not {block.shape}")
        return cls(len(block), block.sum(axis=0), block.T @ block)

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.count + other.count, self.total + other.total, self.products + other.products
        )

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return len(self.total)

    @property
    def mean(self) -> Float:
        """The mean vector, (dim,)."""
        return self.total / max(self.count, 1)

    @property
    def second(self) -> Float:
        """The second moment E[x x'], (dim, dim)."""
        return self.products / max(self.count, 1)

    @property
    def covariance(self) -> Float:
        """E[x x'] without the mean, (dim, dim)."""
        return self.second - np.outer(self.mean, self.mean)

    def mapped(self, matrix: Float, bias: Float) -> Moments:
        """Moments of x @ matrix + bias."""
        total = self.total @ matrix
        cross = np.outer(total, bias)
        products = matrix.T @ self.products @ matrix + cross + cross.T
        return Moments(
            self.count, total + self.count * bias, products + self.count * np.outer(bias, bias)
        )
