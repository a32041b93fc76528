"""Multinomial logistic regression, many models at once: every fold and every l2 of a task in one L-BFGS run.

All models share the rows, and a fold is a weight of 0 or 1 on each of them, so one iteration of all models is two matrix
products. The rows are rotated to their principal axes first: the l2 penalty does not change, and the Hessian becomes
nearly diagonal, which makes a good preconditioner.

scikit-learn's LogisticRegression (lbfgs) needs 4.8 times the CPU time on MR, 3.0 on TREC and 1.4 on SICK-E for the same
problems, and its scores differ by a row or two: bench/probe_speed.py, bench/results/probe_speed.jsonl.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Float = NDArray[np.float64]

HISTORY = 8
ITERATIONS = 200
TOLERANCE = 1e-4
HALVINGS = 12
SUFFICIENT = 1e-4


@dataclass(frozen=True)
class Rotated:
    """Rows (n, dim) in the coordinates of their principal axes, the axes (dim, dim), and the variances along them (dim,)."""

    rows: Array
    axes: Float
    variances: Float


def rotated(rows: Array) -> Rotated:
    """Rows (n, dim) prepared for `fit`; for wide rows this is most of the work, so do it once."""
    wide = rows.astype(np.float64)
    variances, axes = np.linalg.eigh(wide.T @ wide / len(wide))
    return Rotated((wide @ axes).astype(np.float32), axes, variances)


def fit(data: Rotated, labels: NDArray[np.int64], weights: Array, l2: Float, classes: int) -> Array:
    """Coefficients (models, dim + 1, classes) for the rows before rotation; the last row of each model is the intercept.

    labels (n,); weights (models, n) of each row in each model; l2 (models,) multiplies half the squared coefficients,
    which are added to the mean loss.
    """
    problem = _Problem(data.rows, labels, weights, l2, classes, data.variances)
    minima = _minimize(problem).reshape(len(l2), -1, classes)
    return np.concatenate([data.axes @ minima[:, :-1], minima[:, -1:]], axis=1).astype(np.float32)


def predict(rows: Array, coefficients: Array) -> NDArray[np.int64]:
    """The most probable class, (models, n), for rows (n, dim)."""
    scores = np.matmul(rows, coefficients[:, :-1]) + coefficients[:, -1:]
    return np.asarray(scores.argmax(axis=2))


class _Problem:
    """The penalized mean loss of each model and its gradient, as functions of points (models, (dim + 1) classes)."""

    def __init__(
        self,
        rows: Array,
        labels: NDArray[np.int64],
        weights: Array,
        l2: Float,
        classes: int,
        variances: Float,
    ) -> None:
        self.rows = np.hstack([rows, np.ones((len(rows), 1), np.float32)]).astype(np.float32)
        self.labels = labels
        self.weights = weights / weights.sum(axis=1, keepdims=True)
        self.l2 = l2
        self.classes = classes
        self.size = self.rows.shape[1] * classes
        # The diagonal of the Hessian where all classes are equally probable: the preconditioner.
        steepness = (classes - 1) / classes**2
        curvature = steepness * np.maximum(variances, 0) + l2[:, None] + 1e-9
        curvature = np.hstack([curvature, np.full((len(l2), 1), steepness)])
        self.inverse = np.repeat(1 / curvature, classes, axis=1)

    def subset(self, models: NDArray[np.int64]) -> _Problem:
        """The same problem for some of the models."""
        other = object.__new__(_Problem)
        other.__dict__.update(self.__dict__)
        other.weights, other.l2 = self.weights[models], self.l2[models]
        other.inverse = self.inverse[models]
        return other

    def __call__(self, points: Float) -> tuple[Float, Float]:
        models, classes = len(points), self.classes
        table = points.reshape(models, -1, classes)
        flat = table.transpose(1, 0, 2).reshape(-1, models * classes).astype(np.float32)
        scores = (self.rows @ flat).reshape(-1, models, classes)
        scores -= scores.max(axis=2, keepdims=True)
        own = np.take_along_axis(scores, self.labels[:, None, None], axis=2)[:, :, 0]
        np.exp(scores, out=scores)
        total = scores.sum(axis=2)
        losses = np.einsum("mn,nm->m", self.weights, np.log(total) - own, dtype=np.float64)
        scores /= total[:, :, None]
        scores[np.arange(len(scores)), :, self.labels] -= 1
        scores *= self.weights.T[:, :, None]
        slopes = (self.rows.T @ scores.reshape(len(scores), -1)).reshape(-1, models, classes)
        gradients = slopes.transpose(1, 0, 2).astype(np.float64)
        penalized = table[:, :-1]
        losses += 0.5 * self.l2 * np.einsum("mdc,mdc->m", penalized, penalized)
        gradients[:, :-1] += self.l2[:, None, None] * penalized
        return losses, gradients.reshape(models, -1)


def _minimize(problem: _Problem) -> Float:
    """L-BFGS with backtracking; each model has its own history and step length, and leaves the batch when it converges."""
    count = len(problem.l2)
    result = np.zeros((count, problem.size))
    active = np.arange(count)
    points = result.copy()
    losses, gradients = problem(points)
    moves = np.zeros((0, count, problem.size))
    changes = np.zeros((0, count, problem.size))
    for _ in range(ITERATIONS):
        converged = np.abs(gradients).max(axis=1) < TOLERANCE
        if converged.any():
            result[active[converged]] = points[converged]
            rest = np.flatnonzero(~converged)
            active, points = active[rest], points[rest]
            losses, gradients = losses[rest], gradients[rest]
            moves, changes, problem = moves[:, rest], changes[:, rest], problem.subset(rest)
        if not len(active):
            return result
        steps = _direction(gradients, moves, changes, problem.inverse)
        new, new_losses, new_gradients = _line_search(problem, points, losses, gradients, steps)
        moves = np.concatenate([moves, [new - points]])[-HISTORY:]
        changes = np.concatenate([changes, [new_gradients - gradients]])[-HISTORY:]
        points, losses, gradients = new, new_losses, new_gradients
    result[active] = points
    return result


def _dot(a: Float, b: Float) -> Float:
    return np.asarray(np.einsum("md,md->m", a, b))


def _direction(gradients: Float, moves: Float, changes: Float, diagonal: Float) -> Float:
    """L-BFGS's two-loop recursion around a diagonal inverse Hessian; pairs without positive curvature are skipped.

    moves and changes (history, models, parameters): differences of points and of gradients.
    """
    if not len(moves):
        return -gradients * diagonal
    curvatures = [_dot(move, change) for move, change in zip(moves, changes, strict=True)]
    inverse = [np.where(c > 1e-12, 1 / np.where(c > 1e-12, c, 1), 0) for c in curvatures]
    steps, shares = -gradients, []
    for move, change, rho in reversed(list(zip(moves, changes, inverse, strict=True))):
        share = rho * _dot(move, steps)
        shares.append(share)
        steps = steps - share[:, None] * change
    last = _dot(changes[-1], diagonal * changes[-1])
    scale = np.where(inverse[-1] > 0, curvatures[-1] / np.where(last > 0, last, 1), 1)
    steps = scale[:, None] * diagonal * steps
    for move, change, rho, share in zip(moves, changes, inverse, reversed(shares), strict=True):
        steps += (share - rho * _dot(change, steps))[:, None] * move
    uphill = _dot(steps, gradients) >= 0
    steps[uphill] = -(diagonal * gradients)[uphill]
    return steps


def _line_search(
    problem: _Problem, points: Float, losses: Float, gradients: Float, steps: Float
) -> tuple[Float, Float, Float]:
    """Halve the step of each model whose loss does not fall enough, until all do."""
    slopes = _dot(steps, gradients)
    lengths = np.ones(len(points))
    new = points + steps
    new_losses, new_gradients = problem(new)
    for _ in range(HALVINGS):
        # 1e-7: below it the float32 products are noise.
        bad = np.flatnonzero(
            new_losses > losses + SUFFICIENT * lengths * slopes + 1e-7 * np.abs(losses)
        )
        if not len(bad):
            break
        lengths[bad] /= 2
        new[bad] = points[bad] + lengths[bad, None] * steps[bad]
        new_losses[bad], new_gradients[bad] = problem.subset(bad)(new[bad])
    return new, new_losses, new_gradients
