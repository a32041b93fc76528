"""Word vectors in 8 or 4 bits a column, with a scale for each row and block of columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.constants import LEVEL_UNIT
from noppa.errors import ParameterError
from noppa.parameters import short_repr, whole
from noppa.words import packed_rows
from noppa.words.matrix import Matrix, checked_bits

ROWS_AT_ONCE = 1 << 12
#: Scales that are tried for 4 bits, as shares of the largest value of the block; the one of the smallest squared error is
#: taken. A few large values are worth less than many near ones.
SHARES = np.linspace(0.6, 1.05, 16, dtype=np.float32)
#: The nearest of the 4-bit levels to each 8-bit level.
NEAREST = np.abs(np.arange(-128, 128)[:, None] - packed_rows.LEVELS).argmin(axis=1).astype(np.uint8)

Packed = tuple[NDArray[np.uint8], NDArray[np.float32]]


def quantized(rows: Matrix, bits: Any, blocks: Any) -> Matrix:
    """The same rows in `bits` a column: see `WordVectors.quantized`."""
    widths = _widths(blocks, rows.dim)
    depths = checked_bits([bits] * len(widths) if isinstance(bits, int) else bits, widths)
    layout = packed_rows.layout(widths, depths)
    count = len(rows.values)
    values = np.empty((count, layout[-1].last), np.uint8)
    scales = np.empty((count, len(layout)), np.float32)
    for start in range(0, count, ROWS_AT_ONCE):
        here = slice(start, start + ROWS_AT_ONCE)
        vectors = rows.vectors(np.arange(count)[here])
        for at, block in enumerate(layout):
            pack = _eight_bits if block.bits == 8 else _four_bits
            part = np.ascontiguousarray(vectors[:, block.start : block.stop])
            values[here, block.first : block.last], scales[here, at] = pack(part)
    return Matrix(values, _narrowed(scales), widths, depths)


def _widths(blocks: Any, dim: int) -> tuple[int, ...]:
    """Widths of blocks from a list of them, or from one for all but the last."""
    try:
        widths = tuple(whole(width, "a width of blocks", 1) for width in blocks)
    except TypeError:
        width = whole(blocks, "blocks", 1)
        widths = tuple(min(width, dim - start) for start in range(0, dim, width))
    if sum(widths) != dim:
        raise ParameterError(f"blocks of {short_repr(widths)} columns do not add up to {dim}")
    return widths


def _narrowed(scales: NDArray[np.float32]) -> NDArray[Any]:
    """As float16 where all keep their digits in it."""
    sizes = scales[scales > 0]
    limits = np.finfo(np.float16)
    fits = not sizes.size or limits.tiny <= sizes.min() <= sizes.max() <= limits.max
    return scales.astype(np.float16) if fits else scales


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
        chosen = NEAREST[levels.astype(np.int64) + 128]
        errors = np.square(packed_rows.LEVELS[chosen] * units - vectors).sum(axis=1)
        better = errors < best
        best[better], scales[better] = errors[better], largest[better] * share
        numbers[better] = chosen[better]
    return packed_rows.packed(numbers), scales
