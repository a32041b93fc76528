"""Sent2Vec: a mean of word and word-pair vectors that predicts each word left out (Pagliardini, Gupta and Jaggi, 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import PAIR_FACTOR
from noppa.methods.method import (
    TEXT,
    Ids,
    Kernel,
    Learnt,
    Method,
    NumpyPooler,
    Pooler,
    Rows,
    Sentence,
    Split,
    known_tokens,
    mean_kernel,
    plain,
    sentence_numbers,
)
from noppa.methods.trained import (
    TRAINED,
    TRAINING,
    train,
    trained_numbers,
    trained_rows,
    trained_table,
)
from noppa.parameters import validate_fields, whole
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors

#: Twice as many as in the paper.
MOST_BUCKETS = 1 << 22


@dataclass(frozen=True)
class Sent2Vec(Method):
    """The mean of u over the words and neighbouring pairs of a sentence, trained so that the rest predicts each word.

    Training starts from the word vectors; pairs start at zero and share `buckets` rows by a hash.

    Args:
        buckets: Rows for pairs of words; 0 for words only.
        epochs: Passes over the corpus.
        rate: Learning rate, falling to 0.
        negatives: Noise words per true word.
        t: Words more frequent than this are predicted less often.
        seed: Seed of all random draws.
    """

    learning: ClassVar = TEXT
    LEARNT: ClassVar = {**TRAINED, "pairs": "f4 buckets dim"}

    buckets: int = 1 << 14
    epochs: int = 5
    rate: float = 0.2
    negatives: int = 10
    t: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        validate_fields(self, buckets=partial(whole, most=MOST_BUCKETS), **TRAINING)

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        return not self.buckets

    def width(self, words: WordVectors) -> int:
        return words.dim

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return train(words, sentences, self, buckets=self.buckets)

    def pooled(self, sentence: Sentence) -> Float:
        rows, _, halves = self._features(sentence)
        return np.asarray(rows.sum(axis=0) + 2 * halves.sum(axis=0))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(trained_table(words, learnt), None)

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        """Return a pooler that gives the kernel the words of each sentence followed by its pairs, all rows of one table."""
        mean = super().pooler(words, learnt)
        if isinstance(mean, NumpyPooler):
            return mean
        number_of = np.full(len(words) + 1, -1, np.int64)
        number_of[learnt["rows"]] = np.arange(len(learnt["rows"]))

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            features, bounds = with_pairs(ids, offsets, number_of, self.buckets)
            rows, _ = mean(features, bounds, steps, threads)
            return rows, known_tokens(ids, offsets).astype(np.int32)

        return pool

    def split(self, sentence: Sentence) -> Split:
        """Divide the row among the tokens: each word of a neighbouring pair gets one half of it."""
        rows, first, halves = self._features(sentence)
        terms = rows.copy()
        terms[first] += halves
        terms[first + 1] += halves

        def pairs(direction: Float) -> Float:
            along = np.diag(rows @ direction)
            along[first, first + 1] = along[first + 1, first] = halves @ direction
            return np.asarray(along)

        return plain(terms, rows, np.ones(len(rows)), pairs)

    def _features(self, sentence: Sentence) -> tuple[Float, NDArray[np.int64], Float]:
        """Return what each word adds, (tokens, dim); the first word of each known pair, (pairs,); and half of what that
        pair adds, (pairs, dim).
        """
        learnt = sentence.learnt
        numbers = trained_numbers(learnt, sentence.ids)
        first = np.flatnonzero((numbers[1:] >= 0) & (numbers[:-1] >= 0) & bool(self.buckets))
        hashed = (numbers[first] * PAIR_FACTOR + numbers[first + 1]) % max(self.buckets, 1)
        features = len(sentence) + len(first)
        rows = trained_rows(sentence.words, learnt, sentence.ids) / features
        return rows, first, learnt["pairs"][hashed].astype(float) / (2 * features)


def with_pairs(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], number_of: NDArray[np.int64], buckets: int
) -> Ids:
    """Return the known words of each sentence followed by its known pairs of neighbours, as rows of the table."""
    known = ids >= 0
    owners, ids = sentence_numbers(offsets)[known], ids[known]
    numbers, words = number_of[ids], len(number_of) - 1
    # the zero word comes last
    features = np.where(ids == words, words + buckets, ids).astype(np.int64)
    if buckets:
        trained = (owners[1:] == owners[:-1]) & (numbers[1:] >= 0) & (numbers[:-1] >= 0)
        hashed = (numbers[:-1] * PAIR_FACTOR + numbers[1:]) % buckets
        features = np.concatenate([features, (words + hashed)[trained]])
        owners = np.concatenate([owners, owners[:-1][trained]])
        order = np.argsort(owners, kind="stable")
        features, owners = features[order], owners[order]
    bounds = np.searchsorted(owners, np.arange(len(offsets)))
    return features.astype(np.int32), bounds.astype(np.int64)
