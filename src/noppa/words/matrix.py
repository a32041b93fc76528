"""Word vectors as they are stored: float32, float16, 8 bits with scales, or packed rows of 8 and 4 bits."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.constants import LARGEST_VALUE, LEVEL_UNIT
from noppa.errors import ParameterError
from noppa.parameters import numbers, short_repr, whole
from noppa.words import packed_rows

CHECKED_ROWS = 1 << 14
#: The largest number of float16.
MOST_HALF = 65504.0


class Matrix:
    """Rows (words, dim), and for 8-bit ones a scale a row, (words,), or a row and block of columns, (words, blocks).

    blocks: how many columns each scale of a row is for; one block where empty.
    bits: of each block, where the rows are packed, (words, bytes): see `noppa.words.packed_rows`.
    """

    def __init__(
        self,
        values: NDArray[Any],
        scales: NDArray[Any] | None,
        blocks: Sequence[int] = (),
        bits: Sequence[int] = (),
    ) -> None:
        self.values, self.scales = values, scales
        self.blocks, self.bits = tuple(blocks), tuple(bits)

    @classmethod
    def of(
        cls,
        words: Sequence[str],
        matrix: ArrayLike,
        scales: ArrayLike | None,
        blocks: Sequence[int] = (),
        bits: Sequence[int] = (),
    ) -> Matrix:
        """A user's matrix, checked: one row a word, finite numbers, in a dtype that the kernels read."""
        try:
            widths = tuple(whole(width, "a width of blocks", 1) for width in blocks)
        except TypeError:
            raise ParameterError(
                f"blocks must be a list of widths, not {short_repr(blocks)}"
            ) from None
        factors = None if scales is None else checked_scales(scales)
        rows = numbers(matrix, "a matrix")
        if np.size(bits):
            depths = checked_bits(bits, widths)
            return cls(
                _checked_packed(words, rows, factors, widths, depths), factors, widths, depths
            )
        if factors is not None:
            factors = factors.astype(np.float32, copy=False)
        return cls(_checked(words, rows, factors, widths), factors, widths)

    @property
    def dim(self) -> int:
        return sum(self.blocks) if self.bits else int(self.values.shape[1])

    @property
    def storage(self) -> str:
        """How a number is stored: a dtype, or the bits of packed columns."""
        depths = sorted(set(self.bits))
        return f"{' and '.join(map(str, depths))} bits" if depths else str(self.values.dtype)

    @cached_property
    def table(self) -> kernels.Table:
        scales = self.scales if self.scales is None else np.ascontiguousarray(self.scales)
        return kernels.Table(self.values, scales, self.blocks, self.bits)

    def vectors(self, rows: ArrayLike) -> NDArray[np.float32]:
        """Some rows as float32, (rows, dim)."""
        index = np.asarray(rows, np.int64)
        if self.bits and self.scales is not None:
            chosen = self.values[index], self.scales[index]
            return packed_rows.values(*chosen, self.blocks, self.bits, np.float32)
        vectors: NDArray[np.float32] = self.values[index].astype(np.float32)
        if self.blocks and self.scales is not None:
            vectors *= np.repeat(self.scales[index], self.blocks, axis=1)
        elif self.scales is not None:
            vectors *= self.scales[index, None]
        return vectors

    def some(self, rows: NDArray[np.int64] | slice) -> Matrix:
        """Some rows as they are stored; a slice is not copied."""
        scales = None if self.scales is None else self.scales[rows]
        return Matrix(self.values[rows], scales, self.blocks, self.bits)

    def unpacked(self) -> Matrix:
        """The same numbers with a column a value, for programs that know no packed rows."""
        if not self.bits or self.scales is None:
            return self
        levels = packed_rows.levels(self.values, self.blocks, self.bits)
        return Matrix(levels, self.scales.astype(np.float32) / np.float32(LEVEL_UNIT), self.blocks)

    def columns(self, start: int, stop: int) -> Matrix:
        """The columns from `start` up to `stop`, not copied."""
        dim = self.dim
        start, stop = whole(start, "the first column"), whole(stop, "the last column")
        if not start < stop <= dim:
            raise ParameterError(f"columns {start} to {stop} do not lie within the {dim} there are")
        scales, widths, bits = self.scales, (), ()
        if self.blocks and scales is not None:
            edges = np.cumsum([0, *self.blocks])
            inside = np.diff(np.clip(edges, start, stop))
            # a view, since presets replace it: `table` copies what lies apart
            first, last = np.flatnonzero(inside)[[0, -1]]
            scales = scales[:, first : last + 1]
            widths = tuple(inside[inside > 0].tolist())
            bits = tuple(np.array(self.bits)[inside > 0].tolist()) if self.bits else ()
        if bits:
            start = self._byte_of(start)
            stop = start + packed_rows.row_bytes(widths, bits)
        return Matrix(self.values[:, start:stop], scales, widths, bits)

    def _byte_of(self, column: int) -> int:
        """Where a column of packed rows begins."""
        blocks = packed_rows.layout(self.blocks, self.bits)
        block = next(block for block in blocks if column < block.stop)
        byte, middle = divmod((column - block.start) * block.bits, 8)
        if middle:
            raise ParameterError(
                f"column {column} lies in the middle of a byte, since it has 4 bits: begin at {column - 1} or {column + 1}"
            )
        return block.first + byte

    def _column_of(self, byte: int) -> int:
        """The first column that begins at a byte of packed rows."""
        blocks = packed_rows.layout(self.blocks, self.bits)
        block = next(block for block in blocks if byte < block.last)
        return block.start + (byte - block.first) * 8 // block.bits

    def with_scales(self, scales: ArrayLike) -> Matrix:
        """The same quantized rows with other scales of the same shape."""
        factors = checked_scales(scales)
        if self.scales is None or factors.shape != self.scales.shape:
            expected = (
                "no scales" if self.scales is None else f"scales of shape {self.scales.shape}"
            )
            raise ParameterError(
                f"these vectors have {expected}, and {factors.shape} were given: "
                "only those of 8 or 4 bits can be scaled anew"
            )
        if not self.bits:
            factors = factors.astype(np.float32, copy=False)
        return Matrix(self.values, factors, self.blocks, self.bits)

    def place_in(self, other: Matrix) -> tuple[int, int] | None:
        """The columns (start, stop) of `other` that these are a view of, None where they are no such view."""
        view, base = self.values, other.values
        if view.dtype != base.dtype or len(view) != len(base) or view.strides != base.strides:
            return None
        start, remainder = divmod(view.ctypes.data - base.ctypes.data, base.itemsize)
        if remainder or start < 0 or start + view.shape[1] > base.shape[1]:
            return None
        if not self.bits:
            return start, start + self.dim
        start = other._column_of(start)
        if start + self.dim > other.dim:
            return None
        same = other.columns(start, start + self.dim)
        is_view = (same.blocks, same.bits) == (self.blocks, self.bits)
        return (start, start + self.dim) if is_view else None

    def __getstate__(self) -> dict[str, Any]:
        """Everything but the native object, which is rebuilt on first use."""
        return {name: value for name, value in self.__dict__.items() if name != "table"}


