"""Sentences that a method reads more than once while it learns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

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
