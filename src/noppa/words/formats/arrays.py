"""A matrix in one file and its words in another: `.npy`, safetensors."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from noppa.constants import LARGEST_VALUE
from noppa.errors import FileError
from noppa.extras import needs
from noppa.io.paths import read_bytes
from noppa.words.formats.rows import LARGEST_DIM, Options, Rows

BLOCK = 1 << 14
#: The names of the table and of the scales of its rows in a safetensors file.
MATRIX, SCALES = "embeddings", "scales"


def read_arrays(path: Path, format: str, rows: Rows) -> None:
    """Read a matrix file with the vocabulary beside it into `rows`."""
    if format == "npy":
        _add_with_words(path, _map_npy(path), None, rows)
        return
    with needs("safetensors", "a safetensors file"):
        from safetensors import SafetensorError, safe_open
    try:
        with safe_open(path, framework="numpy") as file:
            tensors = {name: file.get_slice(name) for name in [*file.keys()]}
            tables = [name for name, part in tensors.items() if len(part.get_shape()) == 2]
            if MATRIX not in tables and len(tables) != 1:
                raise FileError(
                    f"{path} holds {len(tables)} tables: it must hold one, or one called {MATRIX}"
                )
            matrix = MATRIX if MATRIX in tables else tables[0]
            scales = np.asarray(file.get_tensor(SCALES)) if SCALES in tensors else None
            _add_with_words(path, _Slices(tensors[matrix]), scales, rows)
    # dtypes that NumPy lacks raise TypeError or AttributeError
    except (SafetensorError, TypeError, AttributeError) as error:
        raise FileError(f"{path} cannot be read: {_one_line(error)}; fetch it again") from error


class _Slices:
    """A tensor that is read block by block."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor
        self.shape = tuple(tensor.get_shape())
        self.dtype = tensor[0:0].dtype

    def __getitem__(self, block: slice) -> NDArray[Any]:
        return np.asarray(self._tensor[block.start : min(block.stop, self.shape[0])])


def _add_with_words(path: Path, matrix: Any, scales: NDArray[Any] | None, rows: Rows) -> None:
    _check_table(path, matrix.shape, matrix.dtype)
    count = matrix.shape[0]
    if scales is not None and (scales.shape != (count,) or scales.dtype.kind != "f"):
        raise FileError(
            f"{path} has {count} rows and scales of type {scales.dtype} and shape {scales.shape}, expected ({count},)"
        )
    vocabulary = vocabulary_of(path, rows.options)
    words = read_words(vocabulary)
    if len(words) != count:
        raise FileError(f"{path} has {count} rows, but {vocabulary.name} has {len(words)} words")
    add_matrix(words, matrix, scales, rows)


def _check_table(path: Path, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    is_table = len(shape) == 2 and shape[0] > 0 and 0 < shape[1] <= LARGEST_DIM
    if not is_table or dtype.kind not in "fi":
        raise FileError(f"{path} holds {dtype} of shape {shape}, which is not a table of numbers")


def _map_npy(path: Path) -> NDArray[Any]:
    """Map an `.npy` file after comparing its header with its size: NumPy multiplies shapes without overflow checks."""
    try:
        with path.open("rb") as file:
            major, _ = npy_format.read_magic(file)
            reader = {1: npy_format.read_array_header_1_0, 2: npy_format.read_array_header_2_0}[
                major
            ]
            shape, fortran, dtype = reader(file)
            start = file.tell()
    # The header is a Python literal, and a damaged one can raise anything.
    except Exception as error:
        raise FileError(
            f"{path} has a damaged header: {_one_line(error)}; fetch it again"
        ) from error
    _check_table(path, shape, dtype)
    if start + math.prod(shape) * dtype.itemsize > path.stat().st_size:
        raise FileError(f"{path} is too short for {dtype} of shape {shape}: fetch it again")
    return np.memmap(path, dtype, "r", start, shape, "F" if fortran else "C")


def _one_line(error: Exception) -> str:
    """Return the message of another library's error on one line, cut to 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def add_matrix(words: list[bytes], matrix: Any, scales: NDArray[Any] | None, rows: Rows) -> None:
    """Check the rows of an array, or of anything that can be sliced, and add them with their words."""
    report, options = rows.report, rows.options
    for start in range(0, len(words), BLOCK):
        values = np.asarray(matrix[start : start + BLOCK])
        names = words[start : start + BLOCK]
        with np.errstate(invalid="ignore", over="ignore"):
            if scales is not None:
                values = values * scales[start : start + BLOCK, None]
            if values.dtype not in (np.float32, np.float16):
                values = values.astype(np.float32)
            good = (np.abs(values) <= np.float32(LARGEST_VALUE)).all(axis=1)
        for row in np.flatnonzero(~good).tolist():
            shown = names[row].decode("utf-8", "replace")
            complaint = f"the vector of {shown!r} has values that are not finite or too large"
            report.reject(f"row {start + row}", complaint, options.on_error)
        if not good.all():
            names = [word for word, is_good in zip(names, good, strict=True) if is_good]
            values = values[good]
        valid = (
            word.isascii() or word.decode("utf-8", "ignore").encode() == word for word in names
        )
        invalid = [row for row, is_valid in enumerate(valid) if not is_valid]
        for row in invalid:
            rows.reject_invalid(names[row], 0, f"word {start + row + 1}")
        bounds = np.cumsum([0, *map(len, names)], dtype=np.int64)
        rows.add(b"".join(names), bounds, values, np.array(invalid, np.int64))
        if options.progress is not None:
            options.progress(min(start + BLOCK, len(words)), len(words))
        if rows.full:
            return


def vocabulary_of(path: Path, options: Options) -> Path:
    """Return the vocabulary of a matrix file: that of the options, else the first of the usual names that exists."""
    if options.vocabulary is not None:
        return Path(options.vocabulary)
    candidates = [
        *map(path.with_suffix, (".vocab.txt", ".txt", ".vocab")),
        *map(path.with_name, ("vocab.txt", "tokenizer.json")),
    ]
    for file in candidates:
        if file.is_file():
            return file
    raise FileError(
        f"{path} has no vocabulary beside it",
        f"put its words, one per line, in {candidates[0].name}, or pass vocabulary=",
    )


def read_words(path: Path) -> list[bytes]:
    """Return the words of a text file, one per line, or of a `tokenizer.json`."""
    content = read_bytes(path, f"vocabulary {path}")
    if path.suffix != ".json":
        lines = content.removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]
    try:
        vocabulary = json.loads(content)
        if isinstance(vocabulary, dict) and isinstance(vocabulary.get("model"), dict):
            vocabulary = vocabulary["model"].get("vocab")
        if isinstance(vocabulary, dict):
            ordered = sorted(vocabulary, key=vocabulary.__getitem__)
            if [vocabulary[word] for word in ordered] != list(range(len(ordered))):
                raise ValueError("the numbers of its words are not 0, 1, 2 and so on")
        else:
            ordered = [item if isinstance(item, str) else item[0] for item in vocabulary]
        # A lone surrogate stays invalid UTF-8 here, so that it is reported as such.
        return [word.encode("utf-8", "surrogatepass") for word in ordered]
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError) as error:
        raise FileError(f"vocabulary {path} is not a list of words: {_one_line(error)}") from error
