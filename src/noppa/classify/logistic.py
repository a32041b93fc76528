"""Logistic regression on vectors and n-grams: many models at once, every fold and every regularization in one L-BFGS run.

All models share the rows, and a fold is a weight of 0 or 1 on each row, so that one iteration of all models is two dense and
two sparse products. Vectors are standardized and rotated to their principal axes: the l2 penalty does not change, and the
Hessian becomes nearly diagonal. Each weight of an n-gram is the product of a parameter and the square root of how unequally
the n-gram is spread over the classes (its log-count ratio, as in the NB-SVM of Wang and Manning, 2012), so that the penalty
spares n-grams that distinguish classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.classify.features import SparseRows
from noppa.classify.lbfgs import minimize

Array = NDArray[np.float32]
Float = NDArray[np.float64]
Ints = NDArray[np.int64]

#: A model is fitted when its gradient, measured by the preconditioner, is shorter: its loss is then within 5e-5 of the minimum.
TOLERANCE = 1e-2
#: The most numbers in the points of one batch of models: L-BFGS holds some twenty arrays of that size.
BATCH_NUMBERS = 1 << 22
#: Rows whose moments are summed at a time.
BLOCK = 4096
#: Products in memory at a time when predicting.
PRODUCTS = 1 << 20
#: Axes with less than this share of the largest variance are left out.
LEAST_VARIANCE = 1e-7
#: The logarithm of the temperature is searched between these bounds, narrowed this many times by golden section.
LOWEST, HIGHEST, NARROWINGS = -4.0, 4.0, 18
GOLDEN = (np.sqrt(5) - 1) / 2
#: A temperature far from 1 costs as much as the loss of this many rows, so that few rows do not give an extreme one.
PRIOR_ROWS = 2.0


# Predicting


@dataclass(frozen=True, eq=False)
class LinearModel:
    """The fitted weights: dense (width, columns), n-grams (n-grams, columns), and biases (columns,)."""

    dense: Array
    ngrams: Array
    biases: Float

    def logits(self, dense: Sequence[Array], sparse: SparseRows) -> Float:
        """Return logits (n, columns): the same bytes for a text in any batch and with any number of threads."""
        logits = np.tile(self.biases, (len(sparse), 1))
        start = 0
        for block in dense:
            logits += _row_products(block, self.dense[start : start + block.shape[1]])
            start += block.shape[1]
        for column in range(logits.shape[1]):
            parts = sparse.values.astype(np.float64) * self.ngrams[sparse.ids, column]
            logits[:, column] += sparse.row_sums(parts)
        return logits


def _row_products(rows: Array, weights: Array) -> Float:
    """Return rows (n, width) @ weights (width, columns) without BLAS, whose sums depend on the number of rows."""
    wide = np.ascontiguousarray(weights.T, np.float64)
    out = np.empty((len(rows), len(wide)))
    size = max(1, PRODUCTS // max(wide.size, 1))
    for start in range(0, len(rows), size):
        # The sum runs over the last, contiguous axis: its order depends on the width alone.
        block = rows[start : start + size, None].astype(np.float64)
        out[start : start + size] = (block * wide).sum(axis=2)
    return out


def probabilities(logits: NDArray[np.floating], softmax: bool) -> NDArray[np.floating]:
    """Return the probabilities of logits (…, columns): over all columns together, or of each by itself."""
    if softmax:
        powers = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=-1, keepdims=True))
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))


# Calibrating


def row_losses(logits: Float, targets: Array, softmax: bool) -> Float:
    """Return the log-loss of each row, (n,), for logits and targets (n, columns)."""
    if softmax:
        top = logits.max(axis=1)
        total = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
        return np.asarray(total - (targets * logits).sum(axis=1))
    return np.asarray((np.logaddexp(0, logits) - targets * logits).sum(axis=1))


def fit_temperature(logits: Float, targets: Array, softmax: bool) -> float:
    """Return the number by which to divide logits (n, columns) of held-out rows so that their probabilities are calibrated."""

    def loss(power: float) -> float:
        total = row_losses(logits * np.exp(-power), targets, softmax).sum()
        return float(total + PRIOR_ROWS * power**2)

    low, high = LOWEST, HIGHEST
    inner = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    values = [loss(inner[0]), loss(inner[1])]
    for _ in range(NARROWINGS):
        if values[0] <= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - GOLDEN * (high - low)
            values[0] = loss(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + GOLDEN * (high - low)
            values[1] = loss(inner[1])
    return float(np.exp((low + high) / 2))


# Fitting


@dataclass(frozen=True, eq=False)
class Axes:
    """A block of columns, standardized and rotated: rows (n, axes), and how to get weights of the columns back.

    to_columns (columns, axes): from weights of the axes to weights of the columns.
    """

    rows: Array
    variances: Float
    centre: Float
    to_columns: Float

    @classmethod
    def from_columns(cls, columns: Array) -> Axes:
        """Standardize and rotate columns (n, width); a column without variance is left out."""
        starts = range(0, len(columns), BLOCK)  # in blocks, to copy only some rows to float64
        sums = (columns[start : start + BLOCK].sum(axis=0, dtype=np.float64) for start in starts)
        centre = np.asarray(sum(sums) / len(columns))
        squares = sum(
            ((columns[start : start + BLOCK] - centre) ** 2).sum(axis=0) for start in starts
        )
        spread = np.sqrt(squares / len(columns))
        flat = spread <= 1e-6 * max(spread.max(initial=0.0), 1e-30)
        inverse = np.where(flat, 0, 1 / np.where(flat, 1, spread))
        rows = (columns - centre.astype(np.float32)) * inverse.astype(np.float32)
        rows = rows.astype(np.float32)
        variances, axes = _principal_axes(rows)
        return cls(rows @ axes, variances, centre, inverse[:, None] * axes)


def _principal_axes(rows: Array) -> tuple[Float, Array]:
    """Return variances (axes,) and axes (width, axes), from the smaller of the two products of the rows with themselves."""
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
    """What models are fitted on: blocks of axes, n-grams (n, width), and targets (n, columns) of 0 and 1.

    softmax: whether exactly one column holds.
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
        """The variances of the columns of `dense`."""
        return np.concatenate([*(block.variances for block in self.blocks), [1.0]])

    @property
    def columns(self) -> int:
        """The number of columns of the targets."""
        return int(self.targets.shape[1])

    @property
    def size(self) -> int:
        """The number of parameters of a model."""
        return (len(self.variances) + self.ngrams.width) * self.columns

    def folds(self, weights: Array) -> Folds:
        """Return sets of rows to train on, by weights (folds, n) of 0 and 1."""
        of_class = self.targets[:, None] * weights.T[:, :, None]
        of_class = np.concatenate([of_class, weights.T[:, :, None]], axis=2)  # and of all rows
        flat = of_class.reshape(len(of_class), -1)
        places = self.ngrams.transposed
        counts = replace(places, values=np.ones_like(places.values)).times(flat, self.threads)
        counts = counts.reshape(-1, len(weights), self.columns + 1).transpose(1, 0, 2) + 1.0
        inside, outside = counts[:, :, :-1], counts[:, :, -1:] - counts[:, :, :-1] + 1.0
        inside = inside / inside.sum(axis=1, keepdims=True)
        outside = outside / outside.sum(axis=1, keepdims=True)
        ratios = np.sqrt(np.abs(np.log(inside / outside)))
        return Folds(weights, np.asarray(ratios, np.float32))


