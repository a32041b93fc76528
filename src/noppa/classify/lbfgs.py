"""L-BFGS with a diagonal preconditioner for many problems of the same shape at once.

Each problem has its own history and step length, and leaves the batch when it converges.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Float = NDArray[Any]

HISTORY = 8
ITERATIONS = 200
HALVINGS = 12
SUFFICIENT = 1e-4


def minimize(problem: Any, start: Float) -> Float:
    """Return minima (problems, parameters) in the precision of `start`, by L-BFGS with backtracking.

    problem: a function from points (problems, parameters) to losses (problems,) and gradients (problems, parameters). It has
    `inverse`, the approximate inverse of the diagonal of each Hessian, `subset(problems)`, and `converged(gradients)`.
    """
    result = start.copy()
    active = np.arange(len(start))
    points = result.copy()
    losses, gradients = problem(points)
    moves: list[Float] = []
    changes: list[Float] = []
    for _ in range(ITERATIONS):
        converged = problem.converged(gradients)
        if converged.any():
            result[active[converged]] = points[converged]
            rest = np.flatnonzero(~converged)
            active, points = active[rest], points[rest]
            losses, gradients = losses[rest], gradients[rest]
            moves, changes = ([rows[rest] for rows in pairs] for pairs in (moves, changes))
            problem = problem.subset(rest)
        if not len(active):
            return result
        steps = _direction(gradients, moves, changes, problem.inverse)
        new, new_losses, new_gradients = _line_search(problem, points, losses, gradients, steps)
        moves = [*moves, new - points][-HISTORY:]
        changes = [*changes, new_gradients - gradients][-HISTORY:]
        points, losses, gradients = new, new_losses, new_gradients
    result[active] = points
    return result


def _dot(a: Float, b: Float) -> Float:
    return np.asarray(np.einsum("md,md->m", a, b), np.float64)


def _scaled(factors: Float, rows: Float) -> Float:
    """Multiply each row by its factor, in the precision of the rows."""
    return np.asarray(factors[:, None].astype(rows.dtype) * rows)


def _direction(
    gradients: Float, moves: list[Float], changes: list[Float], diagonal: Float
) -> Float:
    """Return steps by L-BFGS's two-loop recursion; pairs without positive curvature are skipped.

    moves, changes: differences of points and of gradients, (problems, parameters) each. diagonal: the inverse Hessian.
    """
    if not moves:
        return -gradients * diagonal
    curvatures = [_dot(move, change) for move, change in zip(moves, changes, strict=True)]
    inverse = [np.where(c > 1e-12, 1 / np.where(c > 1e-12, c, 1), 0) for c in curvatures]
    steps, shares = -gradients, []
    for move, change, rho in reversed(list(zip(moves, changes, inverse, strict=True))):
        share = rho * _dot(move, steps)
        shares.append(share)
        steps = steps - _scaled(share, change)
    last = _dot(changes[-1], diagonal * changes[-1])
    scale = np.where(inverse[-1] > 0, curvatures[-1] / np.where(last > 0, last, 1), 1)
    steps = _scaled(scale, diagonal) * steps
    for move, change, rho, share in zip(moves, changes, inverse, reversed(shares), strict=True):
        steps += _scaled(share - rho * _dot(change, steps), move)
    uphill = _dot(steps, gradients) >= 0
    steps[uphill] = -(diagonal * gradients)[uphill]
    return steps


def _line_search(
    problem: Any, points: Float, losses: Float, gradients: Float, steps: Float
) -> tuple[Float, Float, Float]:
    """Halve the step of each problem whose loss does not fall enough, until all do."""
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
        new[bad] = points[bad] + _scaled(lengths[bad], steps[bad])
        new_losses[bad], new_gradients[bad] = problem.subset(bad)(new[bad])
    return new, new_losses, new_gradients
