"""FastSent and Sent2Vec: word vectors trained to predict words, by gradient descent against noise words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import LARGEST_VALUE, MOST_NEGATIVES, PAIR_FACTOR
from noppa.errors import ParameterError
from noppa.methods.method import (
    TEXT,
    Bounds,
    Ids,
    Kernel,
    Learnt,
    Method,
    NumpyPooler,
    Pooler,
    Rows,
    Sentence,
    Split,
    Tokens,
    known_tokens,
    mean_kernel,
    plain,
    sentence_numbers,
    vectors_of,
    word_counts,
)
from noppa.parameters import boolean, positive, seed_number, validate_fields, whole
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors

#: Twice as many as in the paper.
MOST_BUCKETS = 1 << 22
NOISE = 1 << 17


@dataclass(frozen=True)
class Trained(Method):
    """Base class of `FastSent` and `Sent2Vec`: vectors u of the words of a corpus, trained from the word vectors.

    Args:
        epochs: Passes over the corpus.
        rate: Learning rate, falling to 0.
        negatives: Noise words per true word.
        t: Words more frequent than this are predicted less often.
        seed: Seed of all random draws.
    """

    learning: ClassVar = TEXT
    #: The arrays that `train` returns.
    LEARNT: ClassVar = {
        "rows": "i8 rows <words",
        "vectors": "f4 rows dim",
        "scale": "f8 1 positive",
        "pairs": "f4 buckets dim",
    }

    epochs: int = 5
    rate: float = 0.025
    negatives: int = 5
    t: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        negatives = partial(whole, least=1, most=MOST_NEGATIVES)
        validate_fields(self, epochs=partial(whole, least=1, most=10_000), negatives=negatives)
        validate_fields(self, rate=positive, t=positive, seed=seed_number)

    def width(self, words: WordVectors) -> int:
        return words.dim

    def train(
        self,
        words: WordVectors,
        sentences: Iterable[Ids],
        buckets: int = 0,
        adjacent: bool = False,
        itself: bool = False,
    ) -> dict[str, NDArray[Any]]:
        """Train vectors of the corpus's words and of `buckets` pairs of words.

        Training starts from the word vectors, scaled to a mean length of one so that one rate fits all.
        """
        seen = word_counts(sentences, len(words))
        rows = np.flatnonzero(seen)
        if len(rows) < 2:
            raise ParameterError(
                f"the text has {len(rows)} distinct known words, too few for {self!r}",
                "fit on more text",
            )
        start = words.vectors(rows).astype(float)
        scale = 1 / max(np.linalg.norm(start, axis=1).mean(), 1e-12)
        source = np.zeros((len(rows) + buckets, words.dim), kernels.REAL)
        source[: len(rows)] = scale * start
        target = (scale * start).astype(kernels.REAL)
        share = seen[rows] / seen.sum()
        keep = np.minimum(1, np.sqrt(self.t / share) + self.t / share).astype(np.float32)
        # noise words are drawn by the square root of their count, as in Sent2Vec
        drawn = np.cumsum(np.sqrt(share)) / np.sqrt(share).sum()
        noise = np.searchsorted(drawn, (np.arange(NOISE) + 0.5) / NOISE).astype(np.int32)
        number_of = np.full(len(words) + 1, -1, np.int32)
        number_of[rows] = np.arange(len(rows))
        done, total = 0, self.epochs * int(seen.sum())
        for _ in range(self.epochs):
            for ids, offsets in compact(sentences, number_of):
                rate = self.rate * (1 - done / total)
                seed = (self.seed << 32) + done & (1 << 64) - 1
                with np.errstate(all="ignore"):  # divergence is reported below
                    kernels.train(
                        source, target, keep, noise, self.negatives, rate, seed, adjacent, itself, ids, offsets
                    )  # fmt: skip
                done += len(ids)
        if not np.abs(source).max() <= LARGEST_VALUE:
            raise ParameterError(
                f"{self!r} did not converge: the vectors grew without bound", "lower rate"
            )
        vectors = source.astype(np.float32)
        return {
            "rows": rows,
            "vectors": vectors[: len(rows)],
            "pairs": vectors[len(rows) :],
            "scale": np.array([scale]),
        }


@dataclass(frozen=True)
class FastSent(Trained):
    """sum_i u_i, with u trained so that the sum predicts the words of the sentences before and after.

    (Hill, Cho and Korhonen, 2016.) The texts given to `fit` are the sentences of a running text, in order.

    Args:
        autoencode: Also predict the sentence's own words (the paper's FastSent+AE).
    """

    uses_order = False
    LEARNT: ClassVar = {**Trained.LEARNT, "pairs": "f4 0 dim"}

    autoencode: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_fields(self, autoencode=boolean)

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return self.train(words, sentences, adjacent=True, itself=self.autoencode)

    def pooled(self, sentence: Sentence) -> Float:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return np.asarray(rows.sum(axis=0))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(trained_table(words, learnt), None, "one")

    def split(self, sentence: Sentence) -> Split:
        rows = trained_rows(sentence.words, sentence.learnt, sentence.ids)
        return plain(rows, rows, np.ones(len(rows)))


@dataclass(frozen=True)
class Sent2Vec(Trained):
    """The mean of u over the words and neighbouring pairs of a sentence, trained so that the rest predicts each word.

    (Pagliardini, Gupta and Jaggi, 2018.) Pairs start at zero and share `buckets` rows by a hash.

    Args:
        buckets: Rows for pairs of words; 0 for words only.
    """

    rate: float = 0.2
    negatives: int = 10
    buckets: int = 1 << 14

    def __post_init__(self) -> None:
        super().__post_init__()
        validate_fields(self, buckets=partial(whole, most=MOST_BUCKETS))

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        return not self.buckets

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return self.train(words, sentences, self.buckets)

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

        def pool(ids: Tokens, offsets: Bounds, steps: kernels.Steps, threads: int) -> Rows:
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


def with_pairs(ids: Tokens, offsets: Bounds, number_of: NDArray[np.int64], buckets: int) -> Ids:
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


def compact(sentences: Iterable[Ids], number_of: NDArray[np.int32]) -> Iterator[Ids]:
    """Yield the sentences with words renumbered by `number_of` (words + 1,), without those of number -1."""
    for ids, offsets in sentences:
        numbers = np.where(ids >= 0, number_of[ids], -1).astype(np.int32)
        before = np.append(0, np.cumsum(numbers >= 0))
        yield numbers[numbers >= 0], before[offsets]


def trained_table(words: WordVectors, learnt: Learnt) -> kernels.Table:
    """Return the vectors of all words, trained for those of the corpus, and of the pairs, (words + buckets, dim)."""
    scale = np.float32(learnt["scale"][0])
    matrix = scale * words.vectors(np.arange(len(words)))
    matrix[learnt["rows"]] = learnt["vectors"]
    return kernels.Table(np.concatenate([matrix, learnt["pairs"]]), None)


def trained_numbers(learnt: Learnt, ids: Tokens) -> NDArray[np.int64]:
    """Return the number of each id among the corpus's words, -1 for other words, (tokens,)."""
    rows = learnt["rows"]
    at = np.minimum(np.searchsorted(rows, ids), len(rows) - 1)
    return np.where(rows[at] == ids, at, -1)


def trained_rows(words: WordVectors, learnt: Learnt, ids: Tokens) -> Float:
    """Return rows of `trained_table` for words, (tokens, dim)."""
    numbers = trained_numbers(learnt, ids)
    rows = learnt["scale"][0] * vectors_of(words, ids)
    rows[numbers >= 0] = learnt["vectors"][numbers[numbers >= 0]]
    return np.asarray(rows)
