"""Score sentence vectors by logistic regression on top of them: every fold and every l2 strength in one L-BFGS run.

All models share the rows, and a fold is a weight of 0 or 1 on each row, so one iteration of all models is two matrix
products. The rows are first rotated to their principal axes: the l2 penalty does not change, and the Hessian becomes
nearly diagonal, which makes a good preconditioner.

On vectors of the embedded model scikit-learn's LogisticRegression (lbfgs) takes 2.3 times the CPU time on MR, 1.9 on TREC
and 0.55 on SICK-E, where most of the work is the rotation of 3,336 columns; its scores differ by a row or two.

`logistic` fits the classifier, which has sparse columns, several strengths and another stopping rule. The published
scores were computed with the arithmetic of this module, so the two stay apart; they share `lbfgs` and the folds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.classify.labels import stratified_folds
from noppa.classify.lbfgs import minimize

Array = NDArray[np.float32]
Float = NDArray[np.float64]
Labels = NDArray[np.int64]

#: The seed of SentEval's programs, for folds and classifiers.
SEED = 1111
OUTER_FOLDS = 10
INNER_FOLDS = 5
L2 = (1e-4, 1e-3, 1e-2, 1e-1)
TOLERANCE = 1e-4


@dataclass(frozen=True)
class ProbeData:
    """Vectors and labels for training, for choosing l2 (None: cross-validate inside train) and for scoring."""

    train: tuple[Array, Labels]
    dev: tuple[Array, Labels] | None
    test: tuple[Array, Labels]
    classes: int
    seed: int


@dataclass(frozen=True)
class ProbeResult:
    """The chosen l2, its accuracy on development rows, the predicted test classes (n,), and the CPU time."""

    l2: float
    dev: float
    predicted: Labels
    cpu_seconds: float = 0.0


Probe = Callable[[ProbeData], ProbeResult]


def timed(probe: Probe) -> Probe:
    """Decorate a probe to measure its CPU time, in the process it runs in."""

    @wraps(probe)
    def measured(data: ProbeData) -> ProbeResult:
        start = time.process_time()
        result = probe(data)
        return replace(result, cpu_seconds=time.process_time() - start)

    return measured


@timed
def probe(data: ProbeData) -> ProbeResult:
    """Fit on standardized features; choose l2 on the development rows or by five folds."""
    (rows, labels), (test, _) = data.train, data.test
    center, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale < 1e-6 * max(scale.max(), 1e-30)] = 1  # a constant column
    rows, test = (rows - center) / scale, (test - center) / scale
    l2, rotated = np.array(L2), rotate(rows)
    if data.dev is not None:
        dev, dev_labels = (data.dev[0] - center) / scale, data.dev[1]
        models = fit(rotated, labels, np.ones((len(l2), len(rows)), np.float32), l2, data.classes)
        accuracy = (predict(dev, models) == dev_labels).mean(axis=1)
        best = int(accuracy.argmax())
        return ProbeResult(l2[best], accuracy[best], predict(test, models[best : best + 1])[0])
    folds = stratified_folds(labels, INNER_FOLDS, data.seed)
    weights = np.ones((INNER_FOLDS, len(labels)), np.float32)
    for fold, (_, held_out) in enumerate(folds):
        weights[fold, held_out] = 0
    models = fit(
        rotated, labels, np.repeat(weights, len(l2), 0), np.tile(l2, INNER_FOLDS), data.classes
    ).reshape(INNER_FOLDS, len(l2), -1, data.classes)
    accuracies = [
        (predict(rows[held_out], models[fold]) == labels[held_out]).mean(axis=1)
        for fold, (_, held_out) in enumerate(folds)
    ]
    accuracy = np.mean(accuracies, axis=0)
    best = int(accuracy.argmax())
    all_rows = np.ones((1, len(labels)), np.float32)
    final = fit(rotated, labels, all_rows, l2[best : best + 1], data.classes)
    return ProbeResult(l2[best], accuracy[best], predict(test, final)[0])


class Rotated(NamedTuple):
    """Rows (n, dim) along their principal axes, the axes (dim, dim), and the variances along them (dim,)."""

    rows: Array
    axes: Float
    variances: Float


def rotate(rows: Array) -> Rotated:
    """Prepare rows (n, dim) for `fit`; for wide rows this is most of the work, so do it once."""
    wide = rows.astype(np.float64)
    variances, axes = np.linalg.eigh(wide.T @ wide / len(wide))
    return Rotated((wide @ axes).astype(np.float32), axes, variances)


def fit(data: Rotated, labels: Labels, weights: Array, l2: Float, classes: int) -> Array:
    """Return coefficients (models, dim + 1, classes) for the rows before rotation; the last row is the intercept.

    weights (models, n): of each row in each model. l2 (models,): multiplies half the squared coefficients in the loss.
    """
    problem = _Problem(data, labels, weights, l2, classes)
    minima = minimize(problem, np.zeros((len(l2), problem.size))).reshape(len(l2), -1, classes)
    return np.concatenate([data.axes @ minima[:, :-1], minima[:, -1:]], axis=1).astype(np.float32)


def predict(rows: Array, coefficients: Array) -> Labels:
    """Return the most probable class, (models, n), for rows (n, dim)."""
    scores = np.matmul(rows, coefficients[:, :-1]) + coefficients[:, -1:]
    return np.asarray(scores.argmax(axis=2))


class _Problem:
    """Computes the penalized mean loss of each model and its gradient at points (models, (dim + 1) classes)."""

    def __init__(
        self,
        data: Rotated,
        labels: Labels,
        weights: Array,
        l2: Float,
        classes: int,
    ) -> None:
        self.rows = np.hstack([data.rows, np.ones((len(data.rows), 1), np.float32)])
        self.labels, self.l2, self.classes = labels, l2, classes
        self.weights = np.ascontiguousarray((weights / weights.sum(axis=1, keepdims=True)).T)
        self.size = self.rows.shape[1] * classes
        # Preconditioner: the diagonal of the Hessian at equal probabilities of all classes.
        steepness = (classes - 1) / classes**2
        curvature = steepness * np.maximum(data.variances, 0) + l2[:, None] + 1e-9
        curvature = np.hstack([curvature, np.full((len(l2), 1), steepness)])
        self.inverse = np.repeat(1 / curvature, classes, axis=1)

    def subset(self, models: NDArray[np.int64]) -> _Problem:
        """Return the same problem for some of the models."""
        other = object.__new__(_Problem)
        other.__dict__.update(self.__dict__)
        other.weights, other.l2 = self.weights[:, models], self.l2[models]
        other.inverse = self.inverse[models]
        return other

    def converged(self, gradients: Float) -> NDArray[np.bool_]:
        return np.asarray(np.abs(gradients).max(axis=1) < TOLERANCE)

    def __call__(self, points: Float) -> tuple[Float, Float]:
        models, classes = len(points), self.classes
        table = points.reshape(models, -1, classes)
        # Scores are (n, classes, models): NumPy adds up a short last axis far more slowly.
        flat = table.transpose(1, 2, 0).reshape(-1, classes * models).astype(np.float32)
        scores = (self.rows @ flat).reshape(-1, classes, models)
        scores -= scores.max(axis=1, keepdims=True)
        numbers = np.arange(len(scores))
        label_scores = scores[numbers, self.labels]
        np.exp(scores, out=scores)
        total = scores.sum(axis=1)
        losses = np.einsum("nm,nm->m", self.weights, np.log(total) - label_scores, dtype=np.float64)
        scores /= total[:, None]
        scores[numbers, self.labels] -= 1
        scores *= self.weights[:, None]
        slopes = (self.rows.T @ scores.reshape(len(scores), -1)).reshape(-1, classes, models)
        gradients = slopes.transpose(2, 0, 1).astype(np.float64)
        penalized = table[:, :-1]
        losses += 0.5 * self.l2 * np.einsum("mdc,mdc->m", penalized, penalized)
        gradients[:, :-1] += self.l2[:, None, None] * penalized
        return losses, gradients.reshape(models, -1)
