"""Geometry of many rows: groups, outliers, and a plane to draw them in. Work is done in blocks, so that a check can stop it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.models import unit_rows
from noppa.methods.k_means import interrupt, k_means, nearest

#: Numbers in a block: some megabytes, some hundredths of a second.
BLOCK_VALUES = 1 << 20
#: Rows that centroids are learnt from, spread over all rows.
SAMPLE = 5_000
#: The largest number of groups if none is given, and the cosine of two means from which their groups are merged.
MOST_GROUPS, MERGED = 50, 0.5
#: Representatives of a group.
CENTRAL = 3
#: Starts of k-means, of which the best counts: a single start sometimes leaves two groups in one.
STARTS = 4
#: Outliers: the number of neighbours, and the number of rows, spread over all, among which they are searched.
NEIGHBOURS, LANDMARKS = 10, 4096
#: Digits of an outlier score: BLAS may round further digits differently with another number of threads.
DIGITS = 5
#: Up to this many dimensions the principal axes come from all rows, beyond from this many rows.
MOST_PRODUCTS, AXIS_SAMPLE = 1024, 512

Vectors = NDArray[np.float32]
Float = NDArray[np.float64]
Labels = NDArray[np.int64]
#: Called before each block; it may raise to stop the work.
Check = Callable[[], None]


def spread(count: int, most: int) -> list[int]:
    """Return up to `most` of the numbers below `count`, evenly spread from the first to the last."""
    return np.linspace(0, count - 1, min(count, most)).astype(int).tolist() if count else []


def blocks(rows: int, width: int, check: Check) -> Iterator[slice]:
    """Yield slices of consecutive rows of `width` numbers, with a check before each."""
    step = max(1, BLOCK_VALUES // max(1, width))
    for start in range(0, rows, step):
        check()
        yield slice(start, start + step)


# Groups


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows, the largest first.

    labels (rows,): the group of each row. nearness (rows,): its cosine with the mean of the group. sizes (groups,).
    central: for each group the rows nearest to its mean.
    """

    labels: Labels
    nearness: NDArray[np.float32]
    sizes: NDArray[np.int64]
    central: list[NDArray[np.int64]]


def group_rows(
    rows: Vectors, n: int | None, check: Check = lambda: None, central: int = CENTRAL
) -> Groups:
    """Group unit rows by k-means into n groups, or fewer if some stay empty; None for as many groups as differ."""
    if not len(rows):
        nothing = np.empty(0, np.int64)
        return Groups(nothing, nothing.astype(np.float32), nothing, [])
    sample = np.asarray(rows[spread(len(rows), SAMPLE)], float)
    token = interrupt.set(check)
    try:
        size = min(MOST_GROUPS, int(len(sample) ** 0.5)) if n is None else n
        starts = (k_means(sample, min(size, len(sample)), seed=seed) for seed in range(STARTS))
        centroids = max(starts, key=lambda start: _nearness(sample, start))
    finally:
        interrupt.reset(token)
    group_of = np.arange(len(centroids))
    if n is None:
        sizes = np.bincount(nearest(sample, centroids), minlength=size)
        group_of = merge_similar(centroids, sizes)
    sums = np.zeros((int(group_of.max()) + 1, centroids.shape[1]))
    np.add.at(sums, group_of, centroids)
    means = unit_rows(sums)
    labels, nearness = np.empty(len(rows), np.int64), np.empty(len(rows), np.float32)
    for span in blocks(len(rows), rows.shape[1], check):
        block = np.asarray(rows[span], float)
        labels[span] = group_of[nearest(block, centroids)]
        nearness[span] = np.einsum("rd,rd->r", block, means[labels[span]])
    return _largest_first(labels, nearness, len(means), central)


def _nearness(rows: Float, centroids: Float) -> float:
    """Return how near rows are to their centroids in total: larger is nearer."""
    return float((2 * rows @ centroids.T - (centroids**2).sum(axis=1)).max(axis=1).sum())


def merge_similar(centroids: Float, sizes: NDArray[np.int64]) -> Labels:
    """Merge the two groups whose means have the largest cosine, while it is at least `MERGED`; return (centroids,) labels."""
    group_of = np.arange(len(centroids))
    sums = centroids * sizes[:, None]
    while len(sums) > 1:
        means = unit_rows(sums)
        cosines = means @ means.T
        np.fill_diagonal(cosines, -1)
        first, second = sorted(map(int, np.unravel_index(cosines.argmax(), cosines.shape)))
        if cosines[first, second] < MERGED:
            break
        sums[first] += sums[second]
        sums = np.delete(sums, second, axis=0)
        group_of[group_of == second] = first
        group_of[group_of > second] -= 1
    return group_of


