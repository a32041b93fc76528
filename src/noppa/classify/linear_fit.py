"""Logistic regression on vectors beside n-grams, many models at once: every fold and every strength in one L-BFGS run.

All models share the rows, and a fold is a weight of 0 or 1 on each of them, so that one iteration of all models is two dense
and two sparse products. Vectors are standardized and rotated to their principal axes: the l2 penalty does not change, and the
Hessian becomes nearly diagonal. Each weight of an n-gram is the product of a parameter and the square root of how unequally
the n-gram is spread over the classes (its log-count ratio, as in the NB-SVM of Wang and Manning, 2012), so that the penalty
spares n-grams that tell classes apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa.classify.lbfgs import minimize
from noppa.classify.sparse_rows import SparseRows

Array = NDArray[np.float32]
Float = NDArray[np.float64]

#: The length of a gradient, measured by the preconditioner, at which a model counts as fitted: its loss is then within 5e-5 of the least.
TOLERANCE = 1e-2
#: Numbers that the points of one batch of models may have: L-BFGS holds some twenty arrays of that size.
BATCH_NUMBERS = 1 << 22
#: Rows whose moments are summed at a time.
BLOCK = 4096
#: Axes with less than this share of the largest variance are left out.
LEAST_VARIANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Axes:
    """A block of columns standardized and rotated: rows (n, axes), and how to get weights of the columns back."""

    rows: Array
    variances: Float
    centre: Float
    to_columns: Float
    """Weights along the axes to weights of the columns, (columns, axes)."""

    @classmethod
    def of(cls, columns: Array) -> Axes:
        """Of columns (n, width); one without variance has no part in any axis."""
        centre, spread = _moments(columns)
        flat = spread <= 1e-6 * max(spread.max(initial=0.0), 1e-30)
        inverse = np.where(flat, 0, 1 / np.where(flat, 1, spread))
        rows = ((columns - centre.astype(np.float32)) * inverse.astype(np.float32)).astype(
            np.float32
        )
        variances, axes = _principal_axes(rows)
        return cls(rows @ axes, variances, centre, inverse[:, None] * axes)


def _moments(columns: Array) -> tuple[Float, Float]:
    """Means and standard deviations (width,) in float64, without a copy of all columns in it."""
    blocks = range(0, len(columns), BLOCK)
    centre = sum(columns[at : at + BLOCK].sum(axis=0, dtype=np.float64) for at in blocks) / len(
        columns
    )
    squares = sum(((columns[at : at + BLOCK] - centre) ** 2).sum(axis=0) for at in blocks)
    return np.asarray(centre), np.sqrt(squares / len(columns))


def _principal_axes(rows: Array) -> tuple[Float, Array]:
    """Variances (axes,) and axes (width, axes), by way of the smaller of the two products of the rows with themselves."""
    count, width = rows.shape
    if width <= count:
        variances, axes = np.linalg.eigh(rows.T @ rows / count)
    else:
        variances, sides = np.linalg.eigh(rows @ rows.T / count)
        axes = rows.T @ (sides / np.sqrt(np.maximum(variances * count, 1e-30)))
    keep = variances > LEAST_VARIANCE * max(float(variances.max(initial=0.0)), 1e-30)
    return variances[keep].astype(np.float64), np.ascontiguousarray(axes[:, keep], np.float32)


@dataclass(frozen=True, eq=False)
class Design:
    """What models are fitted on: blocks of axes, n-grams (n, width), targets (n, columns) of 0 and 1, and how a logit
    becomes a probability: `softmax` over the columns, or each by itself.
    """

    blocks: Sequence[Axes]
    ngrams: SparseRows
    targets: Array
    softmax: bool
    threads: int

    @cached_property
    def dense(self) -> Array:
        """All axes, and a last column of ones for the intercept."""
        ones = np.ones((len(self.targets), 1), np.float32)
        return np.hstack([*(block.rows for block in self.blocks), ones])

    @cached_property
    def variances(self) -> Float:
        return np.concatenate([*(block.variances for block in self.blocks), [1.0]])

    @property
    def columns(self) -> int:
        return int(self.targets.shape[1])

    @property
    def size(self) -> int:
        """Parameters of a model."""
        return (len(self.variances) + self.ngrams.width) * self.columns

    def log_ratios(self, weights: Array) -> Array:
        """The square root of each n-gram's log-count ratio, (models, width, columns), from rows of weights (models, n)."""
        own = self.targets[:, None] * weights.T[:, :, None]
        own = np.concatenate([own, weights.T[:, :, None]], axis=2)  # and all rows, for the rest
        flat = own.reshape(len(own), -1)
        counts = self.ngrams.transposed.pattern.times(flat, self.threads)
        counts = counts.reshape(-1, len(weights), self.columns + 1).transpose(1, 0, 2) + 1.0
        inside, outside = counts[:, :, :-1], counts[:, :, -1:] - counts[:, :, :-1] + 1.0
        inside = inside / inside.sum(axis=1, keepdims=True)
        outside = outside / outside.sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt(np.abs(np.log(inside / outside))), np.float32)


@dataclass(frozen=True, eq=False)
class Weights:
    """Models as they are applied to columns: dense (models, width, columns), ngrams (models, n-grams, columns), and biases
    (models, columns).
    """

    dense: Float
    ngrams: Array
    biases: Float


