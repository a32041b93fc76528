"""What a fit learns from blocks of ids: arrays of the method's own, then the moments of what it gives with them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import warn
from noppa.methods.corpus import Corpus, Ids, known_tokens
from noppa.methods.numpy_form import Learnt
from noppa.methods.protocol import SUMS, TEXT, Method, check_width
from noppa.parameters import MOST_REFINED
from noppa.refine import Moments
from noppa.words.word_vectors import WordVectors

FREQUENT = 100


class Counted:
    """Blocks that are read once, with what was seen on the way: `seen` (words + 1,), how often each word, and how many
    sentences with a known one.
    """

    def __init__(self, blocks: Iterable[Ids], words: int) -> None:
        self._blocks = iter(blocks)
        self.seen = np.zeros(words + 1, np.int64)
        self.sentences = 0

    def __iter__(self) -> Iterator[Ids]:
        for ids, offsets in self._blocks:
            self.seen += np.bincount(ids[ids >= 0], minlength=len(self.seen))
            self.sentences += int(np.count_nonzero(known_tokens(ids, offsets)))
            yield ids, offsets

    def read_on(self) -> None:
        """Count what nobody has read."""
        for _ in self:
            pass


def learnt_from(
    words: WordVectors, method: Method, refined: bool, blocks: Iterable[Ids], threads: int
) -> tuple[dict[str, NDArray[Any]], Moments, NDArray[np.int64]]:
    """What `Encoder.conclude` takes: the method's arrays, the moments of what it gives, and how often each word was seen.

    Where nothing is `refined`, the moments are a count of sentences alone.
    """
    if refined:
        check_width(method, words, MOST_REFINED)
    counted = Counted(blocks, len(words))
    with closing(Corpus(counted)) if method.learns else nullcontext(counted) as sentences:
        learnt = _learnt(words, method, sentences)
        if refined:
            moments = moments_of(words, method, learnt, sentences, threads)
        else:
            counted.read_on()
            moments = Moments(counted.sentences, np.zeros(0), np.zeros((0, 0)))
    return learnt, moments, counted.seen


def _learnt(
    words: WordVectors, method: Method, sentences: Iterable[Ids]
) -> dict[str, NDArray[Any]]:
    if method.learning == SUMS:
        return dict(method.conclude(words, method.gather(words, sentences)))
    return dict(method.learn(words, sentences)) if method.learning == TEXT else {}


def moments_of(
    words: WordVectors, method: Method, learnt: Learnt, sentences: Iterable[Ids], threads: int
) -> Moments:
    """The moments of what a method gives for sentences with a known word."""
    pool = method.pooler(words, learnt)
    moments = Moments.empty(method.width(words))
    for ids, offsets in sentences:
        rows, known = pool(ids, offsets, kernels.Steps([]), threads)
        moments += Moments.of(rows[known > 0])
    return moments


def warn_of_uncounted(words: WordVectors, method: Method, seen: NDArray[np.int64]) -> None:
    """Tell when a frequent word of the corpus has a probability that nobody counted; pieces seldom have a count.

    seen: how often each word was seen, (words + 1,).
    """
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
