"""Print the polynomial coefficients that `pooling/simd.hpp` and `methods/pair_sums.hpp` of src/native carry, with their errors.

Remez exchange on the relative error: log2(1 + f) / f over the mantissa range of the kernel and, for close words, over [0, 1] in
preconditioned form; 2**r over [-1/2, 1/2]. For the last one the kernel keeps an earlier fit with an error of 2.6e-7, because recorded
results depend on it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Real = Callable[[np.ndarray], np.ndarray]


def remez(target: Real, low: float, high: float, degree: int) -> tuple[np.ndarray, float]:
    """Return the coefficients of the polynomial with the least relative error, lowest first, and that error."""
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
        worst = float(np.abs(error).max())
        # The largest error between two sign changes: rounding makes false peaks next to a true one.
        runs = np.split(np.arange(len(grid)), np.flatnonzero(np.diff(np.sign(error))) + 1)
        if len(runs) != degree + 2:
            break
        nodes = grid[[run[np.abs(error[run]).argmax()] for run in runs]]
    return coefficients, worst


def log2_over_f(f: np.ndarray) -> np.ndarray:
    f = np.where(np.abs(f) < 1e-9, 1e-9, f)
    return np.asarray(np.log1p(f) / np.log(2) / f)


def preconditioned(coefficients: np.ndarray) -> list[float]:
    """Return Knuth's form of a polynomial of degree 6 (The Art of Computer Programming 4.6.4): a0 to a5 with
    z = (x + a0) x + a1, w = (x + a2) z + a3, and the polynomial = ((w + z + a4) w + a5) times its leading coefficient.
    """
    u = coefficients / coefficients[6]
    s = (u[5] - 1) / 2

    def form(a0: float) -> tuple[float, list[float]]:
        """Return by how much the coefficient of x is missed, and the coefficients that follow from a0."""
        a2 = s - a0
        p = (u[4] - s * s - s - a0) / 2  # w = x³ + s x² + p x + r
        a1 = p - a0 * a2
        r = u[2] - p * p - a0 * p - a1 * s - s * (u[3] - 2 * s * p - p - a0 * s - a1)
        a4 = u[3] - 2 * r - 2 * s * p - p - a0 * s - a1
        numbers = [a0, a1, a2, r - a1 * a2, a4, u[0] - r * (r + a1 + a4)]
        return 2 * p * r + a0 * r + a1 * p + a4 * p - u[1], numbers

    # The miss is a cubic in a0: it has a real root.
    points = np.arange(4.0)
    cubic = np.linalg.solve(points[:, None] ** np.arange(4), [form(x)[0] for x in points])
    roots = np.roots(cubic[::-1])
    return form(float(roots[np.abs(roots.imag).argmin()].real))[1]


if __name__ == "__main__":
    functions: list[tuple[str, Real, float, float, int]] = [
        ("log2(1+f)/f", log2_over_f, np.sqrt(0.5) - 1, np.sqrt(2) - 1, 6),
        ("log2(1+t)/t", log2_over_f, 0.0, 1.0, 6),
        ("2**r", np.exp2, -0.5, 0.5, 5),
    ]
    for name, target, low, high, degree in functions:
        coefficients, error = remez(target, float(low), float(high), degree)
        print(f"{name}, degree {degree}: relative error {error:.2e}")
        print("   ", ", ".join(f"{c:.9e}f" for c in coefficients))
        if name == "log2(1+t)/t":
            numbers = preconditioned(coefficients)
            print("    preconditioned:", ", ".join(f"{a:.9e}f" for a in numbers))
