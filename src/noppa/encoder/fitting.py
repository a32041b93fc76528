"""Learning from blocks of ids: first the method's own arrays, then the moments of its pooled rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import warn
from noppa.methods.method import (
    SUMS,
    TEXT,
    Corpus,
    Ids,
    Learnt,
    Method,
    checked_width,
    known_tokens,
)
from noppa.parameters import MOST_REFINED
from noppa.refine import Moments
from noppa.words.word_vectors import WordVectors

FREQUENT = 100


class Counted:
    """Passes blocks on and counts how often each word occurs, `seen` (words + 1,), and sentences with a known word."""

    def __init__(self, blocks: Iterable[Ids], words: int) -> None:
        self._blocks = iter(blocks)
        self.seen = np.zeros(words + 1, np.int64)
        self.sentences = 0

    def __iter__(self) -> Iterator[Ids]:
        for ids, offsets in self._blocks:
            self.seen += np.bincount(ids[ids >= 0], minlength=len(self.seen))
            self.sentences += int(np.count_nonzero(known_tokens(ids, offsets)))
            yield ids, offsets

    def exhaust(self) -> None:
        """Count the blocks that were not read."""
        for _ in self:
            pass


def learn(
    words: WordVectors, method: Method, refined: bool, blocks: Iterable[Ids], threads: int
) -> tuple[dict[str, NDArray[Any]], Moments, NDArray[np.int64]]:
    """Return the arguments of `Encoder.conclude`: the method's arrays, the moments of its rows, and word counts.

    If nothing is `refined`, the moments are only a count of sentences.
    """
    if refined:
        checked_width(method, words, MOST_REFINED)
    counted = Counted(blocks, len(words))
    learnt: dict[str, NDArray[Any]] = {}
    with closing(Corpus(counted)) if method.learns else nullcontext(counted) as sentences:
        if method.learning == SUMS:
            learnt = dict(method.conclude(words, method.gather(words, sentences)))
        elif method.learning == TEXT:
            learnt = dict(method.learn(words, sentences))
        if refined:
            moments = moments_of(words, method, learnt, sentences, threads)
        else:
            counted.exhaust()
            moments = Moments(counted.sentences, np.zeros(0), np.zeros((0, 0)))
    return learnt, moments, counted.seen


def moments_of(
    words: WordVectors, method: Method, learnt: Learnt, sentences: Iterable[Ids], threads: int
) -> Moments:
    """Return the moments of a method's rows for sentences with a known word."""
    pool = method.pooler(words, learnt)
    moments = Moments.empty(method.width(words))
    for ids, offsets in sentences:
        rows, known = pool(ids, offsets, kernels.Steps([]), threads)
        moments += Moments.from_rows(rows[known > 0])
    return moments


def warn_of_uncounted(words: WordVectors, method: Method, seen: NDArray[np.int64]) -> None:
    """Warn if a frequent word of the corpus, seen (words + 1,), has no count; pieces seldom have one."""
    counted = words.counted
    if counted is None or not counted.any() or not method.needs_probabilities:
        return
    seen = seen[: words.lexicon.whole_words]
    frequent = np.argsort(-seen, kind="stable")[:FREQUENT]
    missing = [words.words[row] for row in frequent if seen[row] and not counted[row]]
    if missing:
        warn(
            f"{len(missing)} of the {FREQUENT} most frequent words have no count, among them "
            f"{', '.join(repr(word) for word in missing[:5])}: their probability is an estimate"
        )
