"""Word vectors in text: the native parser against its twin, and whole files under any options."""

from __future__ import annotations

from noppa import _native as kernels
from reliability.fuzz._vector_files import assert_same, load, options_of
from tests import oracle

#: A byte of options, a byte for the dimension, and the file.
SEEDS = [
    b"\x00\x01the 0.1 0.2\ncake 0.3 -4e-2\n",
    b"\x10\x022 3\nthe 1 2 3\ncake .5 1. +7\n",
    b"\x01\x00a\tb 1\r\n\n  2 3.5\nNew York 0.25 \n",
    b"\x03\x01caf\xc3 1 2\n\xef\xbb\xbfx 3 4\nbad x y\n",
    b"\x00\x0016777217 1.00000005960464477539062500001\nx 7.0064923216240853546e-46\nnan 1e15\ny 1000000000000001",
    b"\x20\x011 2\n3 4\n5 1e-9999999 nan",
]


def once(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    dim = head[1] % 6 + 1
    assert_same(kernels.parse_vectors(block, dim, 1), oracle.parse_vectors(block, dim, 1))
    load(block, "v.txt", **options_of(head[0]))
