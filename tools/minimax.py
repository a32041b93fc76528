"""Print the polynomial coefficients that `src/native/pooling/simd.hpp` carries, with the error each one reaches.

Remez exchange on the relative error: log2(1 + f) / f over the mantissa range that the kernel reduces to, and 2**r
over [-1/2, 1/2]. Run it to see where the constants come from: `python tools/minimax.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Real = Callable[[np.ndarray], np.ndarray]


def remez(target: Real, low: float, high: float, degree: int) -> tuple[np.ndarray, float]:
    """Coefficients, lowest first, of the polynomial with the least relative error, and that error."""
    steps = np.arange(degree + 2)
    nodes = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * steps / (degree + 1))
    grid = np.linspace(low, high, 200_001)
    values = target(grid)
    coefficients = np.zeros(degree + 1)
    worst = np.inf
    for _ in range(30):
        values_at_nodes = target(nodes)
        system = np.column_stack(
            [nodes[:, None] ** np.arange(degree + 1), (-1.0) ** steps * np.abs(values_at_nodes)]
        )
        coefficients = np.linalg.solve(system, values_at_nodes)[:-1]
        error = np.polynomial.polynomial.polyval(grid, coefficients) / values - 1
        extrema = np.flatnonzero(np.diff(np.sign(np.diff(error)))) + 1
        peaks = np.concatenate([[0], extrema, [len(grid) - 1]])
        peaks = peaks[np.argsort(-np.abs(error[peaks]))[: degree + 2]]
        nodes = np.sort(grid[peaks])
        worst = float(np.abs(error).max())
    return coefficients, worst


def log2_over_f(f: np.ndarray) -> np.ndarray:
    f = np.where(np.abs(f) < 1e-9, 1e-9, f)
    return np.asarray(np.log1p(f) / np.log(2) / f)


if __name__ == "__main__":
    functions: list[tuple[str, Real, float, float, int]] = [
        ("log2(1+f)/f", log2_over_f, np.sqrt(0.5) - 1, np.sqrt(2) - 1, 6),
        ("2**r", np.exp2, -0.5, 0.5, 5),
    ]
    for name, target, low, high, degree in functions:
        coefficients, error = remez(target, float(low), float(high), degree)
        print(f"{name}, degree {degree}: relative error {error:.2e}")
        print("   ", ", ".join(f"{c:.9e}f" for c in coefficients))