def _largest_first(
    labels: Labels, nearness: NDArray[np.float32], count: int, central: int
) -> Groups:
    sizes = np.bincount(labels, minlength=count)
    order = np.argsort(-sizes, kind="stable")
    order = order[sizes[order] > 0]
    representatives = []
    for group in order.tolist():
        members = np.flatnonzero(labels == group)
        nearest_first = np.argsort(-nearness[members], kind="stable")
        representatives.append(members[nearest_first[:central]])
    rank = np.empty(count, np.int64)
    rank[order] = np.arange(len(order))
    return Groups(rank[labels], nearness, sizes[order], representatives)


def linked_groups(
    rows: Vectors, threshold: float, check: Check
) -> list[tuple[NDArray[np.int64], float]]:
    """Group unit rows that are linked by cosines of at least `threshold`.

    Returns the rows of each group, the largest group first, and the smallest cosine that links it.
    """
    group, least = np.arange(len(rows)), np.ones(len(rows))
    for span in blocks(len(rows), len(rows), check):
        cosines = rows[span] @ rows[span.start :].T  # earlier rows were compared with these before
        near = cosines >= threshold - 1e-6
        least[span] = np.where(near, cosines, 1).min(axis=1)
        for row in np.flatnonzero(np.count_nonzero(near, axis=1) > 1).tolist():
            linked = group[span.start :][near[row]]
            if (linked != linked[0]).any():
                check()
                group[np.isin(group, linked)] = linked.min()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    groups = [members for members in np.split(order, starts[1:]) if len(members) > 1]
    groups.sort(key=lambda members: (-len(members), members[0]))
    return [(members, float(least[members].min())) for members in groups]


# Outliers


def outlier_scores(rows: Vectors, check: Check = lambda: None) -> Float:
    """Return how different each row is from all others: 1 minus the mean cosine of its nearest neighbours, (rows,).

    Beyond `LANDMARKS` rows, only that many, spread over all, can be neighbours.
    """
    places = np.array(spread(len(rows), LANDMARKS), np.int64)
    landmarks = np.ascontiguousarray(rows[places])
    scores = np.ones(len(rows))
    count = min(NEIGHBOURS, len(places) - 1)
    for span in blocks(len(rows), len(places), check) if count > 0 else ():
        cosines = rows[span] @ landmarks.T
        here = np.flatnonzero((places >= span.start) & (places < span.start + len(cosines)))
        cosines[places[here] - span.start, here] = -1  # no row is its own neighbour
        nearest_rows = -np.partition(-cosines, count - 1, axis=1)[:, :count]
        scores[span] = 1 - nearest_rows.mean(axis=1, dtype=float)
    return np.round(scores, DIGITS)


def largest_scores(scores: Float, n: int) -> Labels:
    """Return the rows with the n largest scores; ties go to the first."""
    return np.argsort(-scores, kind="stable")[:n]


# Planes


class Plane(NamedTuple):
    """A point for each row (rows, 2), and the shares of the variance that the two axes explain."""

    points: Float
    shares: list[float]


def principal_plane(rows: Vectors, check: Check = lambda: None) -> Plane:
    """Project rows (rows, dim) onto their first two principal axes."""
    mean, dim = rows.mean(axis=0, dtype=float), rows.shape[1]
    if dim <= MOST_PRODUCTS:
        scatter = np.zeros((dim, dim))
        for span in blocks(len(rows), dim, check):
            centred = rows[span] - mean
            scatter += centred.T @ centred
        values, axes = np.linalg.eigh(scatter)
    else:  # the products of a sample of rows with each other have the same eigenvalues
        check()
        centred = rows[spread(len(rows), AXIS_SAMPLE)] - mean
        values, sides = np.linalg.eigh(centred @ centred.T)
        axes = centred.T @ (sides / np.sqrt(np.maximum(values, np.finfo(float).tiny)))
    total = max(float(values.sum()), np.finfo(float).tiny)
    two = axes[:, ::-1][:, :2]
    # The sign of an axis is arbitrary: making its largest entry positive makes the map deterministic.
    two = two * np.where(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])] < 0, -1, 1)
    points = np.zeros((len(rows), 2))
    for span in blocks(len(rows), dim, check):
        points[span, : two.shape[1]] = (rows[span] - mean) @ two
    return Plane(points, [max(0.0, float(value / total)) for value in values[::-1][:2]])


def group_plane(rows: Vectors, labels: Labels) -> Float:
    """Project rows to points (rows, 2) in the plane in which the means of the groups are furthest apart."""
    count = int(labels.max(initial=-1)) + 1
    if count < 3:  # two means span a line only
        return principal_plane(rows).points
    means = np.array([rows[labels == group].mean(axis=0, dtype=float) for group in range(count)])
    centre = means.mean(axis=0)
    axes = np.linalg.svd(means - centre, full_matrices=False)[2][:2]
    axes = axes * np.where(axes[[0, 1], np.abs(axes).argmax(axis=1)] < 0, -1, 1)[:, None]
    return np.asarray((rows - centre) @ axes.T)
