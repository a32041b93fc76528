"""Word vectors as they are stored: float32, float16, 8 bits with scales, or packed rows of 4 and 8 bits.

A packed row is bytes. A block of columns begins at a byte of its own: 8 bits are a level from -128 to 127; 4 bits are the
number of one of `FOUR_BIT_LEVELS`, two to a byte, the earlier column in the lower half. A value is scale * level / LEVEL_UNIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.constants import FOUR_BIT_LEVELS, LARGEST_VALUE, LEVEL_UNIT
from noppa.errors import ParameterError
from noppa.parameters import numbers, short_repr, whole

CHECKED_ROWS = 1 << 14
LEVELS = np.array(FOUR_BIT_LEVELS, np.int8)
#: The nearest of the 4-bit levels to each 8-bit level.
NEAREST_LEVEL = np.abs(np.arange(-128, 128)[:, None] - LEVELS).argmin(axis=1).astype(np.uint8)
#: Scales tried for 4 bits, as shares of the largest value of the block; the one with the smallest squared error is taken.
#: A few large values matter less than many that are near.
SHARES = np.linspace(0.6, 1.05, 16, dtype=np.float32)


class Block(NamedTuple):
    """Columns from `start` up to `stop`, in the bytes from `first` up to `last` of a packed row."""

    bits: int
    start: int
    stop: int
    first: int
    last: int


def packed_layout(blocks: Sequence[int], bits: Sequence[int]) -> list[Block]:
    """Return where the blocks of a packed row are stored."""
    layout, column, byte = [], 0, 0
    for width, depth in zip(blocks, bits, strict=True):
        size = width if depth == 8 else -(-width // 2)
        layout.append(Block(depth, column, column + width, byte, byte + size))
        column, byte = column + width, byte + size
    return layout


class Matrix:
    """Rows (words, dim), and for 8-bit ones a scale per row, (words,), or per row and block of columns, (words, blocks).

    blocks: how many columns each scale of a row is for; one block if empty.
    bits: of each block, if the rows are packed, (words, bytes).
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
        self.dim = sum(self.blocks) if self.bits else int(values.shape[1])

    @classmethod
    def from_arrays(
        cls, words: Sequence[str], matrix: ArrayLike, scales: ArrayLike | None
    ) -> Matrix:
        """Check a user's matrix: one row per word, finite numbers, in a dtype that the kernels read."""
        rows, count = numbers(matrix, "a matrix"), len(words)
        if rows.ndim != 2 or rows.shape[0] != count or rows.shape[1] == 0 or not words:
            raise ParameterError(
                f"{count} words need a matrix of shape ({count}, dim) with at least one row and column, not {rows.shape}"
            )
        if (scales is None) == (rows.dtype == np.int8):
            raise ParameterError("an int8 matrix needs scales, one per row, and no other has them")
        if scales is not None:
            factors = _checked_scales(scales).astype(np.float32, copy=False)
            if factors.shape != (count,):
                raise ParameterError(f"{count} rows need {count} scales, not {factors.shape}")
            return cls(np.ascontiguousarray(rows), factors)
        for start in range(0, count, CHECKED_ROWS):
            bad = _too_large(rows[start : start + CHECKED_ROWS], LARGEST_VALUE)
            if len(bad):
                row, column = bad[0][0] + start, bad[0][1]
                raise ParameterError(
                    f"the vector of {words[row]!r} has {rows[row, column]} at dimension {column}: "
                    f"values must be finite and at most {LARGEST_VALUE:g} in size"
                )
        dtype = rows.dtype if rows.dtype == np.float16 else np.float32
        return cls(np.ascontiguousarray(rows, dtype), None)

    @property
    def storage(self) -> str:
        """Return how a number is stored: a dtype, or the bits of packed columns."""
        depths = sorted(set(self.bits))
        return f"{' and '.join(map(str, depths))} bits" if depths else str(self.values.dtype)

    @cached_property
    def table(self) -> kernels.Table:
        scales = self.scales if self.scales is None else np.ascontiguousarray(self.scales)
        return kernels.Table(self.values, scales, self.blocks, self.bits)

    def vectors(self, rows: ArrayLike, dtype: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
        """Return some rows as numbers, (rows, dim)."""
        index = np.asarray(rows, np.int64)
        if self.scales is None:
            return np.asarray(self.values[index].astype(dtype))
        scales = self.scales[index].astype(dtype)
        scales = np.repeat(scales, self.blocks, axis=1) if self.blocks else scales[:, None]
        if self.bits:
            scales /= dtype(LEVEL_UNIT)
            return np.asarray(_levels(self.values[index], self.blocks, self.bits) * scales)
        return np.asarray(self.values[index].astype(dtype) * scales)

    def select(self, rows: NDArray[np.int64] | slice) -> Matrix:
        """Return some rows as they are stored; a slice is not copied."""
        scales = None if self.scales is None else self.scales[rows]
        return Matrix(self.values[rows], scales, self.blocks, self.bits)

    def unpacked(self) -> Matrix:
        """Return the same numbers with one column per value, for programs that cannot read packed rows."""
        if not self.bits or self.scales is None:
            return self
        levels = _levels(self.values, self.blocks, self.bits)
        return Matrix(levels, self.scales.astype(np.float32) / np.float32(LEVEL_UNIT), self.blocks)

    def columns(self, start: int, stop: int) -> Matrix:
        """Return the columns from `start` up to `stop`, not copied."""
        start, stop = whole(start, "the first column"), whole(stop, "the last column")
        if not start < stop <= self.dim:
            raise ParameterError(f"columns {start} to {stop} are not within the {self.dim}")
        scales, widths, bits = self.scales, (), ()
        if self.blocks and scales is not None:
            edges = np.cumsum([0, *self.blocks])
            inside = np.diff(np.clip(edges, start, stop))
            first, last = np.flatnonzero(inside)[[0, -1]]
            # a view; `table` copies it if it is not contiguous
            scales = scales[:, first : last + 1]
            widths = tuple(inside[inside > 0].tolist())
            bits = tuple(np.array(self.bits)[inside > 0].tolist()) if self.bits else ()
        if bits:
            layout = packed_layout(self.blocks, self.bits)
            block = next(block for block in layout if start < block.stop)
            byte, remainder = divmod((start - block.start) * block.bits, 8)
            if remainder:
                raise ParameterError(
                    f"column {start} begins in the middle of a byte, since it has 4 bits: begin at {start - 1} or {start + 1}"
                )
            start = block.first + byte
            stop = start + packed_layout(widths, bits)[-1].last
        return Matrix(self.values[:, start:stop], scales, widths, bits)

    def with_scales(self, scales: ArrayLike) -> Matrix:
        """Return the same quantized rows with other scales of the same shape."""
        factors = _checked_scales(scales)
        if self.scales is None or factors.shape != self.scales.shape:
            expected = (
                "no scales" if self.scales is None else f"scales of shape {self.scales.shape}"
            )
            raise ParameterError(
                f"these vectors have {expected}, not {factors.shape}: only 8-bit and 4-bit vectors can be scaled"
            )
        if not self.bits:
            factors = factors.astype(np.float32, copy=False)
        return Matrix(self.values, factors, self.blocks, self.bits)

    def quantized(self, bits: Any, blocks: Any) -> Matrix:
        """Return the same rows in `bits` per column: see `WordVectors.quantized`."""
        dim, count = self.dim, len(self.values)
        try:
            if np.ndim(blocks) == 0:
                width = whole(blocks, "blocks", 1)
                blocks = [min(width, dim - start) for start in range(0, dim, width)]
            widths = tuple(whole(width, "a width of blocks", 1) for width in blocks)
            bits = [bits] * len(widths) if isinstance(bits, int) else bits
            depths = tuple(whole(depth, "bits") for depth in bits)
        except TypeError:
            raise ParameterError(
                f"blocks and bits must be lists of numbers, not {short_repr((blocks, bits))}"
            ) from None
        if sum(widths) != dim:
            raise ParameterError(f"blocks of {short_repr(widths)} columns do not add up to {dim}")
        if len(depths) != len(widths) or not set(depths) <= {4, 8}:
            raise ParameterError(
                f"bits must be 4 or 8 for each of the {len(widths)} blocks of columns, not {short_repr(bits)}"
            )
        layout = packed_layout(widths, depths)
        values = np.empty((count, layout[-1].last), np.uint8)
        scales = np.empty((count, len(layout)), np.float32)
        for start in range(0, count, CHECKED_ROWS // 4):
            rows = slice(start, start + CHECKED_ROWS // 4)
            vectors = self.vectors(np.arange(count)[rows])
            for number, block in enumerate(layout):
                pack = _eight_bits if block.bits == 8 else _four_bits
                part = np.ascontiguousarray(vectors[:, block.start : block.stop])
                values[rows, block.first : block.last], scales[rows, number] = pack(part)
        sizes, limits = scales[scales > 0], np.finfo(np.float16)
        if not sizes.size or limits.tiny <= sizes.min() <= sizes.max() <= limits.max:
            return Matrix(values, scales.astype(np.float16), widths, depths)
        return Matrix(values, scales, widths, depths)

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but the native object, which is rebuilt on first use."""
        return {name: value for name, value in self.__dict__.items() if name != "table"}


def _levels(
    rows: NDArray[np.uint8], blocks: Sequence[int], bits: Sequence[int]
) -> NDArray[np.int8]:
    """Return packed rows (rows, bytes) as levels (rows, columns)."""
    levels = np.empty((len(rows), sum(blocks)), np.int8)
    for block in packed_layout(blocks, bits):
        stored = np.ascontiguousarray(rows[:, block.first : block.last])
        if block.bits == 8:
            levels[:, block.start : block.stop] = stored.view(np.int8)
        else:
            levels[:, block.start : block.stop : 2] = LEVELS[stored & 15]
            odd = LEVELS[stored >> 4]
            levels[:, block.start + 1 : block.stop : 2] = odd[:, : (block.stop - block.start) // 2]
    return levels


Packed = tuple[NDArray[np.uint8], NDArray[np.float32]]


def _eight_bits(vectors: NDArray[np.float32]) -> Packed:
    largest = np.abs(vectors).max(axis=1)
    steps = 127 / np.where(largest > 0, largest, 1)
    levels = np.rint(vectors * steps[:, None]).astype(np.int8)
    return levels.view(np.uint8), largest * np.float32(LEVEL_UNIT / 127)


def _four_bits(vectors: NDArray[np.float32]) -> Packed:
    largest = np.abs(vectors).max(axis=1)
    best = np.full(len(vectors), np.inf, np.float32)
    numbers, scales = np.empty(vectors.shape, np.uint8), np.empty_like(largest)
    for share in SHARES:
        units = (largest * share / np.float32(LEVEL_UNIT))[:, None]
        levels = np.clip(np.rint(vectors / np.where(units > 0, units, 1)), -128, 127)
        chosen = NEAREST_LEVEL[levels.astype(np.int64) + 128]
        errors = np.square(LEVELS[chosen] * units - vectors).sum(axis=1)
        better = errors < best
        best[better], scales[better] = errors[better], largest[better] * share
        numbers[better] = chosen[better]
    packed, odd = numbers[:, ::2].copy(), numbers[:, 1::2]
    packed[:, : odd.shape[1]] |= odd << 4
    return packed, scales


# Checks of what a user gives


def _checked_scales(scales: ArrayLike) -> NDArray[Any]:
    """Return scales with which no value exceeds `LARGEST_VALUE`, as float32 unless they are float16."""
    factors = numbers(scales, "an array of scales")
    bad = _too_large(factors, LARGEST_VALUE / 128)
    if len(bad):
        place = tuple(bad[0].tolist())
        raise ParameterError(
            f"the scale of row {', '.join(map(str, place))} is {factors[place]}: "
            f"scales must be finite and at most {LARGEST_VALUE / 128:g} in size"
        )
    return np.ascontiguousarray(
        factors, factors.dtype if factors.dtype == np.float16 else np.float32
    )


def _too_large(values: NDArray[Any], largest: float) -> NDArray[np.int64]:
    """Return the indices of values that are not finite or larger than `largest`, (values, axes)."""
    with np.errstate(over="ignore"):  # a long double may exceed float64
        fine = np.abs(values.astype(float)) <= largest
    return np.argwhere(~fine) if not fine.all() else np.empty((0, values.ndim), np.int64)
