"""Sentences that a method reads more than once while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.parameters import numbers

Ids = tuple[NDArray[np.int32], NDArray[np.int64]]


class Corpus:
    """Blocks of ids (tokens,) and offsets (sentences + 1,), written to a temporary file once and read as often as needed.

    A token takes 4 bytes there and no memory, so that texts can come from a stream of any length.
    """

    def __init__(self, blocks: Iterable[Ids]) -> None:
        import tempfile  # takes a while, and few methods read their text twice

        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the corpus is
        self._sizes = []
        for ids, offsets in blocks:
            ids.astype(np.int32).tofile(self._file)
            offsets.astype(np.int64).tofile(self._file)
            self._sizes.append((len(ids), len(offsets)))
        self._file.flush()

    def __iter__(self) -> Iterator[Ids]:
        at = 0
        for tokens, bounds in self._sizes:
            self._file.seek(at)
            yield (
                np.fromfile(self._file, np.int32, tokens),
                np.fromfile(self._file, np.int64, bounds),
            )
            at += 4 * tokens + 8 * bounds

    def close(self) -> None:
        self._file.close()


def checked_ids(ids: Any, offsets: Any, words: int) -> Ids:
    """Ids and offsets that did not come from a look-up: of the right types, within `words` rows and within each other."""
    flat, bounds = numbers(ids, "an array of ids"), numbers(offsets, "an array of offsets")
    whole = all(
        array.ndim == 1 and (array.dtype.kind in "iu" or not array.size) for array in (flat, bounds)
    )
    if not whole or (flat.size and not -1 <= flat.min() <= flat.max() <= words):
        raise ParameterError(
            f"ids and offsets are whole numbers in one row, ids from -1 to {words}"
        )
    if not len(bounds) or bounds[0] or bounds[-1] != len(flat) or (bounds[1:] < bounds[:-1]).any():
        raise ParameterError(f"offsets rise from 0 to {len(flat)}, the number of ids")
    return np.ascontiguousarray(flat, np.int32), np.ascontiguousarray(bounds, np.int64)


def counts(sentences: Iterable[Ids], words: int) -> NDArray[np.int64]:
    """How often each word occurs, (words,)."""
    seen = np.zeros(words + 1, np.int64)
    for ids, _ in sentences:
        seen += np.bincount(ids[ids >= 0], minlength=words + 1)
    return seen[:-1]


def sentence_of_each(offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sentence that each token belongs to, (tokens,)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def known_tokens(ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many tokens of each sentence are known, (sentences,)."""
    return np.diff(np.append(0, np.cumsum(ids >= 0))[offsets])
