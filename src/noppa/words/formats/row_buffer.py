"""Words and rows collected block by block in their final dtype, so that memory stays near the size of the result."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, ParameterError
from noppa.words.formats.load_options import Options
from noppa.words.formats.load_report import LISTED, Report
from noppa.words.matrix import Matrix
from noppa.words.word_table import WordTable

CHUNK_BYTES = 8 << 20


def in_dtype(matrix: NDArray[Any], dtype: str) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """Rows as `dtype`; int8 has one scale a row, with which the largest value is 127."""
    if dtype == "float16" and matrix.dtype != np.float16:
        largest = np.abs(matrix).max(initial=0)
        if largest > np.finfo(np.float16).max:
            raise ParameterError(
                f"a value of size {largest:g} does not fit float16: use float32 or int8"
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


def selected_rows(
    words: WordTable, options: Options, as_stored: bool
) -> tuple[NDArray[np.int64], Matrix]:
    """The rows that `limit` and `keep` leave, all pieces among them: their numbers, and the rows as stored or in a dtype."""
    lexicon = words.lexicon
    keep = None if options.keep is None else set(options.keep)
    rows = [row for row, word in enumerate(lexicon.plain_words) if keep is None or word in keep]
    rows = rows[: options.limit]
    if not rows:
        raise FileError(
            f"{words.path} gave no vectors: none of its {lexicon.whole_words} words is kept"
        )
    row_numbers = np.array([*rows, *range(lexicon.whole_words, len(lexicon))], np.int64)
    if as_stored:
        return row_numbers, words.rows.some(row_numbers)
    return row_numbers, Matrix(*in_dtype(words.rows.vectors(row_numbers), options.dtype))


class Rows:
    """Collects blocks of words and vectors under the options `limit`, `keep`, `drop`, `errors` and `dtype`."""

    def __init__(self, options: Options, report: Report) -> None:
        self.options = options
        self.report = report
        self.count = 0
        self._keep = None if options.keep is None else set(map(_encoded, options.keep))
        self._drop = set(map(_encoded, options.drop))
        self._text: list[bytes] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._scales: list[NDArray[np.float32]] = []
        self._store: _Chunks | _Spill | None = None

    @property
    def full(self) -> bool:
        return self.options.limit is not None and self.count >= self.options.limit

    def add(
        self,
        text: bytes,
        bounds: NDArray[np.int64],
        matrix: NDArray[Any],
        invalid_rows: NDArray[np.int64],
    ) -> None:
        """Add a block: words text[bounds[i]:bounds[i + 1]], matrix (rows, dim), invalid_rows have a word that is not UTF-8."""
        lengths = np.diff(bounds)
        if self._keep is not None or len(invalid_rows) or any(word in text for word in self._drop):
            text, lengths, matrix = self._filtered(text, bounds, matrix, set(invalid_rows.tolist()))
        if self.options.limit is not None and self.count + len(matrix) > self.options.limit:
            lengths = lengths[: self.options.limit - self.count]
            matrix = matrix[: len(lengths)]
            text = text[: int(lengths.sum())]
        if not len(matrix):
            return
        self._note_zeros(text, lengths, matrix)
        self._text.append(text)
        self._lengths.append(lengths)
        self.count += len(matrix)
        if self._store is None:
            kind = np.dtype(self.options.dtype)
            scratch = self.options.scratch
            width = matrix.shape[1]
            self._store = _Spill(scratch, kind, width) if scratch else _Chunks(kind, width)
        self._store.add(self._converted(matrix))

    def _filtered(
        self, text: bytes, bounds: NDArray[np.int64], matrix: NDArray[Any], invalid_rows: set[int]
    ) -> tuple[bytes, NDArray[np.int64], NDArray[Any]]:
        edges = bounds.tolist()
        words, rows = [], []
        for row, (begin, end) in enumerate(pairwise(edges)):
            word = text[begin:end]
            if row in invalid_rows:
                if self.options.errors == "skip":
                    continue
                word = word.decode("utf-8", "replace").encode()
            if word in self._drop:
                self.report.dropped.append(word.decode())
            elif self._keep is None or word in self._keep:
                words.append(word)
                rows.append(row)
        lengths = np.array([len(word) for word in words], np.int64)
        return b"".join(words), lengths, matrix[rows]

    def _note_zeros(self, text: bytes, lengths: NDArray[np.int64], matrix: NDArray[Any]) -> None:
        zero_rows = np.flatnonzero(~matrix.any(axis=1))
        self.report.zero_count += len(zero_rows)
        if len(zero_rows) and len(self.report.zero) < LISTED:
            ends = np.cumsum(lengths)
            for row in zero_rows[: LISTED - len(self.report.zero)].tolist():
                self.report.zero.append(text[ends[row] - lengths[row] : ends[row]].decode())

    def _converted(self, matrix: NDArray[Any]) -> NDArray[Any]:
        converted, scales = in_dtype(matrix, self.options.dtype)
        if scales is not None:
            self._scales.append(scales)
        return converted

    def finish(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[Any], NDArray[np.float32] | None]:
        """text (bytes,), bounds (rows + 1,), matrix (rows, dim), scales (rows,) or None."""
        if self._store is None:
            raise FileError(f"{self.report.path} gave no vectors: nothing of it is kept")
        text = np.frombuffer(b"".join(self._text), np.uint8)
        bounds = np.concatenate([[0], np.cumsum(np.concatenate(self._lengths))]).astype(np.int64)
        scales = np.concatenate(self._scales) if self._scales else None
        return text, bounds, self._store.finish(), scales


class _Chunks:
    """Rows in chunks of anonymous memory, each freed as soon as it has been copied into the result."""

    def __init__(self, kind: np.dtype[Any], dim: int) -> None:
        self.kind, self.dim = kind, dim
        self.size = max(1, CHUNK_BYTES // (kind.itemsize * dim))
        self.chunks: list[NDArray[Any]] = []
        self.used = self.size

    def add(self, matrix: NDArray[Any]) -> None:
        at = 0
        while at < len(matrix):
            if self.used == self.size:
                memory = mmap.mmap(-1, self.size * self.dim * self.kind.itemsize)
                self.chunks.append(np.frombuffer(memory, self.kind).reshape(self.size, self.dim))
                self.used = 0
            count = min(self.size - self.used, len(matrix) - at)
            self.chunks[-1][self.used : self.used + count] = matrix[at : at + count]
            self.used += count
            at += count

    def finish(self) -> NDArray[Any]:
        result = np.empty(((len(self.chunks) - 1) * self.size + self.used, self.dim), self.kind)
        self.chunks.reverse()
        for start in range(0, len(result), self.size):
            part = result[start : start + self.size]
            part[:] = self.chunks.pop()[: len(part)]
        return result


class _Spill:
    """Rows in a file on disk, mapped at the end: for tables larger than memory."""

    def __init__(self, folder: Path, kind: np.dtype[Any], dim: int) -> None:
        self.path = folder / "rows"
        self.kind, self.dim = kind, dim
        self.count = 0

    def add(self, matrix: NDArray[Any]) -> None:
        with self._explained(), self.path.open("ab") as file:
            write_array(file, matrix.astype(self.kind, copy=False))
        self.count += len(matrix)

    def finish(self) -> NDArray[Any]:
        with self._explained():
            return np.memmap(self.path, self.kind, "r", shape=(self.count, self.dim))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise FileError(
                f"cannot write {self.path}, where the rows wait: {error.strerror or error}; make room"
            ) from error


def _encoded(word: str) -> bytes:
    """The bytes of a word; a lone surrogate becomes bytes that no UTF-8 file holds, so that it matches nothing."""
    return word.encode("utf-8", "surrogatepass")