def checked_scales(scales: ArrayLike) -> NDArray[Any]:
    """Scales of quantized rows, of any shape, with which no value passes `LARGEST_VALUE`; float16 where they are given so."""
    factors = numbers(scales, "an array of scales")
    bad = _too_large(factors, LARGEST_VALUE / 128)
    if len(bad):
        at = tuple(bad[0].tolist())
        raise ParameterError(
            f"the scale of row {', '.join(map(str, at))} is {factors[at]}: "
            f"scales must be finite and at most {LARGEST_VALUE / 128:g} in size"
        )
    return np.ascontiguousarray(
        factors, factors.dtype if factors.dtype == np.float16 else np.float32
    )


def checked_bits(bits: Any, blocks: Sequence[int]) -> tuple[int, ...]:
    """The bits of each block of packed columns."""
    try:
        depths = tuple(whole(depth, "bits") for depth in bits)
    except TypeError:
        depths = ()
    if len(depths) != len(blocks) or not depths or not set(depths) <= {4, 8}:
        raise ParameterError(
            f"bits must be 4 or 8 for each of the {len(blocks)} blocks of columns, not {short_repr(bits)}"
        )
    return depths


def _checked_packed(
    words: Sequence[str],
    rows: NDArray[Any],
    scales: NDArray[Any] | None,
    blocks: tuple[int, ...],
    bits: tuple[int, ...],
) -> NDArray[np.uint8]:
    shape = (len(words), packed_rows.row_bytes(blocks, bits))
    if rows.dtype != np.uint8 or rows.shape != shape or not words:
        raise ParameterError(
            f"{len(words)} words of {sum(blocks)} packed columns need a uint8 matrix of shape {shape}, "
            f"not one of {rows.dtype} and {rows.shape}"
        )
    if scales is None or scales.shape != (len(words), len(blocks)):
        raise ParameterError(
            f"packed rows need scales, one a row and block: {(len(words), len(blocks))}"
        )
    return np.ascontiguousarray(rows)


def _too_large(values: NDArray[Any], largest: float) -> NDArray[np.int64]:
    """Indices of values that are not finite or larger than `largest`, (values, axes)."""
    if values.dtype == np.float16 and largest >= MOST_HALF:
        fine = np.isfinite(values)
    else:
        with np.errstate(over="ignore"):  # a long double may exceed float64
            fine = np.abs(values.astype(float)) <= largest
    return np.argwhere(~fine) if not fine.all() else np.empty((0, values.ndim), np.int64)


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
