"""Near-duplicates, clusters and a map of many vectors; in blocks, so that a watch can stop the work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.methods.k_means import k_means, nearest
from noppa.serve.served_models import Watch

#: Numbers of a block, between two checks of the watch: some megabytes, some hundredths of a second.
BLOCK_VALUES = 1 << 20
#: Up to this many dimensions the covariance matrix is computed once; beyond, each iteration reads the rows again.
MOST_PRODUCTS = 1024
CENTRAL = 3
ROUNDS = 40
SETTLED = 1e-10
AXES = 10
LISTED_GROUPS = 500

Vectors = NDArray[np.float32]
Float = NDArray[np.float64]


def _spans(rows: int, width: int, watch: Watch) -> Iterator[slice]:
    """Slices of consecutive rows of `width` numbers, with a check of the watch before each."""
    step = max(1, BLOCK_VALUES // max(1, width))
    for start in range(0, rows, step):
        watch.check()
        yield slice(start, start + step)


def alike(rows: Vectors, threshold: float, watch: Watch) -> list[dict[str, Any]]:
    """Groups of lines joined by cosines from `threshold` on, the largest first, each with its smallest such cosine."""
    group, least = np.arange(len(rows)), np.ones(len(rows))
    for span in _spans(len(rows), len(rows), watch):
        cosines = rows[span] @ rows[span.start :].T  # earlier rows have been compared with these
        near = cosines >= threshold - 1e-6
        least[span] = np.where(near, cosines, 1).min(axis=1)
        for at in np.flatnonzero(np.count_nonzero(near, axis=1) > 1).tolist():
            joined = group[span.start :][near[at]]
            if (joined != joined[0]).any():
                watch.check()
                group[np.isin(group, joined)] = joined.min()
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    groups = [lines for lines in np.split(order, starts[1:]) if len(lines) > 1]
    groups.sort(key=lambda lines: (-len(lines), lines[0]))
    return [
        {"lines": lines.tolist(), "least": float(least[lines].min())}
        for lines in groups[:LISTED_GROUPS]
    ]


def clustered(rows: Vectors, count: int, watch: Watch) -> dict[str, Any]:
    """k-means over the lines: the cluster of each, and of each cluster its size and most central lines; largest first."""
    with watch.over():
        centroids = k_means(rows, min(count, len(rows)))
    spans = _spans(len(rows), rows.shape[1], watch)
    labels = np.concatenate([nearest(rows[span], centroids) for span in spans])
    sizes = np.bincount(labels, minlength=len(centroids))
    order = np.argsort(-sizes, kind="stable")
    rank = np.argsort(order)
    clusters = []
    for at in order[sizes[order] > 0].tolist():
        members = np.flatnonzero(labels == at)
        close = np.argsort(-(rows[members] @ centroids[at]), kind="stable")[:CENTRAL]
        clusters.append({"size": len(members), "central": members[close].tolist()})
    return {"labels": rank[labels].tolist(), "clusters": clusters}


def plane(rows: Vectors, watch: Watch) -> dict[str, Any]:
    """The first two principal axes: a point a line, and their shares of the variance."""
    mean = rows.mean(axis=0, dtype=float)

    def centred() -> Iterator[tuple[slice, Float]]:
        for span in _spans(len(rows), rows.shape[1], watch):
            yield span, rows[span] - mean

    total = sum(float((block**2).sum()) for _, block in centred())
    spread = _products(centred, rows.shape[1])
    # Subspace iteration: a few more axes than the two that are needed converge to the first eigenvectors.
    axes = min(rows.shape[1], AXES)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(rows.shape[1], axes)))[0]
    settled: NDArray[np.floating[Any]] = np.zeros(0)
    for _ in range(ROUNDS):
        watch.check()
        product = spread(basis)
        before, settled = settled, np.linalg.eigvalsh(basis.T @ product)[-2:]
        if len(before) and np.allclose(settled, before, rtol=SETTLED, atol=0):
            break
        basis = np.linalg.qr(product)[0]
    values, turn = np.linalg.eigh(basis.T @ spread(basis))
    two = (basis @ turn)[:, ::-1][:, :2]
    # The sign of an axis is arbitrary: make its largest entry positive, so that the map is deterministic.
    two = two * np.where(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])] < 0, -1, 1)
    points = np.zeros((len(rows), 2))
    for span, block in centred():
        points[span, : two.shape[1]] = block @ two
    total = max(total, np.finfo(float).tiny)
    return {"points": points, "shares": [max(0.0, float(v / total)) for v in values[::-1][:2]]}


def _products(
    centred: Callable[[], Iterator[tuple[slice, Float]]], dim: int
) -> Callable[[Float], Float]:
    """A function that multiplies the scatter matrix (dim, dim) of the rows with a basis (dim, axes)."""
    if dim <= MOST_PRODUCTS:
        products = np.zeros((dim, dim))
        for _, block in centred():
            products += block.T @ block
        return lambda basis: np.asarray(products @ basis)

    def spread(basis: Float) -> Float:
        sums = np.zeros_like(basis)
        for _, block in centred():
            sums += block.T @ (block @ basis)
        return sums

    return spread
