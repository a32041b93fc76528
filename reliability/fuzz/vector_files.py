"""Fuzz the readers of word vectors and word counts: one-line errors, or finite vectors.

The native parsers are compared with their Python implementation in tests/oracle.
"""

from __future__ import annotations

import io
import json
import struct
import tempfile
import warnings
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import numpy as np

from noppa import NoppaError, WordVectors
from noppa import _native as kernels
from noppa.words import formats
from tests import oracle
from tests.fasttext_files import DICTIONARY, made_model

#: Options chosen by the bits of a byte.
OPTIONS: list[dict[str, Any]] = [
    {"on_error": "skip"},
    {"strict": True},
    {"header": True},
    {"header": False},
    {"limit": 2},
    {"dtype": "int8"},
]


def options_of(byte: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    for bit, option in enumerate(OPTIONS):
        if byte >> bit & 1:
            chosen |= option
    return chosen


def load(data: bytes, name: str, others: dict[str, bytes] | None = None, **options: Any) -> None:
    """Load a file, and check that it gives a one-line error or finite vectors."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for file, content in {name: data, **(others or {})}.items():
            Path(folder, file).write_bytes(content)
        try:
            # WordVectors.load would import noppa.words.formats too late for atheris to instrument it.
            words = WordVectors.from_loaded(
                formats.read(Path(folder, name), formats.Options(**options))
            )
            words = words.for_tokens([["kuchen", "\udcff", ""]], 1)
        except NoppaError as error:
            return check_error(error)
        rows = words.vectors(np.arange(len(words)))
        assert len(words.words) == len(rows) > 0
        assert np.isfinite(rows).all(), "vectors are not finite"


def check_error(error: NoppaError) -> None:
    assert "\n" not in str(error), f"an error of several lines: {error}"
    assert len(str(error)) < 2000, "an endless error"


def check_equal(native: tuple[Any, ...], python: tuple[Any, ...]) -> None:
    for left, right in zip(native, python, strict=True):
        np.testing.assert_array_equal(left, right)


#: A byte of options, a byte for the dimension, and the file.
VECTOR_TEXT_SEEDS = [
    b"\x00\x01the 0.1 0.2\ncake 0.3 -4e-2\n",
    b"\x10\x022 3\nthe 1 2 3\ncake .5 1. +7\n",
    b"\x01\x00a\tb 1\r\n\n  2 3.5\nNew York 0.25 \n",
    b"\x03\x01caf\xc3 1 2\n\xef\xbb\xbfx 3 4\nbad x y\n",
    b"\x00\x0016777217 1.00000005960464477539062500001\nx 7.0064923216240853546e-46\nnan 1e15\ny 1000000000000001",
    b"\x20\x011 2\n3 4\n5 1e-9999999 nan",
]


def vector_text(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    arguments = block, head[1] % 6 + 1, 1
    check_equal(kernels.parse_vectors(*arguments), oracle.parse_vectors(*arguments))
    load(block, "v.txt", **options_of(head[0]))


ROW = struct.pack("<2f", 1.5, -1e-40)
BAD_ROW = struct.pack("<2f", float("nan"), 1e30)
#: A byte of options, a byte for dimension and count, and a file in word2vec's binary format.
VECTOR_BINARY_SEEDS = [
    b"\x00\x012 2\nthe " + ROW + b"\ncake " + ROW + b"\n",
    b"\x01\x013 2\nthe " + ROW + b"caf\xc3 " + ROW + b"x " + BAD_ROW,
    b"\x00\x1599999999999999999999 2\nthe " + ROW,
    b"\x00\x011 4611686018427387904\nthe " + ROW,
    b"\x08\x012 2\n " + ROW + b"\n " + ROW[:5],
]


def vector_binary(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    arguments = block, head[1] % 5 + 1, head[1] // 5
    check_equal(kernels.parse_records(*arguments), oracle.parse_records(*arguments))
    load(block, "v.bin", **options_of(head[0]))


MODEL = made_model()
QUANTIZED_MODEL = MODEL[: DICTIONARY + 60] + b"\1" + MODEL[DICTIONARY + 60 :]
#: A byte of options, a byte for sizes of n-grams, and a fastText model.
FASTTEXT_MODEL_SEEDS = [
    b"\x00\x22" + MODEL,
    b"\x01\x13" + made_model(bucket=0, longest=0),
    b"\x40\x05" + MODEL[:-7],
    b"\x00\x31" + QUANTIZED_MODEL,
    b"\x02\x64" + MODEL.replace(b"the", b"t\xffe"),
]


def fasttext_model(data: bytes) -> None:
    head, block = data[:2].ljust(2, b"\0"), data[2:]
    content = np.frombuffer(block, np.uint8)
    start, count = head[1] % 16, head[1] // 16
    entries = kernels.parse_entries(content, start, count)
    check_equal(entries[3:], oracle.parse_entries(content, start, count)[3:])
    bounds = np.array([0, len(content) // 2, len(content)], np.int64)
    if len(content) <= 2048:
        arguments = content, bounds, start % 4, count % 7, 97
        check_equal(kernels.ngram_buckets(*arguments), oracle.ngram_buckets(*arguments))
    load(block, "model.bin", **options_of(head[0]))
    load(block, "model.bin", keep=["the", "kuchen", "\udcff"])


MATRIX = np.float32([[1, 2], [3, 4], [5, 6]])


def npy_seed(vocabulary: bytes, matrix: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, matrix, allow_pickle=True)
    return vocabulary + b"\0" + file.getvalue()


#: A vocabulary (JSON if it begins with a brace or a bracket), a zero byte, and the matrix.
NPY_VECTORS_SEEDS = [
    npy_seed(b"the\na\ncake\n", MATRIX),
    npy_seed(b"the\r\na\r\ncaf\xc3", MATRIX.astype(">f8")),
    npy_seed(b'{"model": {"vocab": {"the": 0, "a": 1, "\\ud800": 2}}}', np.asfortranarray(MATRIX)),
    npy_seed(b'["the", ["a", -1.5], "cake"]', MATRIX.astype("<i8")),
    npy_seed(b"the\n", np.array([[None, "x"]], object)),
    b"the\0\x93NUMPY\1\0\x48\0{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
]


def npy_vectors(data: bytes) -> None:
    vocabulary, _, content = data.partition(b"\0")
    name = "tokenizer.json" if vocabulary[:1] in (b"{", b"[") else "vocab.txt"
    load(content, "v.npy", {name: vocabulary})


def safetensors_seed(data: bytes, **tensors: tuple[str, list[int], list[int]]) -> bytes:
    names = ("dtype", "shape", "data_offsets")
    header = {name: dict(zip(names, facts, strict=True)) for name, facts in tensors.items()}
    return json.dumps(header).encode() + b"\0" + data


#: The header, a zero byte, and the data.
SAFETENSORS_SEEDS = [
    safetensors_seed(MATRIX.tobytes(), embeddings=("F32", [3, 2], [0, 24])),
    safetensors_seed(MATRIX.astype("<f8").tobytes(), a=("F64", [3, 2], [0, 48])),
    safetensors_seed(
        b"\1\2\3\4\5\6" + MATRIX[:, 0].tobytes(),
        embeddings=("I8", [3, 2], [0, 6]),
        scales=("F32", [3], [6, 18]),
    ),
    safetensors_seed(b"\x80\x3f" * 6, x=("BF16", [3, 2], [0, 12])),
    safetensors_seed(b"", embeddings=("F32", [4611686018427387904, 4], [0, 0])),
    b'{"__metadata__": {"format": "pt"}, "a": {"dtype": "I64", "shape": [], "data_offsets": [-1, 1e9]}}\0',
]


def safetensors(data: bytes) -> None:
    header, _, content = data.partition(b"\0")
    # Two bytes may change the stored length of the header.
    length = len(header) if content[:2] != b"\xff\xff" else int.from_bytes(content[2:8], "little")
    file = length.to_bytes(8, "little") + header + content
    load(file, "v.safetensors", {"vocab.txt": b"the\na\ncake\n"})


COUNTED = WordVectors(["the", "cake", "."], np.eye(3))
#: A byte that chooses the handling of invalid UTF-8, and a file of word counts.
COUNTS_SEEDS = [
    b"\0the 9\ncake 1\n",
    b"\1the\t9\r\n  New York 3.5\ncaf\xc3 1\n",
    b"\2The 1e3\nthe 2\n\xff 7",
    b"\0the 1e18\ncake " + b"9" * 400 + b"\n",
    b"\0the nan\ncake inf\n. -0\n",
]


def counts(data: bytes) -> None:
    on_error = ("raise", "skip")[data[0] % 2] if data else "raise"
    with NamedTemporaryFile() as file:
        file.write(data[1:])
        file.flush()
        try:
            words = COUNTED.with_counts(file.name, on_error=on_error)
        except NoppaError as error:
            return check_error(error)
    values = words.probabilities
    assert values is not None
    assert ((values >= 0) & (values <= 1)).all(), f"not probabilities: {values}"
