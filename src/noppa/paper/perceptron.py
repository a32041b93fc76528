"""SentEval's classifier: one hidden layer of sigmoids, softmax, Adam, early stopping.

SentEval gives every network the same seed: all start from the same weights, and those with equally many training rows
shuffle them alike. The steps are native (`kernels.network_steps`), one network after the other: its parameters and
Adam's moments then fit the second-level cache, which four networks side by side do not.

scikit-learn's MLPClassifier has no such stopping rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import HIDDEN_STRIDE, HIDDEN_UNITS

Array = NDArray[np.float32]
Index = NDArray[np.int64]

BATCH = 64
EPOCH_SIZE = 4
MAX_EPOCH = 200
TENACITY = 5


@dataclass(frozen=True)
class Stream:
    """Row numbers to train on, and row numbers that decide when to stop."""

    train: Index
    dev: Index


@dataclass(frozen=True)
class Network:
    """First layer and bias (dim + 1, units), second layer (classes, units) and its bias (classes,)."""

    first: NDArray[Any]
    second: NDArray[Any]
    bias: NDArray[Any]

    def predict(self, rows: Array) -> Index:
        """The most probable class of each row (n, dim)."""
        scores = hidden_layer(rows, self.first) @ self.second.T + self.bias
        return np.asarray(scores.argmax(axis=1))


@dataclass(frozen=True)
class Trained:
    """The best checkpoint for each l2 of a stream: accuracy on the development rows (l2 values,), and the networks."""

    accuracy: NDArray[np.float64]
    networks: list[Network]

    def predict(self, rows: Array) -> Index:
        """The most probable class, (l2 values, n), for rows (n, dim)."""
        return np.array([network.predict(rows) for network in self.networks])


class _Orders:
    """The permutations of each check, `EPOCH_SIZE` in a row; kept, because networks with equally many rows share them."""

    def __init__(self, seed: int, skipped: Sequence[int]) -> None:
        self.seed, self.skipped = seed, skipped
        self.drawn: dict[int, tuple[np.random.RandomState, list[Index]]] = {}

    def of(self, length: int, check: int) -> Index:
        if length not in self.drawn:
            random = np.random.RandomState(self.seed)
            for count in self.skipped:
                random.permutation(count)
            self.drawn[length] = (random, [])
        random, orders = self.drawn[length]
        while len(orders) <= check:
            orders.append(np.concatenate([random.permutation(length) for _ in range(EPOCH_SIZE)]))
        return orders[check]


def train(
    rows: Array,
    labels: Index,
    streams: Sequence[Stream],
    l2: Sequence[float],
    classes: int,
    seed: int,
    drawn: int = 0,
) -> list[Trained]:
    """The networks of every stream, for rows (n, dim) and labels (n,).

    drawn: permutations of n that SentEval draws from the same generator before training.
    """
    rows, classes_of = np.ascontiguousarray(rows, np.float32), labels.astype(np.int32)
    orders = _Orders(seed, [len(rows)] * drawn)
    results = []
    for stream in streams:
        networks = [
            _trained(rows, classes_of, stream, value, classes, seed, orders) for value in l2
        ]
        accuracy, best = zip(*networks, strict=True)
        results.append(Trained(np.array(accuracy), list(best)))
    return results


def _start(dim: int, classes: int, seed: int) -> Array:
    """Parameters and two moments (3, size): torch's initialization of a linear layer, uniform in ±1/sqrt(inputs); zeros."""
    random = np.random.default_rng(seed)
    inner, outer = max(dim, 1) ** -0.5, HIDDEN_UNITS**-0.5
    state = np.zeros((3, network_size(dim, classes)), np.float32)
    first, second, bias = views(state[0], dim, classes)
    first[:dim] = random.uniform(-inner, inner, (dim, HIDDEN_UNITS))
    first[dim] = random.uniform(-inner, inner, HIDDEN_UNITS)
    second[:] = random.uniform(-outer, outer, (HIDDEN_UNITS, classes)).T
    bias[:] = random.uniform(-outer, outer, classes)
    return state


def _trained(
    rows: Array,
    labels: NDArray[np.int32],
    stream: Stream,
    l2: float,
    classes: int,
    seed: int,
    orders: _Orders,
) -> tuple[float, Network]:
    """The best accuracy at a check, and the network of that check."""
    state = _start(rows.shape[1], classes, seed)
    train, dev, truth = np.asarray(stream.train, np.int32), rows[stream.dev], labels[stream.dev]
    best, failures, steps, length = -1.0, 0, 0, len(stream.train)
    kept = state[0].copy()
    for check in range(MAX_EPOCH // EPOCH_SIZE + 1):
        order = train[orders.of(length, check)]
        kernels.network_steps(state, rows, labels, order, length, BATCH, classes, l2, steps)
        steps += EPOCH_SIZE * -(-length // BATCH)
        network = Network(*views(state[0], rows.shape[1], classes))
        accuracy = float((network.predict(dev) == truth).mean())
        if accuracy > best:
            best, kept = accuracy, state[0].copy()
            continue
        # SentEval counts all checks without a gain, consecutive or not, and stops at the sixth.
        if failures >= TENACITY:
            break
        failures += 1
    return best, Network(*views(kept, rows.shape[1], classes))


def network_size(dim: int, classes: int) -> int:
    """Floats of a network's parameters: see `views`."""
    return (dim + 1 + classes) * HIDDEN_STRIDE + -(-classes // 8) * 8


def views(
    flat: NDArray[Any], dim: int, classes: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Views of parameters (size,): first layer and bias (dim + 1, units), second layer (classes, units), its bias (classes,)."""
    layers = flat[: (dim + 1 + classes) * HIDDEN_STRIDE].reshape(-1, HIDDEN_STRIDE)
    bias = flat[layers.size :][:classes]
    return layers[: dim + 1, :HIDDEN_UNITS], layers[dim + 1 :, :HIDDEN_UNITS], bias


def hidden_layer(rows: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """Sigmoids (n, units) of rows (n, dim)."""
    sums = rows @ first[:-1] + first[-1]
    with np.errstate(over="ignore"):  # exp overflows to infinity, whose reciprocal is the right 0
        return np.asarray(1 / (1 + np.exp(-sums)))
