"""The safetensors format: 8 bytes of length, a JSON header, raw little-endian arrays."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.words.formats.row_buffer import write_array

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I8": "|i1", "BF16": "<u2"}
NAMES = {
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(np.int8): "I8",
    np.dtype(np.int64): "I64",
}
MATRIX, SCALES = "embeddings", "scales"

#: The format's own limit.
LONGEST_HEADER = 100_000_000


class Tensor(NamedTuple):
    """One entry of the header; `begin` and `end` are offsets in the file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


def read_matrix(path: Path) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """The table of vectors in a file, mapped (BF16 widened to float32), and its scales where it has 8-bit rows."""
    tensors = _header(path)
    tables = {name: tensor for name, tensor in tensors.items() if len(tensor.shape) == 2}
    name = MATRIX if MATRIX in tables else next(iter(tables), "")
    if not tables or (len(tables) > 1 and name != MATRIX):
        listed = ", ".join(map(repr, list(tables)[:5]))
        raise FileError(
            f"{path} holds {len(tables)} tables ({listed or 'none'}): one is needed, or one called {MATRIX}"
        )
    matrix = _mapped(path, name, tables[name])
    if SCALES not in tensors:
        return matrix, None
    scales = _mapped(path, SCALES, tensors[SCALES])
    if scales.shape != matrix.shape[:1] or scales.dtype.kind != "f":
        raise FileError(
            f"{path} has {len(matrix)} rows and scales of type {scales.dtype} and shape {scales.shape}: "
            "one number a row is needed"
        )
    return matrix, scales


def _header(path: Path) -> dict[str, Tensor]:
    """The arrays of a file by name, checked to lie inside it without overlap."""
    size = path.stat().st_size
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if length > min(size - 8, LONGEST_HEADER):
                raise ValueError(f"it would be {length} bytes long")
            text = file.read(length).decode()
        header = json.loads(text, object_pairs_hook=_without_repeats)
        if not isinstance(header, dict):
            raise TypeError("it is no table of arrays")
        header.pop("__metadata__", None)
        tensors = {name: _tensor(name, entry, 8 + length) for name, entry in header.items()}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(
            f"{path} has a damaged safetensors header: {error}; fetch it again"
        ) from error
    ordered = sorted(tensors.items(), key=lambda item: item[1].begin)
    for (name, tensor), (after, following) in pairwise(ordered):
        if following.begin < tensor.end:
            raise FileError(
                f"{path} has a damaged safetensors header: {name!r} and {after!r} overlap; fetch it again"
            )
    if any(tensor.end > size for tensor in tensors.values()):
        raise FileError(f"{path} is cut short at {size} bytes: download or copy it again")
    return tensors


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise ValueError("a name stands in it twice")
    return table


def _tensor(name: str, entry: Any, start: int) -> Tensor:
    if not isinstance(entry, dict):
        raise TypeError(f"{name!r} is no array")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not _sizes(shape) or not _sizes(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise ValueError(
            f"the shape and data_offsets of {name!r} are {shape!r} and {offsets!r}"[:200]
        )
    return Tensor(str(dtype), tuple(shape), start + offsets[0], start + offsets[1])


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


def _mapped(path: Path, name: str, tensor: Tensor) -> NDArray[Any]:
    if tensor.dtype not in DTYPES:
        raise FileError(
            f"{path}: tensor {name} has type {tensor.dtype[:20]!r}, and noppa reads {', '.join(DTYPES)}"
        )
    kind = np.dtype(DTYPES[tensor.dtype])
    size = tensor.end - tensor.begin
    # Multiplied as Python integers: those of NumPy overflow.
    if not size or math.prod(tensor.shape) * kind.itemsize != size:
        raise FileError(f"{path}: tensor {name} has {size} bytes, which do not fit {tensor.shape}")
    array: NDArray[Any] = np.memmap(path, kind, "r", tensor.begin, tensor.shape)
    if tensor.dtype == "BF16":
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
            write_array(file, array)
