"""A map of many rows: their first two principal axes, or UMAP's plane."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.extras import needs
from noppa.topics.groups import Check, Float, Vectors, spans

#: Up to this many dimensions the covariance matrix is computed once; beyond, each iteration reads the rows again.
MOST_PRODUCTS = 1024
ROUNDS = 40
SETTLED = 1e-10
AXES = 10


class Plane(NamedTuple):
    """A point for each row (rows, 2), and the shares of the variance that its two axes have."""

    points: Float
    shares: list[float]


def principal_plane(rows: Vectors, check: Check = lambda: None) -> Plane:
    """The first two principal axes of rows (rows, dim)."""
    mean = rows.mean(axis=0, dtype=float)

    def centred() -> Iterator[tuple[slice, Float]]:
        for span in spans(len(rows), rows.shape[1], check):
            yield span, rows[span] - mean

    total = sum(float((block**2).sum()) for _, block in centred())
    scatter = _products(centred, rows.shape[1])
    # Subspace iteration: a few more axes than the two that are needed converge to the first eigenvectors.
    axes = min(rows.shape[1], AXES)
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(rows.shape[1], axes)))[0]
    settled: NDArray[np.floating[Any]] = np.zeros(0)
    for _ in range(ROUNDS):
        check()
        product = scatter(basis)
        before, settled = settled, np.linalg.eigvalsh(basis.T @ product)[-2:]
        if len(before) and np.allclose(settled, before, rtol=SETTLED, atol=0):
            break
        basis = np.linalg.qr(product)[0]
    values, turn = np.linalg.eigh(basis.T @ scatter(basis))
    two = (basis @ turn)[:, ::-1][:, :2]
    # The sign of an axis is arbitrary: make its largest entry positive, so that the map is deterministic.
    two = two * np.where(two[np.abs(two).argmax(axis=0), np.arange(two.shape[1])] < 0, -1, 1)
    points = np.zeros((len(rows), 2))
    for span, block in centred():
        points[span, : two.shape[1]] = block @ two
    total = max(total, np.finfo(float).tiny)
    return Plane(points, [max(0.0, float(v / total)) for v in values[::-1][:2]])


def group_plane(rows: Vectors, labels: NDArray[np.int64]) -> Float:
    """A point for each row (rows, 2), in the plane in which the means of the groups lie furthest apart."""
    count = int(labels.max(initial=-1)) + 1
    means = np.array([rows[labels == group].mean(axis=0, dtype=float) for group in range(count)])
    if count < 3:  # two means make a line
        return principal_plane(rows).points
    centre = means.mean(axis=0)
    axes = np.linalg.svd(means - centre, full_matrices=False)[2][:2]
    axes = axes * np.where(axes[[0, 1], np.abs(axes).argmax(axis=1)] < 0, -1, 1)[:, None]
    return np.asarray((rows - centre) @ axes.T)


def neighbour_plane(rows: NDArray[np.floating[Any]]) -> Float:
    """UMAP's plane (rows, 2) for cosine distances, always from the same seed; at least 3 rows."""
    with needs("umap", "layout='umap'", ", or choose layout='pca'"):
        from umap import UMAP
    neighbours = min(15, len(rows) - 1)
    fitted = UMAP(n_components=2, n_neighbors=neighbours, metric="cosine", random_state=0, n_jobs=1)
    return np.asarray(fitted.fit_transform(rows), float)


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
