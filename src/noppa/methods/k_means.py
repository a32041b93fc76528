"""Weighted k-means over word vectors, and the nearest centroid of every word."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.errors import ParameterError
from noppa.parameters import whole
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float64]

ROUNDS = 100
BLOCK = 1 << 14
BLOCK_VALUES = 1 << 20


#: Called in every round; a caller may set it to a function that raises to stop the work.
interrupt: ContextVar[Callable[[], None]] = ContextVar("interrupt", default=lambda: None)


def k_means(points: ArrayLike, k: int, weights: ArrayLike | None = None, seed: int = 0) -> Float:
    """Return centroids (k, dim) of points (count, dim): k-means++, then Lloyd's algorithm until nothing moves."""
    check = interrupt.get()
    rows = np.asarray(points, np.float64)
    k = whole(k, "k", 1, len(rows))
    mass = np.ones(len(rows)) if weights is None else np.asarray(weights, np.float64)
    random = np.random.default_rng(seed)
    centroids = rows[random.choice(len(rows), 1, p=mass / mass.sum())]
    distance = np.full(len(rows), np.inf)
    step = max(1, BLOCK_VALUES // rows.shape[1])
    while len(centroids) < k:
        check()
        for at in range(0, len(rows), step):
            near = ((rows[at : at + step] - centroids[-1]) ** 2).sum(axis=1)
            distance[at : at + step] = np.minimum(distance[at : at + step], near)
        chance = mass * distance if (mass * distance).any() else mass
        centroids = np.vstack([centroids, rows[random.choice(len(rows), p=chance / chance.sum())]])
    labels = np.full(len(rows), -1)
    for _ in range(ROUNDS):
        check()
        before, labels = labels, nearest(rows, centroids)
        if np.array_equal(before, labels):
            break
        shares = np.zeros((k, len(rows)))
        shares[labels, np.arange(len(rows))] = mass
        total = shares.sum(axis=1)
        filled = total > 0  # a centroid that lost all its points stays where it is
        centroids[filled] = (shares @ rows)[filled] / total[filled, None]
    return centroids


def nearest(points: NDArray[np.floating], centroids: Float) -> NDArray[np.int32]:
    """Return the nearest centroid of each point, (count,)."""
    half = (centroids**2).sum(axis=1) / 2
    return np.asarray((points @ centroids.T - half).argmax(axis=1), np.int32)


def labels_of(words: WordVectors, centroids: Float) -> NDArray[np.int32]:
    """Return the nearest centroid of each word and, last, of the zero word, (words + 1,)."""
    starts = range(0, len(words), BLOCK)
    blocks = [
        nearest(words.vectors(np.arange(at, min(at + BLOCK, len(words)))).astype(float), centroids)
        for at in starts
    ]
    return np.concatenate([*blocks, nearest(np.zeros((1, words.dim)), centroids)])


def centroids_of_corpus(
    words: WordVectors,
    counts: NDArray[np.int64],
    k: int,
    weights: Float | None,
    seed: int,
    method: str,
) -> Float:
    """Return centroids (k, dim) of the distinct words of a corpus with these counts (words,), weighted by `weights`."""
    seen = np.flatnonzero(counts)
    if len(seen) < k:
        raise ParameterError(
            f"{method} needs a corpus of at least {k} distinct known words, and this one has {len(seen)}",
            "fit on more text or lower k",
        )
    return k_means(words.vectors(seen), k, None if weights is None else weights[seen], seed)
