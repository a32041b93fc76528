"""Rows of 4-bit and 8-bit columns in blocks, as bytes: how they lie, and the levels that they stand for.

A block of columns begins at a byte of its own. 8 bits are a level from -128 to 127; 4 bits are the number of one of
`FOUR_BIT_LEVELS`, two to a byte, the earlier column in the lower half. A value is scale * level / LEVEL_UNIT.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.constants import FOUR_BIT_LEVELS, LEVEL_UNIT

LEVELS = np.array(FOUR_BIT_LEVELS, np.int8)


class Block(NamedTuple):
    """Columns from `start` up to `stop`, in the bytes from `first` up to `last` of a row."""

    bits: int
    start: int
    stop: int
    first: int
    last: int


def layout(blocks: Sequence[int], bits: Sequence[int]) -> list[Block]:
    """Where the blocks of so many columns lie in a row."""
    placed, column, byte = [], 0, 0
    for width, depth in zip(blocks, bits, strict=True):
        size = width if depth == 8 else -(-width // 2)
        placed.append(Block(depth, column, column + width, byte, byte + size))
        column, byte = column + width, byte + size
    return placed


def row_bytes(blocks: Sequence[int], bits: Sequence[int]) -> int:
    return layout(blocks, bits)[-1].last


def levels(rows: NDArray[np.uint8], blocks: Sequence[int], bits: Sequence[int]) -> NDArray[np.int8]:
    """Packed rows (rows, bytes) as levels (rows, columns)."""
    found = np.empty((len(rows), sum(blocks)), np.int8)
    for block in layout(blocks, bits):
        here = np.ascontiguousarray(rows[:, block.first : block.last])
        if block.bits == 8:
            found[:, block.start : block.stop] = here.view(np.int8)
        else:
            found[:, block.start : block.stop : 2] = LEVELS[here & 15]
            odd = LEVELS[here >> 4]
            found[:, block.start + 1 : block.stop : 2] = odd[:, : (block.stop - block.start) // 2]
    return found


def packed(numbers: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Numbers of 4-bit levels (rows, columns), two to a byte."""
    even, odd = numbers[:, ::2], numbers[:, 1::2]
    both = even.copy()
    both[:, : odd.shape[1]] |= odd << 4
    return both


def values(
    rows: NDArray[np.uint8],
    scales: NDArray[Any],
    blocks: Sequence[int],
    bits: Sequence[int],
    dtype: type[np.floating[Any]],
) -> NDArray[Any]:
    """Packed rows as numbers, (rows, columns), with scales (rows, blocks)."""
    factors = np.repeat(scales.astype(dtype) / dtype(LEVEL_UNIT), blocks, axis=1)
    return np.asarray(levels(rows, blocks, bits) * factors)
