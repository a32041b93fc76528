"""Matrices in `.npy`, and the vocabularies beside them."""

from __future__ import annotations

import io

import numpy as np

from reliability.fuzz._vector_files import load


def made(vocabulary: bytes, matrix: np.ndarray) -> bytes:  # type: ignore[type-arg]
    file = io.BytesIO()
    np.save(file, matrix, allow_pickle=True)
    return vocabulary + b"\0" + file.getvalue()


MATRIX = np.float32([[1, 2], [3, 4], [5, 6]])

#: A vocabulary, as JSON where it begins with a brace or a bracket, a zero byte, and the file.
SEEDS = [
    made(b"the\na\ncake\n", MATRIX),
    made(b"the\r\na\r\ncaf\xc3", MATRIX.astype(">f8")),
    made(b'{"model": {"vocab": {"the": 0, "a": 1, "\\ud800": 2}}}', np.asfortranarray(MATRIX)),
    made(b'["the", ["a", -1.5], "cake"]', MATRIX.astype("<i8")),
    made(b"the\n", np.array([[None, "x"]], object)),
    b"the\0\x93NUMPY\1\0\x48\0{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
]


def once(data: bytes) -> None:
    vocabulary, _, content = data.partition(b"\0")
    name = "tokenizer.json" if vocabulary[:1] in (b"{", b"[") else "vocab.txt"
    load(content, "v.npy", {name: vocabulary})
