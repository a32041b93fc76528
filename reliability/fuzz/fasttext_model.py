"""fastText models: the native reader against its twin, and whole files under any options."""

from __future__ import annotations

import numpy as np

from noppa import _native as kernels
from reliability.fuzz._vector_files import assert_same, load, options_of
from tests import oracle
from tests.fasttext_files import DICTIONARY, made_model

MODEL = made_model()
QUANTIZED = MODEL[: DICTIONARY + 60] + b"\1" + MODEL[DICTIONARY + 60 :]

#: A byte of options, a byte for sizes of n-grams, and the file.
SEEDS = [
    b"\x00\x22" + MODEL,
    b"\x01\x13" + made_model(bucket=0, longest=0),
    b"\x40\x05" + MODEL[:-7],
    b"\x00\x31" + QUANTIZED,
    b"\x02\x64" + MODEL.replace(b"the", b"t\xffe"),
]


def once(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    content = np.frombuffer(block, np.uint8)
    start, count = head[1] % 16, head[1] // 16
    entries = kernels.parse_entries(content, start, count)
    assert_same(entries[3:], oracle.parse_entries(content, start, count)[3:])
    bounds = np.array([0, len(content) // 2, len(content)], np.int64)
    if len(content) <= 2048:
        arguments = content, bounds, start % 4, count % 7, 97
        assert_same(kernels.ngram_buckets(*arguments), oracle.ngram_buckets(*arguments))
    load(block, "model.bin", **options_of(head[0]))
    load(block, "model.bin", keep=["the", "kuchen", "\udcff"])
