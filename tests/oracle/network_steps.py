"""The NumPy twin of the native trainer of SentEval's classifier: back-propagation and Adam as in their papers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.paper.perceptron import hidden_layer, views

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8


def network_steps(
    state: NDArray[Any],
    rows: NDArray[np.float32],
    labels: NDArray[np.int32],
    order: NDArray[np.int32],
    epoch: int,
    batch: int,
    classes: int,
    l2: float,
    steps: int,
) -> None:
    """Adam on batches of the rows `order`, which falls into epochs of `epoch`; `steps` were taken before.

    state (3, size), changed in place: parameters, and the running means of the gradient and of its square.
    l2 is added to the gradient of every parameter, as torch's weight_decay does.
    """
    parameters = views(state[0], rows.shape[1], classes)
    for start in range(0, len(order), epoch):
        end = min(start + epoch, len(order))
        for at in range(start, end, batch):
            own = order[at : min(at + batch, end)]
            steps += 1
            slopes = gradient(rows[own], labels[own], parameters)
            for layer, (old, slope) in enumerate(zip(parameters, slopes, strict=True)):
                mean, square = (
                    views(moment, rows.shape[1], classes)[layer] for moment in state[1:]
                )
                _adam(old, mean, square, slope + l2 * old, steps)


def gradient(
    rows: NDArray[Any], labels: NDArray[Any], parameters: tuple[NDArray[Any], ...]
) -> tuple[NDArray[Any], ...]:
    """Of the mean cross-entropy, by first layer, second layer and its bias."""
    first, second, bias = parameters
    hidden = hidden_layer(rows, first)
    scores = hidden @ second.T + bias
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    errors = (shares - np.eye(len(second), dtype=shares.dtype)[labels]) / len(rows)
    back = errors @ second * (hidden - hidden * hidden)
    return (
        np.concatenate([rows.T @ back, back.sum(axis=0, keepdims=True)]),
        errors.T @ hidden,
        errors.sum(axis=0),
    )


def _adam(
    old: NDArray[Any], mean: NDArray[Any], square: NDArray[Any], slope: NDArray[Any], step: int
) -> None:
    """The moments are kept without their factors 1 - beta, which rate and epsilon make up for."""
    scale = ((1 - BETA2) / (1 - BETA2**step)) ** 0.5
    rate = RATE * (1 - BETA1) / (1 - BETA1**step) / scale
    mean[:] = BETA1 * mean + slope
    square[:] = BETA2 * square + slope * slope
    old -= rate * mean / (np.sqrt(square) + EPSILON / scale)
