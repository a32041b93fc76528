"""The twin of `vector_text.cpp`: lines and records of vector files, one by one and exactly rounded."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from noppa.constants import LARGEST_VALUE
from noppa.words.formats.text import NUMBER

SMALLEST, SMALLEST_NORMAL = 2.0**-149, 2.0**-126
SEPARATORS = b" \t"

VectorRows = tuple[
    NDArray[np.uint8],
    NDArray[np.int64],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.int64],
    NDArray[np.int64],
    int,
]


class _Rows:
    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.words: list[bytes] = []
        self.rows: list[list[float]] = []
        self.bad: list[int] = []
        self.rough: list[int] = []
        self.rough_at: list[int] = []

    def add(self, word: bytes, row: list[float], at: int) -> None:
        try:
            word.decode()
        except UnicodeDecodeError:
            self.rough.append(len(self.words))
            self.rough_at.append(at)
        self.words.append(word)
        self.rows.append(row)

    def result(self, passed: int) -> VectorRows:
        return (
            np.frombuffer(b"".join(self.words), np.uint8),
            np.cumsum([0, *map(len, self.words)], dtype=np.int64),
            np.array(self.rows, np.float32).reshape(len(self.rows), self.dim),
            np.array(self.bad, np.int64),
            np.array(self.rough, np.int64),
            np.array(self.rough_at, np.int64),
            passed,
        )


def parse_vectors(block: bytes, dim: int, threads: int) -> VectorRows:
    """Every line as a word and `dim` numbers, taken from the right; blank lines are passed over."""
    found = _Rows(dim)
    at = 0
    for line in block.split(b"\n"):
        content = line.removesuffix(b"\r").rstrip(SEPARATORS)
        if content:
            split = split_line(content, dim)
            if split is None:
                found.bad.append(at)
            else:
                found.add(*split, at)
        at += len(line) + 1
    return found.result(block.count(b"\n"))


def split_line(line: bytes, dim: int) -> tuple[bytes, list[float]] | None:
    """The word and the values of a line without its end, None where it is no such line."""
    fields = re.split(rb"([ \t]+)", line)
    if len(fields) < 2 * dim + 1:
        return None
    values = fields[len(fields) - 2 * dim + 1 :: 2]
    if not all(NUMBER.match(value) for value in values):
        return None
    row = [nearest_float32(value) for value in values]
    if not all(abs(value) <= LARGEST_VALUE for value in row):
        return None
    before = fields[: len(fields) - 2 * dim]
    word = b"".join(before)
    if not word.strip(SEPARATORS):
        # A word of nothing but spaces keeps all of them except the one that separates.
        return (word + fields[len(fields) - 2 * dim])[:-1], row
    last = before[-1]
    if len(before) > 1 and b"." in last and NUMBER.match(last):
        return None  # the row is longer than dim
    return word, row


def nearest_float32(text: bytes) -> float:
    """The float32 nearest to a decimal number, ties to even; rounding twice by way of float64 can miss it."""
    double = float(text)
    if not abs(double) <= 2 * LARGEST_VALUE:
        return double
    if abs(double) < SMALLEST / 4:
        return math.copysign(0.0, double)
    single = np.float32(double)
    bits = struct.unpack("<Q", struct.pack("<d", double))[0]
    if bits & 0x1FFFFFFF != 0x10000000 and abs(double) >= SMALLEST_NORMAL:
        return float(single)  # not half-way between two floats, so the second rounding is right
    # Exact and linear in the length of the text; a Fraction would spell out the exponent, 1e-9999999 as ten million digits.
    exact = Decimal(text.decode())
    below, above = (np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf))
    for neighbour, beyond in ((below, exact.__lt__), (above, exact.__gt__)):
        middle = Decimal((float(single) + float(neighbour)) / 2)
        if beyond(middle) or (exact == middle and not neighbour.view(np.uint32) & 1):
            return float(neighbour)
    return float(single)


def parse_records(block: bytes, dim: int, most: int) -> VectorRows:
    """As many whole records `word SPACE dim x float32` as the block and `most` allow, a newline before a word dropped."""
    found = _Rows(dim)
    at = 0
    while len(found.words) + len(found.bad) < most:
        start = at + (block[at : at + 1] == b"\n")
        space = block.find(b" ", start)
        if space < 0 or len(block) - space - 1 < 4 * dim:
            break
        row = list(struct.unpack_from(f"<{dim}f", block, space + 1))
        if all(abs(value) <= LARGEST_VALUE for value in row):
            found.add(block[start:space], row, at)
        else:
            found.bad.append(at)
        at = space + 1 + 4 * dim
    return found.result(at)


def format_rows(matrix: NDArray[np.float32], separator: str, threads: int) -> list[bytes]:
    """Each row as numbers with a separator between them, the shortest text that reads back as the same float32."""
    return [separator.join(str(value) for value in row).encode() for row in matrix]
