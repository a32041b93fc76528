"""Word vectors as they are stored: float32, float16, or 8 bits with scales."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.backend import kernels
from noppa.errors import ParameterError

LARGEST = 1e15


class Matrix:
    """Rows (words, dim), and for 8-bit ones a scale a row, (words,)."""

    def __init__(self, values: NDArray[Any], scales: NDArray[np.float32] | None) -> None:
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, words: Sequence[str], matrix: ArrayLike, scales: ArrayLike | None) -> Matrix:
        """What a user gave, checked: as many rows as words, of finite numbers in a type that the kernels read."""
        rows = _checked(words, matrix, scales)
        return cls(rows, None if scales is None else np.ascontiguousarray(scales, np.float32))

    @cached_property
    def table(self) -> kernels.Table:
        return kernels.Table(self.values, self.scales)

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Some rows as float32, (rows, dim)."""
        index = np.asarray(rows, np.int64)
        found: NDArray[np.float32] = self.values[index].astype(np.float32)
        if self.scales is not None:
            found *= self.scales[index, None]
        return found

    def first(self, count: int) -> Matrix:
        """The first rows, not copied."""
        return Matrix(self.values[:count], None if self.scales is None else self.scales[:count])

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native object, which is built again where it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "table"}


def _checked(words: Sequence[str], matrix: ArrayLike, scales: ArrayLike | None) -> NDArray[Any]:
    rows = np.asarray(matrix)
    if rows.ndim != 2 or rows.shape[0] != len(words) or rows.shape[1] == 0 or not words:
        raise ParameterError(
            f"{len(words)} words need a matrix of shape ({len(words)}, dim) with at least one row and column, "
            f"not {rows.shape}"
        )
    if scales is not None:
        if rows.dtype != np.int8 or np.shape(scales) != (len(words),):
            raise ParameterError("scales belong to an int8 matrix, one a row")
    elif rows.dtype == np.int8:
        raise ParameterError("an int8 matrix needs scales, one a row")
    elif rows.dtype not in (np.float32, np.float16):
        if rows.dtype.kind not in "fiu":
            raise ParameterError(f"a matrix of {rows.dtype} holds no numbers")
        rows = rows.astype(np.float32)
    for start in range(0, len(rows), 1 << 16):
        block = rows[start : start + (1 << 16)]
        bad = np.argwhere(~(np.abs(block.astype(np.float32)) <= LARGEST))
        if len(bad):
            row, column = bad[0][0] + start, bad[0][1]
            raise ParameterError(
                f"the vector of {words[row]!r} has {rows[row, column]} at dimension {column}: "
                f"values must be finite and at most {LARGEST:g} in size"
            )
    return np.ascontiguousarray(rows)
