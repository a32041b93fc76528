"""Weighted k-means."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.parameters import whole

Float = NDArray[np.float64]

ROUNDS = 100
BLOCK_VALUES = 1 << 20


#: Called in every round; a caller may set it to a function that raises to stop the work. By default a call does nothing.
interrupt: ContextVar[Callable[[], object]] = ContextVar("interrupt", default=bool)


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
