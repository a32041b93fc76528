"""A matrix in one file and its words in another: `.npy`, safetensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.files import safetensors
from noppa.files.options import Options
from noppa.files.rows import Rows
from noppa.files.text import refuse_rough
from noppa.reference_text import LARGEST

BLOCK = 1 << 14


def read_arrays(path: Path, form: str, rows: Rows, options: Options) -> None:
    """Read a matrix file with the vocabulary beside it into `rows`."""
    scales = None
    if form == "npy":
        try:
            matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be read: {error}; copy or fetch it again") from error
    else:
        matrix, scales = safetensors.read_matrix(path)
    vocabulary = vocabulary_of(path, options)
    words = read_words(vocabulary)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fi" or matrix.shape[1] == 0:
        raise FileError(
            f"{path} holds {matrix.dtype} of shape {matrix.shape}, not a table of numbers"
        )
    if len(words) != len(matrix):
        raise FileError(
            f"{path} has {len(matrix)} rows and {vocabulary.name} {len(words)} words: they must match"
        )
    add_matrix(words, matrix, scales, rows, options)


def add_matrix(
    words: list[bytes],
    matrix: NDArray[Any],
    scales: NDArray[np.float32] | None,
    rows: Rows,
    options: Options,
) -> None:
    """Rows of an array with its words, checked and added block by block."""
    for start in range(0, len(words), BLOCK):
        values = np.asarray(matrix[start : start + BLOCK])
        if scales is not None:
            values = values * scales[start : start + BLOCK, None]
        if values.dtype not in (np.float32, np.float16):
            values = values.astype(np.float32)
        some = words[start : start + BLOCK]
        with np.errstate(invalid="ignore"):
            good = (np.abs(values) <= np.float32(LARGEST)).all(axis=1)
        for row in np.flatnonzero(~good).tolist():
            complaint = f"row {start + row}, of {some[row].decode('utf-8', 'replace')!r}, has values that are not finite or too large"
            if options.on_error == "error":
                raise FileError(
                    f"{rows.report.path}: {complaint}; mend it, or pass on_error='skip'"
                )
            rows.report.skip(complaint)
        if not good.all():
            some = [word for word, kept in zip(some, good, strict=True) if kept]
            values = values[good]
        rough = [at for at, word in enumerate(some) if not word.isascii() and not _is_utf8(word)]
        for at in rough if options.errors != "replace" else ():
            refuse_rough(some[at], 0, f"word {start + at + 1}", options, rows.report)
        bounds = np.cumsum([0, *map(len, some)], dtype=np.int64)
        rows.add(b"".join(some), bounds, values, np.array(rough, np.int64))
        if options.progress is not None:
            options.progress(min(start + BLOCK, len(words)), len(words))
        if rows.full:
            return


def vocabulary_of(path: Path, options: Options) -> Path:
    """The file with the words of a matrix file: the one given, else the first of the usual names."""
    if options.vocabulary is not None:
        return Path(options.vocabulary)
    usual = [
        path.with_suffix(".vocab.txt"),
        path.with_suffix(".txt"),
        path.with_suffix(".vocab"),
        path.with_name("vocab.txt"),
        path.with_name("tokenizer.json"),
    ]
    for file in usual:
        if file.is_file():
            return file
    raise FileError(
        f"{path} has no vocabulary beside it: put its words, one a line, in {usual[0].name}, or pass vocabulary="
    )


def read_words(path: Path) -> list[bytes]:
    """The words of a text file, one a line, or of a `tokenizer.json`."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"vocabulary {path}: {error.strerror or error}") from error
    if path.suffix != ".json":
        lines = content.removesuffix(b"\n").split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]
    try:
        vocabulary = json.loads(content)
        vocabulary = vocabulary.get("model", {}).get("vocab", vocabulary)
        if isinstance(vocabulary, dict):
            ordered = sorted(vocabulary, key=vocabulary.__getitem__)
        else:
            ordered = [item if isinstance(item, str) else item[0] for item in vocabulary]
        return [word.encode("utf-8", "replace") for word in ordered]
    except (ValueError, AttributeError, TypeError, KeyError) as error:
        raise FileError(f"vocabulary {path} is no list of words: {error}") from error


def _is_utf8(word: bytes) -> bool:
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True
