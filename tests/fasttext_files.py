"""fastText models made byte by byte."""

from __future__ import annotations

import struct

import numpy as np

MAGIC = 793712314
WORDS = (("</s>", 10), ("the", 60), ("cake", 3), ("Straße", 1))
#: Bytes of the magic number, the version and the arguments; then come three numbers of the dictionary.
DICTIONARY = 8 + 12 * 4 + 8


def made_model(
    dim: int = 3,
    bucket: int = 11,
    shortest: int = 2,
    longest: int = 4,
    words: tuple[tuple[str, int], ...] = WORDS,
) -> bytes:
    """A skipgram model of a few words whose rows are 0, 1, 2, …"""
    arguments = struct.pack("<12id", dim, 5, 5, 1, 5, 1, 2, 2, bucket, shortest, longest, 100, 1e-4)
    entries = b"".join(
        word.encode() + b"\0" + struct.pack("<qb", count, 0) for word, count in words
    )
    dictionary = struct.pack("<3i2q", len(words), len(words), 0, 74, -1) + entries
    rows = len(words) + bucket
    matrix = b"\0" + struct.pack("<2q", rows, dim)
    matrix += np.arange(rows * dim, dtype="<f4").tobytes()
    return struct.pack("<2i", MAGIC, 12) + arguments + dictionary + matrix


def unlabelled(content: bytes) -> bytes:
    """A classifier as a skipgram model of the same input: without labels, which stand behind its words."""
    size, words, _, tokens, pruned = struct.unpack_from("<3i2q", content, DICTIONARY)
    at = DICTIONARY + struct.calcsize("<3i2q")
    kept = bytearray()
    for entry in range(size):
        end = content.index(b"\0", at) + 10
        kept += content[at:end] if entry < words else b""
        at = end
    head = bytearray(content[:DICTIONARY])
    struct.pack_into("<i", head, 8 + 7 * 4, 2)
    return (
        bytes(head)
        + struct.pack("<3i2q", words, words, 0, tokens, pruned)
        + bytes(kept)
        + content[at:]
    )
