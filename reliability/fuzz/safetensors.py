"""Matrices in safetensors: a header and its data, which need not fit each other."""

from __future__ import annotations

import json

import numpy as np

from reliability.fuzz._vector_files import load

VOCABULARY = {"vocab.txt": b"the\na\ncake\n"}
MATRIX = np.float32([[1, 2], [3, 4], [5, 6]])


def made(data: bytes, **tensors: tuple[str, list[int], list[int]]) -> bytes:
    names = ("dtype", "shape", "data_offsets")
    header = {name: dict(zip(names, facts, strict=True)) for name, facts in tensors.items()}
    return json.dumps(header).encode() + b"\0" + data


#: The header, a zero byte, and the data.
SEEDS = [
    made(MATRIX.tobytes(), embeddings=("F32", [3, 2], [0, 24])),
    made(MATRIX.astype("<f8").tobytes(), a=("F64", [3, 2], [0, 48])),
    made(
        b"\1\2\3\4\5\6" + MATRIX[:, 0].tobytes(),
        embeddings=("I8", [3, 2], [0, 6]),
        scales=("F32", [3], [6, 18]),
    ),
    made(b"\x80\x3f" * 6, x=("BF16", [3, 2], [0, 12])),
    made(b"", embeddings=("F32", [4611686018427387904, 4], [0, 0])),
    b'{"__metadata__": {"format": "pt"}, "a": {"dtype": "I64", "shape": [], "data_offsets": [-1, 1e9]}}\0',
]


def once(data: bytes) -> None:
    header, _, content = data.partition(b"\0")
    # Two bytes may change the length that is written before the header.
    length = len(header) if content[:2] != b"\xff\xff" else int.from_bytes(content[2:8], "little")
    load(length.to_bytes(8, "little") + header + content, "v.safetensors", VOCABULARY)
