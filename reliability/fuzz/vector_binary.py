"""word2vec's binary format: the native parser against its twin, and whole files under any options."""

from __future__ import annotations

import struct

from noppa import _native as kernels
from reliability.fuzz._vector_files import assert_same, load, options_of
from tests import oracle

ROW = struct.pack("<2f", 1.5, -1e-40)
BAD = struct.pack("<2f", float("nan"), 1e30)

#: A byte of options, a byte for dimension and count, and the file.
SEEDS = [
    b"\x00\x012 2\nthe " + ROW + b"\ncake " + ROW + b"\n",
    b"\x01\x013 2\nthe " + ROW + b"caf\xc3 " + ROW + b"x " + BAD,
    b"\x00\x1599999999999999999999 2\nthe " + ROW,
    b"\x00\x011 4611686018427387904\nthe " + ROW,
    b"\x08\x012 2\n " + ROW + b"\n " + ROW[:5],
]


def once(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    dim, most = head[1] % 5 + 1, head[1] // 5
    assert_same(kernels.parse_records(block, dim, most), oracle.parse_records(block, dim, most))
    load(block, "v.bin", **options_of(head[0]))
