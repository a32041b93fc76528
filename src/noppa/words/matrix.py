"""Word vectors as they are stored: float32, float16, or 8 bits with scales."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.errors import ParameterError
from noppa.kernels.backend import kernels
from noppa.kernels.constants import LARGEST_VALUE
from noppa.parameters import numbers, shown, whole

CHECKED_ROWS = 1 << 14


class Matrix:
    """Rows (words, dim), and for 8-bit ones a scale a row, (words,), or a row and block of columns, (words, blocks).

    blocks: how many columns each scale of a row is for; one block where empty.
    """

    def __init__(
        self,
        values: NDArray[Any],
        scales: NDArray[np.float32] | None,
        blocks: Sequence[int] = (),
    ) -> None:
        self.values, self.scales = values, scales
        self.blocks = tuple(blocks)

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        matrix: ArrayLike,
        scales: ArrayLike | None,
        blocks: Sequence[int] = (),
    ) -> Matrix:
        """A user's matrix, checked: one row a word, finite numbers, in a dtype that the kernels read."""
        try:
            widths = tuple(whole(width, "a width of blocks", 1) for width in blocks)
        except TypeError:
            raise ParameterError(f"blocks must be a list of widths, not {shown(blocks)}") from None
        factors = None if scales is None else checked_scales(scales)
        return cls(_checked(words, numbers(matrix, "a matrix"), factors, widths), factors, widths)

    @cached_property
    def table(self) -> kernels.Table:
        return kernels.Table(self.values, self.scales, self.blocks)

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Some rows as float32, (rows, dim)."""
        index = np.asarray(rows, np.int64)
        vectors: NDArray[np.float32] = self.values[index].astype(np.float32)
        if self.blocks and self.scales is not None:
            vectors *= np.repeat(self.scales[index], self.blocks, axis=1)
        elif self.scales is not None:
            vectors *= self.scales[index, None]
        return vectors

    def some(self, rows: NDArray[np.int64] | slice) -> Matrix:
        """Some rows as they are stored; a slice is not copied."""
        return Matrix(
            self.values[rows], None if self.scales is None else self.scales[rows], self.blocks
        )

    def columns(self, start: int, stop: int) -> Matrix:
        """The columns from `start` up to `stop`, not copied."""
        dim = self.values.shape[1]
        start, stop = whole(start, "the first column"), whole(stop, "the last column")
        if not start < stop <= dim:
            raise ParameterError(f"columns {start} to {stop} do not lie within the {dim} there are")
        scales, widths = self.scales, ()
        if self.blocks and scales is not None:
            edges = np.cumsum([0, *self.blocks])
            inside = np.diff(np.clip(edges, start, stop))
            scales = np.ascontiguousarray(scales[:, inside > 0])
            widths = tuple(inside[inside > 0].tolist())
        return Matrix(self.values[:, start:stop], scales, widths)

    def with_scales(self, scales: ArrayLike) -> Matrix:
        """The same 8-bit rows with other scales of the same shape."""
        factors = checked_scales(scales)
        if self.scales is None or factors.shape != self.scales.shape:
            expected = (
                "no scales" if self.scales is None else f"scales of shape {self.scales.shape}"
            )
            raise ParameterError(
                f"these vectors have {expected}, and {factors.shape} were given: "
                "only those of 8 bits can be scaled anew"
            )
        return Matrix(self.values, factors, self.blocks)

    def place_in(self, other: Matrix) -> tuple[int, int] | None:
        """The columns (start, stop) of `other` that these are a view of, None where they are no such view."""
        view, base = self.values, other.values
        if view.dtype != base.dtype or len(view) != len(base) or view.strides != base.strides:
            return None
        start, remainder = divmod(view.ctypes.data - base.ctypes.data, base.itemsize)
        stop = start + view.shape[1]
        return (start, stop) if not remainder and start >= 0 and stop <= base.shape[1] else None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native object, which is rebuilt on first use."""
        return {name: value for name, value in self.__dict__.items() if name != "table"}


def checked_scales(scales: ArrayLike) -> NDArray[np.float32]:
    """Scales of 8-bit rows, of any shape, with which no value passes `LARGEST_VALUE`."""
    factors = numbers(scales, "an array of scales")
    bad = _too_large(factors, LARGEST_VALUE / 128)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise ParameterError(
            f"the scale of row {', '.join(map(str, at))} is {factors[at]}: "
            f"scales must be finite and at most {LARGEST_VALUE / 128:g} in size"
        )
    return np.ascontiguousarray(factors, np.float32)


def _too_large(values: NDArray[Any], largest: float) -> NDArray[np.int64]:
    """Indices of values that are not finite or larger than `largest`, (values, axes)."""
    with np.errstate(over="ignore"):  # a long double may exceed float64
        return np.argwhere(~(np.abs(values.astype(float)) <= largest))


def _checked(
    words: Sequence[str],
    rows: NDArray[Any],
    scales: NDArray[np.float32] | None,
    blocks: tuple[int, ...],
) -> NDArray[Any]:
    if rows.ndim != 2 or rows.shape[0] != len(words) or rows.shape[1] == 0 or not words:
        raise ParameterError(
            f"{len(words)} words need a matrix of shape ({len(words)}, dim) with at least one row and column, "
            f"not {rows.shape}"
        )
    if scales is not None:
        shape = (len(words), len(blocks)) if blocks else (len(words),)
        if rows.dtype != np.int8 or scales.shape != shape:
            raise ParameterError(
                f"scales belong to an int8 matrix, one a row{' and block' * bool(blocks)}: {shape}"
            )
        if blocks and sum(blocks) != rows.shape[1]:
            raise ParameterError(
                f"blocks of {', '.join(map(str, blocks))} columns do not add up to {rows.shape[1]}"
            )
    elif blocks:
        raise ParameterError("blocks belong to the scales of an int8 matrix, and there are none")
    elif rows.dtype == np.int8:
        raise ParameterError("an int8 matrix needs scales, one a row")
    for start in range(0, 0 if scales is not None else len(rows), CHECKED_ROWS):
        bad = _too_large(rows[start : start + CHECKED_ROWS], LARGEST_VALUE)
        if len(bad):
            row, column = bad[0][0] + start, bad[0][1]
            raise ParameterError(
                f"the vector of {words[row]!r} has {rows[row, column]} at dimension {column}: "
                f"values must be finite and at most {LARGEST_VALUE:g} in size"
            )
    is_native = rows.dtype in (np.float32, np.float16, np.int8)
    return np.ascontiguousarray(rows, rows.dtype if is_native else np.float32)
