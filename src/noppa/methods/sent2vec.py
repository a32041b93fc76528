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
from noppa.methods.corpus import Ids, known_tokens, sentence_of_each
from noppa.methods.numpy_form import Learnt, NumpyPooler, Rows, Sentence
from noppa.methods.protocol import TEXT, Kernel, Method, Pooler
from noppa.methods.split import Float, Split, plain
from noppa.methods.trained import (
    TRAINED,
    TRAINING,
    trained,
    trained_numbers,
    trained_rows,
    trained_table,
)
from noppa.methods.weighting import mean_arguments
from noppa.parameters import validate_fields, whole
from noppa.words.word_vectors import WordVectors

#: Twice what the paper has.
MOST_BUCKETS = 1 << 22


@dataclass(frozen=True)
class Sent2Vec(Method):
    """The mean of u over the words and neighbouring pairs of a sentence, trained so that the rest predicts each word.

    Training starts from the word vectors; pairs start at zero and share `buckets` rows by a hash.

    buckets: rows for pairs of words; 0 for words alone. epochs: passes over the corpus. rate: of learning, falling to 0.
    negatives: noise words against each true one. t: words more frequent than this are predicted less often.
    seed: of everything drawn.
    """

    learning: ClassVar = TEXT
    COST: ClassVar = "n d"
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
    def mean_obstacle(self) -> str:  # type: ignore[override]
        return "Sent2Vec has vectors of word pairs, too" if self.buckets else ""

    def width(self, words: WordVectors) -> int:
        return words.dim

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return trained(words, sentences, self, buckets=self.buckets)

    def pooled(self, sentence: Sentence) -> Float:
        rows, _, halves = self._features(sentence)
        return np.asarray(rows.sum(axis=0) + 2 * halves.sum(axis=0))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return Kernel("mean", trained_table(words, learnt), mean_arguments(None))

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        """The kernel takes the words of each sentence followed by its pairs, all rows of one table."""
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
        """A pair of neighbours belongs to either of them by one half."""
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
        """What each word adds, (tokens, dim); the first word of each pair that the corpus knows, (pairs,); and half of
        what that pair adds, (pairs, dim).
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
    """The known words of each sentence followed by its pairs of neighbours that the corpus knows, as rows of the table."""
    known = ids >= 0
    owners, ids = sentence_of_each(offsets)[known], ids[known]
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