class Folds(NamedTuple):
    """Sets of rows to train on, as weights (folds, n) of 0 and 1.

    ratios (folds, width, columns): the square root of each n-gram's log-count ratio.
    """

    weights: Array
    ratios: Array


class Models:
    """The fitted parameters (models, parameters) of a design."""

    def __init__(self, design: Design, points: Array, ratios: Array) -> None:
        self.design, self.points, self.ratios = design, points, ratios
        self.table = points.reshape(len(points), -1, design.columns)

    def logits(self) -> Array:
        """Return the logits of all rows, (models, n, columns)."""
        return _logits(self.design, self.table, self.ratios).transpose(1, 0, 2)

    def first(self, temperature: float) -> LinearModel:
        """Return the first model for columns as they were before rotation, divided by the temperature."""
        design, table = self.design, self.table[0]
        width = design.dense.shape[1]
        blocks, start = [np.zeros((0, design.columns))], 0
        biases = table[width - 1].astype(np.float64)
        for block in design.blocks:
            stop = start + len(block.variances)
            blocks.append(block.to_columns @ table[start:stop])
            biases = biases - np.einsum("d,dc->c", block.centre, blocks[-1])
            start = stop
        return LinearModel(
            (np.concatenate(blocks) / temperature).astype(np.float32),
            (table[width:] * self.ratios[0] / temperature).astype(np.float32),
            biases / temperature,
        )


