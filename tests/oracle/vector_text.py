"""Parse lines and records of vector files one by one, exactly rounded, as `vector_text.cpp` does."""

from __future__ import annotations

import math
import re
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from noppa.constants import LARGEST_VALUE
from noppa.words.formats.text import NUMBER

SMALLEST = 2.0**-149
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
    """Read each line as a word and `dim` numbers, taken from the right; skip blank lines."""
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
    """Return the word and the values of a line without its line break, or None for a bad line."""
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
    """Return the float32 nearest to a decimal number, ties to even; rounding by way of float64 can miss it."""
    double = float(text)
    if not abs(double) <= 2 * LARGEST_VALUE:
        return double
    if abs(double) < SMALLEST / 4:
        return math.copysign(0.0, double)
    exact, single = Fraction(Decimal(text.decode())), np.float32(double)
    below, above = (np.nextafter(single, np.float32(end)) for end in (-np.inf, np.inf))

    def distance(value: np.float32) -> tuple[Fraction, int]:
        return abs(Fraction(float(value)) - exact), int(value.view(np.uint32)) & 1

    return float(min((single, below, above), key=distance))


def parse_records(block: bytes, dim: int, most: int) -> VectorRows:
    """Read up to `most` whole records `word SPACE dim x float32`; drop a newline before a word."""
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
    """Format each row with the shortest numbers that read back as the same float32."""
    return [separator.join(str(value) for value in row).encode() for row in matrix]
