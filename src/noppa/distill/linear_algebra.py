"""Principal axes, least-squares completion and scaling of tables of word vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float32]


def principal_axes(rows: NDArray[np.floating], dim: int, block: int = 1 << 16) -> Float:
    """The first `dim` principal axes of rows (n, width) around zero, as columns (width, dim)."""
    second = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), block):
        part = rows[start : start + block].astype(np.float64)
        second += part.T @ part
    values, axes = np.linalg.eigh(second)
    axes = axes[:, np.argsort(-values, kind="stable")[:dim]]
    largest = np.abs(axes).argmax(axis=0)
    # The sign of an axis is arbitrary: make its largest entry positive.
    signs = np.sign(axes[largest, np.arange(axes.shape[1])])
    return np.asarray(axes * signs, np.float32)


def completed(rows: Float, known: NDArray[np.bool_], source: Float, ridge: float = 1.0) -> Float:
    """The rows, those not `known` predicted from `source` by ridge regression fitted on the known ones."""
    inputs = np.hstack([source, np.ones((len(source), 1), np.float32)]).astype(np.float64)
    known_inputs = inputs[known]
    penalty = ridge * np.eye(inputs.shape[1])
    weights = np.linalg.solve(
        known_inputs.T @ known_inputs + penalty, known_inputs.T @ rows[known].astype(np.float64)
    )
    return np.where(known[:, None], rows, inputs @ weights).astype(np.float32)


def with_length(rows: Float, length: float = 1.0) -> Float:
    """Each row scaled to the same length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows * (length / np.where(lengths > 0, lengths, 1))).astype(np.float32)


def root_mean_square_length(rows: Float) -> float:
    return float(np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1).mean()))
