"""Parse fastText's dictionary, hash n-grams and average rows, as `character_ngrams.cpp` does."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from noppa.constants import LONGEST_NGRAM_WORD, NGRAM_PRIME, NGRAM_SEED

AFTER_WORD = 10

Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]


def parse_entries(data: Bytes, start: int, count: int) -> tuple[Bytes, Offsets, Offsets, int]:
    """Return text, bounds and counts of `count` entries from byte `start`, and the byte after them or -1."""
    content = data.tobytes()
    words: list[bytes] = []
    counts: list[int] = []
    end = start
    if not 0 <= start <= len(content) or not 0 <= count <= (len(content) - start) // AFTER_WORD:
        return _entries([], [], -1)
    for _ in range(count):
        zero = content.find(b"\0", end)
        if not 0 <= zero - end <= LONGEST_NGRAM_WORD or len(content) - zero < AFTER_WORD:
            return _entries(words, counts, -1)
        words.append(content[end:zero])
        counts.append(struct.unpack_from("<q", content, zero + 1)[0])
        end = zero + AFTER_WORD
    return _entries(words, counts, end)


def _entries(
    words: list[bytes], counts: list[int], end: int
) -> tuple[Bytes, Offsets, Offsets, int]:
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    return np.frombuffer(b"".join(words), np.uint8), bounds, np.array(counts, np.int64), end


def ngram_buckets(
    text: Bytes, bounds: Offsets, shortest: int, longest: int, buckets: int
) -> tuple[NDArray[np.int32], Offsets]:
    """Return the buckets of the n-grams of each word, and their offsets (words + 1,)."""
    content = text.tobytes()
    found = [
        _buckets(content[a:b], shortest, longest, buckets) for a, b in pairwise(bounds.tolist())
    ]
    offsets = np.cumsum([0, *map(len, found)], dtype=np.int64)
    return np.array([bucket for word in found for bucket in word], np.int32), offsets


def _buckets(word: bytes, shortest: int, longest: int, buckets: int) -> list[int]:
    if len(word) > LONGEST_NGRAM_WORD:
        return []
    marked = b"<" + word + b">"
    starts = [at for at, byte in enumerate(marked) if byte & 0xC0 != 0x80]
    edges = [*starts, len(marked)]
    found = []
    for first in range(len(starts)):
        for last in range(first + 1, min(first + longest, len(starts)) + 1):
            is_mark = last == first + 1 and (edges[first] == 0 or last == len(starts))
            if last - first >= shortest and not is_mark:
                found.append(_hash(marked[edges[first] : edges[last]]) % buckets)
    return found


def _hash(ngram: bytes) -> int:
    """Return the FNV-1a hash of fastText, which treats bytes as signed."""
    value = NGRAM_SEED
    for byte in ngram:
        signed = byte if byte < 128 else byte | 0xFFFFFF00
        value = ((value ^ signed) * NGRAM_PRIME) & 0xFFFFFFFF
    return value


def mean_rows(
    data: Bytes,
    start: int,
    rows: int,
    dim: int,
    ids: NDArray[np.int32],
    offsets: Offsets,
    threads: int,
) -> NDArray[np.float64]:
    """Return the mean row of each word (words, dim), zeros if it has none; float32 rows begin at byte `start`."""
    values = data[start : start + rows * dim * 4]
    matrix = np.frombuffer(values.tobytes(), np.float32).reshape(rows, dim).astype(np.float64)
    means = [
        matrix[ids[a:b]].mean(axis=0) if b > a else np.zeros(dim) for a, b in pairwise(offsets)
    ]
    return np.array(means).reshape(len(offsets) - 1, dim)
