"""Training of FastSent and Sent2Vec: gradient descent from the word vectors, against noise words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import LARGEST_VALUE, MOST_NEGATIVES
from noppa.errors import ParameterError
from noppa.methods.method import Ids, Learnt, vectors_of, word_counts
from noppa.parameters import Check, positive, seed_number, whole
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors

NOISE = 1 << 17
#: The arrays that `train` returns, except for pairs of words, as they are saved: see `noppa.io.schema`.
TRAINED = {"rows": "i8 rows <words", "vectors": "f4 rows dim", "scale": "f8 1 positive"}
#: Validation of the parameters that both methods have.
TRAINING: dict[str, Check] = {
    "epochs": partial(whole, least=1, most=10_000),
    "rate": positive,
    "negatives": partial(whole, least=1, most=MOST_NEGATIVES),
    "t": positive,
    "seed": seed_number,
}


def compact(sentences: Iterable[Ids], number_of: NDArray[np.int32]) -> Iterator[Ids]:
    """Yield the sentences with words renumbered by `number_of` (words + 1,), without those of number -1."""
    for ids, offsets in sentences:
        numbers = np.where(ids >= 0, number_of[ids], -1).astype(np.int32)
        before = np.append(0, np.cumsum(numbers >= 0))
        yield numbers[numbers >= 0], before[offsets]


def train(
    words: WordVectors,
    sentences: Iterable[Ids],
    method: Any,
    *,
    buckets: int = 0,
    adjacent: bool = False,
    itself: bool = False,
) -> dict[str, NDArray[Any]]:
    """Train vectors of the corpus's words with the method's `rate`, `epochs`, `negatives`, `t` and `seed`.

    Training starts from the word vectors, scaled to a mean length of one so that one rate fits all.
    """
    seen = word_counts(sentences, len(words))
    rows = np.flatnonzero(seen)
    if len(rows) < 2:
        raise ParameterError(
            f"the text has {len(rows)} distinct known words, too few for {method!r}",
            "fit on more text",
        )
    start = words.vectors(rows).astype(float)
    scale = 1 / max(np.linalg.norm(start, axis=1).mean(), 1e-12)
    source = np.zeros((len(rows) + buckets, words.dim), kernels.REAL)
    source[: len(rows)] = scale * start
    target = (scale * start).astype(kernels.REAL)
    share = seen[rows] / seen.sum()
    keep = np.minimum(1, np.sqrt(method.t / share) + method.t / share).astype(np.float32)
    # noise words are drawn by the square root of their count, as in Sent2Vec
    drawn = np.cumsum(np.sqrt(share)) / np.sqrt(share).sum()
    noise = np.searchsorted(drawn, (np.arange(NOISE) + 0.5) / NOISE).astype(np.int32)
    number_of = np.full(len(words) + 1, -1, np.int32)
    number_of[rows] = np.arange(len(rows))
    done, total = 0, method.epochs * int(seen.sum())
    for _ in range(method.epochs):
        for ids, offsets in compact(sentences, number_of):
            rate = method.rate * (1 - done / total)
            seed = (method.seed << 32) + done & (1 << 64) - 1
            with np.errstate(all="ignore"):  # divergence is reported below
                kernels.train(
                    source, target, keep, noise, method.negatives, rate, seed, adjacent, itself, ids, offsets
                )  # fmt: skip
            done += len(ids)
    if not np.abs(source).max() <= LARGEST_VALUE:
        raise ParameterError(
            f"{method!r} did not converge: the vectors grew without bound", "lower rate"
        )
    vectors = source.astype(np.float32)
    return {
        "rows": rows,
        "vectors": vectors[: len(rows)],
        "pairs": vectors[len(rows) :],
        "scale": np.array([scale]),
    }


def trained_matrix(words: WordVectors, learnt: Learnt) -> NDArray[np.float32]:
    """Return the vectors of all words, trained for those of the corpus, (words, dim)."""
    scale = np.float32(learnt["scale"][0])
    matrix = scale * words.vectors(np.arange(len(words)))
    matrix[learnt["rows"]] = learnt["vectors"]
    return matrix


def trained_table(words: WordVectors, learnt: Learnt) -> kernels.Table:
    """Return `trained_matrix` followed by the pairs of words, (words + buckets, dim)."""
    return kernels.Table(np.concatenate([trained_matrix(words, learnt), learnt["pairs"]]), None)


def trained_numbers(learnt: Learnt, ids: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the number of each id among the corpus's words, -1 for other words, (tokens,)."""
    rows = learnt["rows"]
    at = np.minimum(np.searchsorted(rows, ids), len(rows) - 1)
    return np.where(rows[at] == ids, at, -1)


def trained_rows(words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Float:
    """Return rows of `trained_table` for words, (tokens, dim)."""
    numbers = trained_numbers(learnt, ids)
    rows = learnt["scale"][0] * vectors_of(words, ids)
    rows[numbers >= 0] = learnt["vectors"][numbers[numbers >= 0]]
    return np.asarray(rows)