def fit(
    design: Design, folds: Folds, fold_of: Ints, l2: Float, start: Array | None = None
) -> Models:
    """Fit models on the rows of their folds.

    fold_of (models,): the fold of each model. l2 (models, 2): the penalties of vectors and n-grams, as part of the mean loss.
    start (models, parameters): points near the solutions, such as those for other penalties; None for zeros.
    """
    per_batch = max(1, BATCH_NUMBERS // design.size)
    points = np.zeros((len(l2), design.size), np.float32) if start is None else start.copy()
    for first in range(0, len(l2), per_batch):
        batch = slice(first, first + per_batch)
        chosen = fold_of[batch]
        problem = _Problem(design, folds.weights[chosen], l2[batch], folds.ratios[chosen])
        points[batch] = minimize(problem, points[batch])
    return Models(design, points, folds.ratios[fold_of])


def _logits(design: Design, table: Array, ratios: Array) -> Array:
    """Return logits (n, models, columns)."""

    def side_by_side(tables: Array) -> Array:  # (models, rows, columns) to (rows, models columns)
        return np.ascontiguousarray(tables.transpose(1, 0, 2)).reshape(tables.shape[1], -1)

    width, models = design.dense.shape[1], len(table)
    scores = design.dense @ side_by_side(table[:, :width])
    if design.ngrams.width:
        scores += design.ngrams.times(side_by_side(table[:, width:] * ratios), design.threads)
    return scores.reshape(-1, models, design.columns)


class _Problem:
    """The penalized mean loss of each model, as `lbfgs.Problem`."""

    def __init__(self, design: Design, weights: Array, l2: Float, ratios: Array) -> None:
        self.design, self.ratios = design, ratios
        self.weights = (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)
        models, columns, dense = len(l2), design.columns, len(design.variances)
        # The diagonal of the Hessian if all classes are equally probable.
        steepness = (columns - 1) / columns**2 if design.softmax else 0.25
        penalties = np.repeat(l2, [dense, design.ngrams.width], axis=1)
        penalties[:, dense - 1] = 0  # the intercept
        squares = design.ngrams.values.astype(np.float64) ** 2
        sums = np.bincount(design.ngrams.ids, squares, design.ngrams.width)
        mean_squares = sums / max(len(design.ngrams), 1)
        curvatures = np.concatenate([design.variances, mean_squares]) * steepness
        curvature = np.tile(curvatures[None, :, None], (models, 1, columns))
        curvature[:, dense:] *= ratios.astype(np.float64) ** 2
        self.penalties = penalties[:, :, None].astype(np.float32)
        inverse = 1 / (curvature + self.penalties + 1e-9)
        self.inverse = inverse.reshape(models, -1).astype(np.float32)

    def subset(self, models: Ints) -> _Problem:
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
            sparse = sparse.reshape(-1, models, design.columns).transpose(1, 0, 2)
            slopes.append(sparse * self.ratios)
        penalized = self.penalties * table
        gradients = np.concatenate(slopes, axis=1) + penalized
        total += 0.5 * np.einsum("mpc,mpc->m", penalized, table)
        return total, gradients.reshape(models, -1)


def _losses(logits: Array, design: Design) -> tuple[Array, Array]:
    """Return the loss of each row in each model, (n, models), and its slopes along the logits, (n, models, columns)."""
    targets = design.targets[:, None]
    if design.softmax:
        logits = logits - logits.max(axis=2, keepdims=True)
        powers = np.exp(logits)
        total = powers.sum(axis=2, keepdims=True)
        losses = np.log(total[:, :, 0]) - (targets * logits).sum(axis=2)
        return losses, powers / total - targets
    losses = (np.logaddexp(0, logits) - targets * logits).sum(axis=2)
    return losses, probabilities(logits, softmax=False) - targets
