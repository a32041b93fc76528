"""Groups of rows: joined where they are nearly the same, or by k-means; in blocks, so that a check can stop the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.methods.k_means import interrupt, k_means, nearest
from noppa.topics.word_candidates import spread

#: Numbers of a block, between two checks: some megabytes, some hundredths of a second.
BLOCK_VALUES = 1 << 20
#: Rows that centroids are learnt from, spread over all.
SAMPLE = 5_000
#: Without a number of groups there are at most so many; and groups are joined whose means have such a cosine.
MOST_GROUPS, JOINED = 50, 0.5
CENTRAL = 3
#: Starts of k-means, of which the best counts: one alone sometimes leaves two groups in one.
STARTS = 4

Vectors = NDArray[np.float32]
Float = NDArray[np.float64]
#: Called before each block; it may raise to stop the work.
Check = Callable[[], None]


def spans(rows: int, width: int, check: Check) -> Iterator[slice]:
    """Slices of consecutive rows of `width` numbers, with a check before each."""
    step = max(1, BLOCK_VALUES // max(1, width))
    for start in range(0, rows, step):
        check()
        yield slice(start, start + step)


def joined_groups(
    rows: Vectors, threshold: float, check: Check
) -> list[tuple[NDArray[np.int64], float]]:
    """Groups of rows joined by cosines from `threshold` on, the largest first, each with its smallest such cosine."""
    group, least = np.arange(len(rows)), np.ones(len(rows))
    for span in spans(len(rows), len(rows), check):
        cosines = rows[span] @ rows[span.start :].T  # earlier rows have been compared with these
        near = cosines >= threshold - 1e-6
        least[span] = np.where(near, cosines, 1).min(axis=1)
        for at in np.flatnonzero(np.count_nonzero(near, axis=1) > 1).tolist():
            joined = group[span.start :][near[at]]
            if (joined != joined[0]).any():
                check()
                group[np.isin(group, joined)] = joined.min()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    groups = [lines for lines in np.split(order, starts[1:]) if len(lines) > 1]
    groups.sort(key=lambda lines: (-len(lines), lines[0]))
    return [(lines, float(least[lines].min())) for lines in groups]


@dataclass(frozen=True, eq=False)
class Groups:
    """labels (rows,): the group of each row; nearness (rows,): its cosine with the mean of that. The largest is group 0.

    sizes (groups,); central: the rows nearest to the mean of each group.
    """

    labels: NDArray[np.int64]
    nearness: NDArray[np.float32]
    sizes: NDArray[np.int64]
    central: list[NDArray[np.int64]]


def grouped(
    rows: Vectors, count: int | None, check: Check = lambda: None, central: int = CENTRAL
) -> Groups:
    """Groups of unit rows by k-means: `count` of them, or fewer where some are empty; None takes as many as differ."""
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return Groups(nothing, nothing.astype(np.float32), nothing, [])
    sample = np.asarray(rows[spread(len(rows), SAMPLE)], float)
    token = interrupt.set(check)
    try:
        size = min(MOST_GROUPS, int(len(sample) ** 0.5)) if count is None else count
        centroids = _best_centroids(sample, min(size, len(sample)))
    finally:
        interrupt.reset(token)
    families = np.arange(len(centroids))
    if count is None:
        families = joined_means(centroids, np.bincount(nearest(sample, centroids), minlength=size))
    labels, nearness = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
    means = _unit(_sums(centroids, families))
    for span in spans(len(rows), rows.shape[1], check):
        block = np.asarray(rows[span], float)
        labels[span] = families[nearest(block, centroids)]
        nearness[span] = np.einsum("rd,rd->r", block, means[labels[span]])
    return _largest_first(labels, nearness, len(means), central)


def _best_centroids(sample: Float, count: int) -> Float:
    """Of several starts the centroids to which the rows are nearest, the first of equal ones."""

    def nearness(centroids: Float) -> float:
        return float((2 * sample @ centroids.T - (centroids**2).sum(axis=1)).max(axis=1).sum())

    return max((k_means(sample, count, seed=seed) for seed in range(STARTS)), key=nearness)


def joined_means(centroids: Float, sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups of centroids (centroids,): the two whose means have the largest cosine are joined, while it is `JOINED` or more."""
    families = np.arange(len(centroids))
    sums = centroids * sizes[:, None]
    while len(sums) > 1:
        means = _unit(sums)
        cosines = means @ means.T
        np.fill_diagonal(cosines, -1)
        first, second = sorted(map(int, np.unravel_index(cosines.argmax(), cosines.shape)))
        if cosines[first, second] < JOINED:
            break
        sums[first] += sums[second]
        sums = np.delete(sums, second, axis=0)
        families[families == second] = first
        families[families > second] -= 1
    return families


def _sums(centroids: Float, families: NDArray[np.int64]) -> Float:
    sums = np.zeros((int(families.max(initial=-1)) + 1, centroids.shape[1]))
    np.add.at(sums, families, centroids)
    return sums


def _unit(rows: Float) -> Float:
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows / np.where(lengths > 0, lengths, 1))


def _largest_first(
    labels: NDArray[np.int64], nearness: NDArray[np.float32], count: int, central: int
) -> Groups:
    sizes = np.bincount(labels, minlength=count)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    middles = []
    for group in order.tolist():
        members = np.flatnonzero(labels == group)
        middles.append(members[np.argsort(-nearness[members], kind="stable")[:central]])
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(len(order))
    return Groups(rank[labels], nearness, sizes[order], middles)
