"""Options of a load, its report, and the collected rows: what all readers of vector files share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, InputError, ParameterError, warn
from noppa.parameters import one_of, whole
from noppa.words.ngram_vectors import SENTENCE_END

#: Called with the bytes read so far and the bytes in all.
Progress = Callable[[int, int], None]

#: A row takes up to 4 MB.
LARGEST_DIM = 1 << 20
DTYPES = ("float32", "float16", "int8")
#: How many skipped lines a report lists.
LISTED = 100


@dataclass(frozen=True)
class Options:
    """Checked options of `WordVectors.load`, which documents them."""

    limit: int | None = None
    keep: Collection[str] | None = None
    drop: Collection[str] = (SENTENCE_END,)
    dtype: str = "float32"
    header: bool | None = None
    on_error: str = "raise"
    strict: bool = False
    member: str | None = None
    vocabulary: str | PathLike[str] | None = None
    threads: int | None = None
    progress: Progress | None = None
    scratch: Path | None = None
    """A folder on disk for the rows, which then are mapped instead of held in memory."""

    def __post_init__(self) -> None:
        if self.limit is not None:
            object.__setattr__(self, "limit", whole(self.limit, "limit", 1))
        for name, value in (("keep", self.keep), ("drop", self.drop)):
            if isinstance(value, str):
                raise InputError(
                    f"{name} is a str", f"give a collection of words such as [{value!r}]"
                )
        one_of(self.dtype, "dtype", DTYPES)
        one_of(self.header, "header", (True, False, None))
        one_of(self.on_error, "on_error", ("raise", "skip"))


@dataclass
class Report:
    """How a vector file was read: its format, its size, and what was skipped."""

    path: str
    format: str = ""
    compression: str = "none"
    skipped_count: int = 0
    skipped: list[str] = field(default_factory=list)
    """The first skipped lines, each with its reason."""
    zero_count: int = 0
    """How many vectors are all zeros; they are kept."""
    truncated: bool = False

    def reject(self, where: str, complaint: str, on_error: str) -> None:
        """Raise for a row that cannot be used, or count it as skipped."""
        if on_error == "raise":
            raise FileError(f"{self.path}, {where}: {complaint}", "pass on_error='skip' to skip it")
        self.skipped_count += 1
        if len(self.skipped) < LISTED:
            self.skipped.append(f"{where}: {complaint}")

    def truncate(self, complaint: str, strict: bool) -> None:
        """Warn once that the file ends early; raise if `strict`."""
        already_warned, self.truncated = self.truncated, True
        if strict:
            raise FileError(f"{self.path} {complaint}: fetch it again, or pass strict=False")
        if not already_warned:
            warn(f"{self.path} {complaint}: the rows before that were loaded; fetch it again")


class Rows:
    """Collects blocks of words and vectors in their final dtype, so that memory stays near the size of the result."""

    def __init__(self, options: Options, report: Report) -> None:
        self.options = options
        self.report = report
        self.count = 0
        self._keep = None if options.keep is None else set(map(_encode, options.keep))
        self._drop = set(map(_encode, options.drop))
        self._text: list[bytes] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._store: _GrowingRows | _ScratchFile | None = None

    @property
    def full(self) -> bool:
        return self.options.limit is not None and self.count >= self.options.limit

    def reject_invalid(self, word: bytes, offset: int, where: str) -> None:
        """Raise for a word that is not UTF-8, or count it as skipped; `offset` is that of the word in the file."""
        try:
            word.decode()
        except UnicodeDecodeError as error:
            shown = word.decode("utf-8", "replace")
            complaint = f"byte {offset + error.start} of the word {shown!r} is not UTF-8"
            self.report.reject(where, complaint, self.options.on_error)

    def add(
        self,
        text: bytes,
        bounds: NDArray[np.int64],
        matrix: NDArray[Any],
        invalid_rows: NDArray[np.int64],
    ) -> None:
        """Add a block: words text[bounds[i]:bounds[i + 1]], matrix (rows, dim); skip the invalid rows."""
        lengths = np.diff(bounds)
        if self._keep is not None or len(invalid_rows) or any(word in text for word in self._drop):
            text, lengths, matrix = self._filter(text, bounds, matrix, set(invalid_rows.tolist()))
        if self.options.limit is not None and self.count + len(matrix) > self.options.limit:
            lengths = lengths[: self.options.limit - self.count]
            matrix = matrix[: len(lengths)]
            text = text[: int(lengths.sum())]
        if not len(matrix):
            return
        self.report.zero_count += int(np.count_nonzero(~matrix.any(axis=1)))
        self._text.append(text)
        self._lengths.append(lengths)
        self.count += len(matrix)
        if self._store is None:
            dtype, scratch = np.dtype(self.options.dtype), self.options.scratch
            width = matrix.shape[1]
            self._store = (
                _ScratchFile(scratch, dtype, width) if scratch else _GrowingRows(dtype, width)
            )
        converted, scales = in_dtype(matrix, self.options.dtype)
        if scales is not None:
            self._scales.append(scales)
        self._store.add(converted)

    def _filter(
        self, text: bytes, bounds: NDArray[np.int64], matrix: NDArray[Any], invalid_rows: set[int]
    ) -> tuple[bytes, NDArray[np.int64], NDArray[Any]]:
        words, rows = [], []
        for row, (begin, end) in enumerate(pairwise(bounds.tolist())):
            word = text[begin:end]
            is_kept = self._keep is None or word in self._keep
            if is_kept and word not in self._drop and row not in invalid_rows:
                words.append(word)
                rows.append(row)
        lengths = np.array([len(word) for word in words], np.int64)
        return b"".join(words), lengths, matrix[rows]

    def finish(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[Any], NDArray[np.float32] | None]:
        """Return text (bytes,), bounds (rows + 1,), matrix (rows, dim), scales (rows,) or None."""
        if self._store is None:
            raise FileError(f"{self.report.path} gave no vectors: none of its rows is kept")
        text = np.frombuffer(b"".join(self._text), np.uint8)
        bounds = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))]).astype(np.int64)
        scales = np.concatenate(self._scales) if self._scales else None
        return text, bounds, self._store.finish(), scales


def _encode(word: str) -> bytes:
    """Encode a word; a lone surrogate becomes bytes that no UTF-8 file holds, so that it matches nothing."""
    return word.encode("utf-8", "surrogatepass")


class _GrowingRows:
    """Rows in one array that grows by an eighth: Linux moves its pages instead of copying them."""

    def __init__(self, dtype: np.dtype[Any], dim: int) -> None:
        self._rows: NDArray[Any] = np.empty((0, dim), dtype)
        self._count = 0

    def add(self, matrix: NDArray[Any]) -> None:
        end = self._count + len(matrix)
        if end > len(self._rows):
            self._resize(max(end, len(self._rows) * 9 // 8))
        self._rows[self._count : end] = matrix
        self._count = end

    def finish(self) -> NDArray[Any]:
        self._resize(self._count)
        return self._rows

    def _resize(self, rows: int) -> None:
        self._rows.resize((rows, self._rows.shape[1]), refcheck=False)


class _ScratchFile:
    """Rows in a file on disk, mapped at the end: for tables larger than memory."""

    def __init__(self, folder: Path, dtype: np.dtype[Any], dim: int) -> None:
        self.path = folder / "rows"
        self.dtype, self.dim = dtype, dim
        self.count = 0

    def add(self, matrix: NDArray[Any]) -> None:
        with self.path.open("ab") as file:
            write_array(file, matrix.astype(self.dtype, copy=False))
        self.count += len(matrix)

    def finish(self) -> NDArray[Any]:
        return np.memmap(self.path, self.dtype, "r", shape=(self.count, self.dim))


def in_dtype(matrix: NDArray[Any], dtype: str) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """Convert rows to `dtype`; int8 has one scale per row, with which its largest value is 127."""
    if dtype == "float16" and matrix.dtype != np.float16:
        largest = np.abs(matrix).max(initial=0)
        if largest > np.finfo(np.float16).max:
            raise ParameterError(
                f"a value of size {largest:g} does not fit float16", "use float32 or int8"
            )
    if dtype != "int8":
        return matrix.astype(dtype, copy=False), None
    values = matrix.astype(np.float32, copy=False)
    scales = (np.abs(values).max(axis=1) / 127).astype(np.float32)
    divisors = np.where(scales > 0, scales, 1)[:, None]
    return np.clip(np.rint(values / divisors), -127, 127).astype(np.int8), scales


def write_array(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write the bytes of an array; unlike `tofile`, an error has the system's reason."""
    file.write(np.ascontiguousarray(array).data)
