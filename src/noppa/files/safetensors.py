"""The safetensors format: 8 bytes of length, a JSON header, raw little-endian arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I8": "|i1", "BF16": "<u2"}
NAMES = {
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(np.int8): "I8",
    np.dtype(np.int64): "I64",
}
MATRIX, SCALES = "embeddings", "scales"


def read_matrix(path: Path) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """The table of vectors in a file, mapped (BF16 widened to float32), and its scales where it has 8-bit rows."""
    tensors = _header(path)
    tables = {name: facts for name, facts in tensors.items() if len(facts["shape"]) == 2}
    name = MATRIX if MATRIX in tables else next(iter(tables), "")
    if not tables or (len(tables) > 1 and name != MATRIX):
        raise FileError(
            f"{path} holds {len(tables)} tables ({', '.join(list(tables)[:5]) or 'none'}): "
            f"one is needed, or one called {MATRIX}"
        )
    matrix = _tensor(path, name, tables[name])
    scales = _tensor(path, SCALES, tensors[SCALES]) if SCALES in tensors else None
    return matrix, scales


def _header(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
        header.pop("__metadata__", None)
        size = path.stat().st_size
        for facts in header.values():
            begin, end = facts["data_offsets"]
            facts["at"], facts["bytes"] = 8 + length + begin, end - begin
            if facts["at"] + facts["bytes"] > size:
                raise FileError(f"{path} is cut short at {size} bytes: download or copy it again")
        return dict(header)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} has a damaged safetensors header: {error}; fetch it again"
        ) from error


def _tensor(path: Path, name: str, facts: dict[str, Any]) -> NDArray[Any]:
    if facts["dtype"] not in DTYPES:
        raise FileError(
            f"{path}: tensor {name} has type {facts['dtype']}, and noppa reads {', '.join(DTYPES)}"
        )
    shape = tuple(facts["shape"])
    kind = np.dtype(DTYPES[facts["dtype"]])
    if int(np.prod(shape)) * kind.itemsize != facts["bytes"]:
        raise FileError(
            f"{path}: tensor {name} has {facts['bytes']} bytes, which do not fit {shape}"
        )
    array: NDArray[Any] = np.memmap(path, kind, "r", facts["at"], shape)
    if facts["dtype"] == "BF16":
        return (array.astype(np.uint32) << 16).view(np.float32)
    return array


def write_matrix(path: Path, matrix: NDArray[Any], scales: NDArray[np.float32] | None) -> None:
    """One table called `embeddings`, with `scales` where its rows have 8 bits."""
    write_tensors(path, {MATRIX: matrix} | ({} if scales is None else {SCALES: scales}))


def write_tensors(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Arrays by name."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name, array in arrays.items():
        end = at + array.nbytes
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [at, end],
        }
        at = end
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            np.ascontiguousarray(array).tofile(file)