class Models:
    """Fitted parameters (models, parameters) of a design."""

    def __init__(self, design: Design, points: Array, ratios: Array) -> None:
        self.design, self.points = design, points
        self.table = points.reshape(len(points), -1, design.columns)
        self.ratios = ratios

    def logits(self) -> Array:
        """Of all rows, (models, n, columns)."""
        return _logits(self.design, self.table, self.ratios).transpose(1, 0, 2)

    def weights(self) -> Weights:
        blocks, start = [], 0
        biases = self.table[:, self.design.dense.shape[1] - 1].astype(np.float64)
        for block in self.design.blocks:
            stop = start + len(block.variances)
            blocks.append(block.to_columns @ self.table[:, start:stop])
            biases = biases - np.einsum("d,mdc->mc", block.centre, blocks[-1])
            start = stop
        ngrams = self.table[:, self.design.dense.shape[1] :] * self.ratios
        dense = (
            np.concatenate(blocks, axis=1)
            if blocks
            else np.zeros((len(self.table), 0, self.design.columns))
        )
        return Weights(dense, ngrams, biases)


@dataclass(frozen=True, eq=False)
class Folds:
    """Sets of rows to train on, as weights (folds, n) of 0 and 1, and the log-count ratios in each."""

    weights: Array
    ratios: Array

    @classmethod
    def of(cls, design: Design, weights: Array) -> Folds:
        return cls(weights, design.log_ratios(weights))


def fit(
    design: Design,
    folds: Folds,
    which: NDArray[np.int64],
    l2: Float,
    start: Array | None = None,
) -> Models:
    """Models on the rows of the folds `which` (models,), with l2 (models, 2) on vectors and n-grams as part of the mean loss.

    start: points (models, parameters) near the solutions, such as those at other strengths; zeros where None.
    """
    per_batch = max(1, BATCH_NUMBERS // design.size)
    points = np.zeros((len(l2), design.size), np.float32) if start is None else start.copy()
    for first in range(0, len(l2), per_batch):
        batch = slice(first, first + per_batch)
        own = which[batch]
        problem = _Problem(design, folds.weights[own], l2[batch], folds.ratios[own])
        points[batch] = minimize(problem, points[batch])
    return Models(design, points, folds.ratios[which])


def _logits(design: Design, table: Array, ratios: Array) -> Array:
    """(n, models, columns)"""
    width, models = design.dense.shape[1], len(table)
    scores = design.dense @ _side_by_side(table[:, :width])
    if design.ngrams.width:
        scores += design.ngrams.times(_side_by_side(table[:, width:] * ratios), design.threads)
    return scores.reshape(-1, models, design.columns)


def _side_by_side(tables: Array) -> Array:
    """(models, rows, columns) to (rows, models columns)."""
    return np.ascontiguousarray(tables.transpose(1, 0, 2)).reshape(tables.shape[1], -1)


class _Problem:
    """The penalized mean loss of each model, as `lbfgs.Problem`."""

    def __init__(self, design: Design, weights: Array, l2: Float, ratios: Array) -> None:
        self.design, self.ratios = design, ratios
        self.weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        models, columns, dense = len(l2), design.columns, len(design.variances)
        # The diagonal of the Hessian where all classes are equally probable.
        steepness = (columns - 1) / columns**2 if design.softmax else 0.25
        penalties = np.repeat(l2, [dense, design.ngrams.width], axis=1)
        penalties[:, dense - 1] = 0  # the intercept
        curvatures = np.concatenate([design.variances, design.ngrams.mean_squares()]) * steepness
        curvature = np.tile(curvatures[None, :, None], (models, 1, columns))
        curvature[:, dense:] *= ratios.astype(np.float64) ** 2
        self.penalties = penalties[:, :, None].astype(np.float32)
        self.inverse = (
            (1 / (curvature + self.penalties + 1e-9)).reshape(models, -1).astype(np.float32)
        )

    def subset(self, models: NDArray[np.int64]) -> _Problem:
        other = object.__new__(_Problem)
        other.design, other.ratios = self.design, self.ratios[models]
        other.weights, other.penalties = self.weights[models], self.penalties[models]
        other.inverse = self.inverse[models]
        return other

    def converged(self, gradients: Array) -> NDArray[np.bool_]:
        lengths = np.einsum("mp,mp->m", gradients * self.inverse, gradients)
        return np.asarray(np.sqrt(lengths) < TOLERANCE)

    def __call__(self, points: Array) -> tuple[Float, Array]:
        design, models = self.design, len(points)
        table = points.reshape(models, -1, design.columns)
        losses, residuals = _losses(_logits(design, table, self.ratios), design)
        total = np.einsum("mn,nm->m", self.weights, losses, dtype=np.float64)
        residuals *= self.weights.T[:, :, None]
        flat = residuals.reshape(len(residuals), -1)
        slopes = [(design.dense.T @ flat).reshape(-1, models, design.columns).transpose(1, 0, 2)]
        if design.ngrams.width:
            sparse = design.ngrams.transposed.times(flat, design.threads)
            slopes.append(
                sparse.reshape(-1, models, design.columns).transpose(1, 0, 2) * self.ratios
            )
        penalized = self.penalties * table
        gradients = np.concatenate(slopes, axis=1) + penalized
        total += 0.5 * np.einsum("mpc,mpc->m", penalized, table)
        return total, gradients.reshape(models, -1)


def _losses(logits: Array, design: Design) -> tuple[Array, Array]:
    """Of each row in each model, (n, models), and their slopes along the logits (n, models, columns)."""
    targets = design.targets[:, None]
    if design.softmax:
        logits = logits - logits.max(axis=2, keepdims=True)
        powers = np.exp(logits)
        total = powers.sum(axis=2, keepdims=True)
        losses = np.log(total[:, :, 0]) - (targets * logits).sum(axis=2)
        return losses, powers / total - targets
    losses = (np.logaddexp(0, logits) - targets * logits).sum(axis=2)
    return losses, probabilities(logits, softmax=False) - targets


def probabilities(logits: NDArray[np.floating], softmax: bool) -> NDArray[np.floating]:
    """Of logits (…, columns): over the columns together, or each by itself."""
    if softmax:
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
