"""Vectors of unlisted words: the mean of the rows of their character n-grams, as in fastText."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import LARGEST_VALUE
from noppa.errors import FileError
from noppa.text.characters import replace_surrogates
from noppa.words.lexicon import Ids, joined

#: Marks the end of a line in fastText; it has a row of its own and no n-grams.
SENTENCE_END = "</s>"
#: Longer than any model's n-grams; a hostile file with longer ones would take forever.
LONGEST_NGRAM = 64

#: The buckets of a pruned model, rising, and the row of each among those of n-grams.
Pruned = tuple[NDArray[np.int32], NDArray[np.int32]]


class RowSource(Protocol):
    """Rows of float32, wherever they are stored."""

    def means(
        self, ids: NDArray[np.int32], offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]: ...

    def block(self, first: int, last: int) -> NDArray[np.float32]: ...


class MappedRows:
    """A matrix (rows, dim) that begins at a byte of a mapped file, not aligned."""

    def __init__(self, data: NDArray[np.uint8], start: int, rows: int, dim: int) -> None:
        self.data, self.start, self.rows, self.dim = data, start, rows, dim

    @classmethod
    def from_matrix(cls, matrix: NDArray[np.float32]) -> MappedRows:
        return cls(matrix.reshape(-1).view(np.uint8), 0, *matrix.shape)

    def means(
        self, ids: NDArray[np.int32], offsets: NDArray[np.int64], threads: int
    ) -> NDArray[np.float32]:
        """Return the mean of the rows of each word, (words, dim), zeros for a word without rows."""
        means = kernels.mean_rows(self.data, self.start, self.rows, self.dim, ids, offsets, threads)
        return np.asarray(means, np.float32)

    def block(self, first: int, last: int) -> NDArray[np.float32]:
        """Return the rows from `first` up to `last`, not copied."""
        row_bytes = 4 * self.dim
        begin, end = self.start + first * row_bytes, self.start + last * row_bytes
        return self.data[begin:end].view("<f4").reshape(last - first, self.dim)


@dataclass(eq=False, repr=False)
class NgramVectors:
    """Rows of n-grams of `lengths` characters, hashed into `buckets`, starting at row `first` of a source.

    source: the rows. count: how many there are. pruned: which buckets have a row, None if all have.
    name: the file, for error messages.
    """

    source: RowSource
    first: int
    count: int
    buckets: int
    lengths: tuple[int, int]
    pruned: Pruned | None
    name: str

    def __deepcopy__(self, memo: dict[int, Any]) -> NgramVectors:
        return self  # immutable

    def row_numbers(self, names: list[bytes]) -> Ids:
        """Return the rows of the n-grams of each word; the end of a sentence has none."""
        if not self.buckets or not self.lengths[1]:
            return np.empty(0, np.int32), np.zeros(len(names) + 1, np.int64)
        found, offsets = kernels.ngram_buckets(*joined(names), *self.lengths, self.buckets)
        end = SENTENCE_END.encode()
        has_row = np.repeat(np.array([name != end for name in names], bool), np.diff(offsets))
        if self.pruned is not None:
            buckets, numbers = self.pruned
            places = np.minimum(np.searchsorted(buckets, found), max(len(buckets) - 1, 0))
            has_row &= (buckets[places] == found) if len(buckets) else False
            found = numbers[places] if len(buckets) else found
        kept = np.append(0, np.cumsum(has_row))[offsets]
        return (found[has_row] + self.first).astype(np.int32), kept

    def composed(
        self, words: Iterable[str], threads: int
    ) -> tuple[list[bytes], NDArray[np.float32]]:
        """Return the words that have n-grams, as UTF-8, and their vectors (words, dim)."""
        names = list(dict.fromkeys(replace_surrogates(word).encode() for word in words))
        ids, offsets = self.row_numbers(names)
        has_rows = np.diff(offsets) > 0
        vectors = self.source.means(ids, offsets, threads)[has_rows]
        names = [name for name, has in zip(names, has_rows.tolist(), strict=True) if has]
        bad = np.flatnonzero(~(np.abs(vectors) <= LARGEST_VALUE).all(axis=1))
        if len(bad):
            raise FileError(
                f"{self.name} is damaged: an n-gram of {names[bad[0]].decode()!r} has values that are not finite or beyond "
                f"{LARGEST_VALUE:g}; fetch it again"
            )
        return names, vectors

    @property
    def matrix(self) -> NDArray[np.float32]:
        """Return the rows of all n-grams, (count, dim)."""
        return self.source.block(self.first, self.first + self.count)
