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
from noppa.io.inputs import read_whole
from noppa.words.formats import safetensors
from noppa.words.formats.load_options import Options
from noppa.words.formats.row_buffer import Rows
from noppa.words.formats.sniff import LARGEST_DIM
from noppa.words.formats.text_lines import refuse_invalid_word

BLOCK = 1 << 14


def read_arrays(path: Path, form: str, rows: Rows, options: Options) -> None:
    """Read a matrix file with the vocabulary beside it into `rows`."""
    matrix, scales = (_map_npy(path), None) if form == "npy" else safetensors.read_matrix(path)
    if not _is_table(matrix.shape, matrix.dtype):
        raise FileError(
            f"{path} holds {matrix.dtype} of shape {matrix.shape}, not a table of numbers"
        )
    vocabulary = vocabulary_of(path, options)
    words = read_words(vocabulary)
    if len(words) != len(matrix):
        raise FileError(
            f"{path} has {len(matrix)} rows and {vocabulary.name} {len(words)} words: they must match"
        )
    add_matrix(words, matrix, scales, rows, options)


def _map_npy(path: Path) -> NDArray[Any]:
    """Map an `.npy` file after comparing its header with its size: NumPy multiplies shapes without overflow checks."""
    try:
        with path.open("rb") as file:
            major, _ = npy_format.read_magic(file)
            reader = {1: npy_format.read_array_header_1_0, 2: npy_format.read_array_header_2_0}[
                major
            ]
            shape, fortran, kind = reader(file)
            start = file.tell()
    # The header is a Python literal, and a damaged one can raise anything.
    except Exception as error:
        raise FileError(
            f"{path} has a damaged header: {one_line(error)}; copy or fetch it again"
        ) from error
    if not _is_table(shape, kind):
        raise FileError(f"{path} holds {kind} of shape {shape}, not a table of numbers")
    if start + math.prod(shape) * kind.itemsize > path.stat().st_size:
        raise FileError(f"{path} is cut short: {kind} of shape {shape} do not fit; fetch it again")
    return np.memmap(path, kind, "r", start, shape, "F" if fortran else "C")


def _is_table(shape: tuple[int, ...], kind: np.dtype[Any]) -> bool:
    return kind.kind in "fi" and len(shape) == 2 and shape[0] > 0 and 0 < shape[1] <= LARGEST_DIM


def one_line(error: Exception) -> str:
    """The message of another library's error, on one line and cut to 200 characters."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def add_matrix(
    words: list[bytes],
    matrix: Any,
    scales: NDArray[Any] | None,
    rows: Rows,
    options: Options,
) -> None:
    """Check the rows of an array, or of anything that gives slices of one, and add them with their words, block by block."""
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
            complaint = f"row {start + row}, of {names[row].decode('utf-8', 'replace')!r}, has values that are not finite or too large"
            if options.on_error == "raise":
                raise FileError(
                    f"{rows.report.path}: {complaint}; mend it, or pass on_error='skip'"
                )
            rows.report.skip(complaint)
        if not good.all():
            names = [word for word, is_good in zip(names, good, strict=True) if is_good]
            values = values[good]
        invalid = [at for at, word in enumerate(names) if not _is_utf8(word)]
        for at in invalid if options.errors != "replace" else ():
            refuse_invalid_word(names[at], 0, f"word {start + at + 1}", options, rows.report)
        bounds = np.cumsum([0, *map(len, names)], dtype=np.int64)
        rows.add(b"".join(names), bounds, values, np.array(invalid, np.int64))
        if options.progress is not None:
            options.progress(min(start + BLOCK, len(words)), len(words))
        if rows.full:
            return


def vocabulary_of(path: Path, options: Options) -> Path:
    """The vocabulary file of a matrix file: the one in the options, else the first of the usual names that exists."""
    if options.vocabulary is not None:
        return Path(options.vocabulary)
    candidates = [
        path.with_suffix(".vocab.txt"),
        path.with_suffix(".txt"),
        path.with_suffix(".vocab"),
        path.with_name("vocab.txt"),
        path.with_name("tokenizer.json"),
    ]
    for file in candidates:
        if file.is_file():
            return file
    raise FileError(
        f"{path} has no vocabulary beside it: put its words, one a line, in {candidates[0].name}, or pass vocabulary="
    )


def read_words(path: Path) -> list[bytes]:
    """The words of a text file, one a line, or of a `tokenizer.json`."""
    content = read_whole(path, f"vocabulary {path}")
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
        raise FileError(f"vocabulary {path} is no list of words: {one_line(error)}") from error


def _is_utf8(word: bytes) -> bool:
    if word.isascii():
        return True
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
