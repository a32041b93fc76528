"""From logits to probabilities that are as often right as they say: one temperature, found on rows that were held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noppa.classify.linear_fit import probabilities

Float = NDArray[np.float64]

#: Logits are divided by exp of a number between these; the search narrows them this many times.
LOWEST, HIGHEST = -4.0, 4.0
NARROWINGS = 18
GOLDEN = (np.sqrt(5) - 1) / 2
#: A temperature far from 1 costs as much as this many rows' worth of loss, so that few rows do not give an extreme one.
PRIOR_ROWS = 2.0


def row_losses(logits: Float, targets: NDArray[np.float32], softmax: bool) -> Float:
    """The log-loss of each row, (n,), for logits and targets (n, columns)."""
    if softmax:
        top = logits.max(axis=1)
        total = np.log(np.exp(logits - top[:, None]).sum(axis=1)) + top
        return np.asarray(total - (targets * logits).sum(axis=1))
    return np.asarray((np.logaddexp(0, logits) - targets * logits).sum(axis=1))


def temperature(logits: Float, targets: NDArray[np.float32], softmax: bool) -> float:
    """What logits (n, columns) of held-out rows are to be divided by, by golden-section search."""

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


def reliability(
    logits: Float, truth: NDArray[np.bool_], softmax: bool, bins: int = 10
) -> list[tuple[float, float, int]]:
    """Mean confidence, share of right answers, and rows, for each tenth of confidence that has any.

    truth (n, columns): whether each is the class, or is among the classes. With `softmax` the confidence is in the likeliest
    class, else in each answer, yes or no.
    """
    p = probabilities(logits, softmax)
    if softmax:
        top = p.argmax(axis=1)
        confidence, right = p[np.arange(len(p)), top], truth[np.arange(len(p)), top]
    else:
        confidence, right = np.maximum(p, 1 - p).ravel(), ((p >= 0.5) == truth).ravel()
    which = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        (
            float(confidence[which == at].mean()),
            float(right[which == at].mean()),
            int((which == at).sum()),
        )
        for at in range(bins)
        if (which == at).any()
    ]


def calibration_error(bins: list[tuple[float, float, int]]) -> float:
    """The mean distance of confidence from the share of right answers, weighted by rows."""
    rows = sum(count for _, _, count in bins)
    return sum(count * abs(sure - right) for sure, right, count in bins) / max(rows, 1)
