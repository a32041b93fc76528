"""The classifier of SentEval, which the paper uses, and correlations for similarity tasks.

The network has one hidden layer of sigmoids and a softmax, trained with Adam and early stopping. SentEval gives every
network the same seed: all start from the same weights, and those with equally many training rows shuffle them alike. The
steps are native (`kernels.network_steps`), one network after the other: its parameters and Adam's moments then fit the
second-level cache, which four networks side by side would not.

scikit-learn's MLPClassifier has no such stopping rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.classify import probe
from noppa.classify.labels import stratified_folds
from noppa.classify.probe import Probe, ProbeData, ProbeResult, timed
from noppa.constants import HIDDEN_STRIDE, HIDDEN_UNITS

Array = NDArray[np.float32]
Float = NDArray[np.float64]
Index = NDArray[np.int64]

L2 = (1e-5, 1e-4, 1e-3, 1e-2)
INNER_FOLDS = 10
HELD_OUT = 0.05
BATCH = 64
EPOCH_SIZE = 4
MAX_EPOCH = 200
TENACITY = 5


@timed
def senteval(data: ProbeData) -> ProbeResult:
    """Train SentEval's network; choose l2 on the development rows or by ten folds, as SentEval does."""
    (rows, labels), (test, _) = data.train, data.test
    count = len(rows)
    if data.dev is not None:
        # SentEval retrains the chosen network from the same seed on the same rows, which gives this one again.
        both = np.concatenate([rows, data.dev[0]])
        both_labels = np.concatenate([labels, data.dev[1]])
        stream = Stream(np.arange(count), np.arange(count, len(both)))
        (final,) = train(both, both_labels, [stream], L2, data.classes, data.seed)
        best = int(final.accuracy.argmax())
        return ProbeResult(L2[best], final.accuracy[best], final.predict(test)[best])
    streams = [Stream(*fold) for fold in stratified_folds(labels, INNER_FOLDS, data.seed)]
    trained = train(rows, labels, streams, L2, data.classes, data.seed)
    accuracy = np.mean([networks.accuracy for networks in trained], axis=0)
    best = int(accuracy.round(4).argmax())
    order = np.random.RandomState(data.seed).permutation(count)
    held_out = int(HELD_OUT * count)
    stream = Stream(order[held_out:], order[:held_out])
    chosen = L2[best : best + 1]
    (final,) = train(rows, labels, [stream], chosen, data.classes, data.seed, drawn=1)
    return ProbeResult(L2[best], accuracy[best], final.predict(test)[0])


#: The classifiers trained on sentence vectors, by protocol.
PROBES: dict[str, Probe] = {"fast": probe.probe, "senteval": senteval}


@dataclass(frozen=True)
class Stream:
    """The rows to train on, and the rows that decide when to stop."""

    train: Index
    dev: Index


@dataclass(frozen=True)
class Network:
    """A first layer with its bias (dim + 1, units), a second layer (classes, units) and its bias (classes,)."""

    first: NDArray[Any]
    second: NDArray[Any]
    bias: NDArray[Any]

    def predict(self, rows: Array) -> Index:
        """Return the most probable class of each row (n, dim)."""
        scores = hidden_layer(rows, self.first) @ self.second.T + self.bias
        return np.asarray(scores.argmax(axis=1))


@dataclass(frozen=True)
class Trained:
    """The best checkpoint for each l2: accuracy on the development rows (l2 values,), and the networks."""

    accuracy: NDArray[np.float64]
    networks: list[Network]

    def predict(self, rows: Array) -> Index:
        """Return the most probable class, (l2 values, n), for rows (n, dim)."""
        return np.array([network.predict(rows) for network in self.networks])


class _Orders:
    """Draws the permutations of each check; cached, since networks with equally many rows share them."""

    def __init__(self, seed: int, skipped: Sequence[int]) -> None:
        self.seed, self.skipped = seed, skipped
        self.drawn: dict[int, tuple[np.random.RandomState, list[Index]]] = {}

    def get(self, length: int, check: int) -> Index:
        """Return `EPOCH_SIZE` permutations of `length` rows in one array."""
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
    """Train the networks of every stream on rows (n, dim) and labels (n,).

    drawn: number of permutations of n that SentEval draws from the same generator before training.
    """
    rows, codes = np.ascontiguousarray(rows, np.float32), labels.astype(np.int32)
    orders = _Orders(seed, [len(rows)] * drawn)
    results = []
    for stream in streams:
        networks = [_train_one(rows, codes, stream, value, classes, seed, orders) for value in l2]
        accuracy, best = zip(*networks, strict=True)
        results.append(Trained(np.array(accuracy), list(best)))
    return results


def network_size(dim: int, classes: int) -> int:
    """Return the number of floats of a network's parameters; see `views`."""
    return (dim + 1 + classes) * HIDDEN_STRIDE + -(-classes // 8) * 8


def views(
    flat: NDArray[Any], dim: int, classes: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return views of parameters (size,) as the layers of a `Network`."""
    layers = flat[: (dim + 1 + classes) * HIDDEN_STRIDE].reshape(-1, HIDDEN_STRIDE)
    bias = flat[layers.size :][:classes]
    return layers[: dim + 1, :HIDDEN_UNITS], layers[dim + 1 :, :HIDDEN_UNITS], bias


def hidden_layer(rows: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """Return the sigmoids (n, units) of rows (n, dim)."""
    sums = rows @ first[:-1] + first[-1]
    with np.errstate(over="ignore"):  # exp overflows to infinity, whose reciprocal is the right 0
        return np.asarray(1 / (1 + np.exp(-sums)))


def initial_state(dim: int, classes: int, seed: int) -> Array:
    """Return parameters and two zero moments (3, size); torch's initialization, uniform in ±1/sqrt(inputs)."""
    random = np.random.default_rng(seed)
    inner, outer = max(dim, 1) ** -0.5, HIDDEN_UNITS**-0.5
    state = np.zeros((3, network_size(dim, classes)), np.float32)
    first, second, bias = views(state[0], dim, classes)
    first[:dim] = random.uniform(-inner, inner, (dim, HIDDEN_UNITS))
    first[dim] = random.uniform(-inner, inner, HIDDEN_UNITS)
    second[:] = random.uniform(-outer, outer, (HIDDEN_UNITS, classes)).T
    bias[:] = random.uniform(-outer, outer, classes)
    return state


def _train_one(
    rows: Array,
    labels: NDArray[np.int32],
    stream: Stream,
    l2: float,
    classes: int,
    seed: int,
    orders: _Orders,
) -> tuple[float, Network]:
    """Return the best accuracy at a check, and the network of that check."""
    state = initial_state(rows.shape[1], classes, seed)
    train, dev, truth = np.asarray(stream.train, np.int32), rows[stream.dev], labels[stream.dev]
    best, failures, steps, length = -1.0, 0, 0, len(stream.train)
    kept = state[0].copy()
    for check in range(MAX_EPOCH // EPOCH_SIZE + 1):
        order = train[orders.get(length, check)]
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


def cosines(left: ArrayLike, right: ArrayLike) -> Float:
    """Return the cosine of each row of `left` with its row of `right`, (n,); 0 if one of them is all zeros."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    lengths = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return np.asarray(np.einsum("nd,nd->n", a, b) / np.where(lengths > 0, lengths, 1))


def pearson(left: ArrayLike, right: ArrayLike) -> float:
    """Return Pearson's correlation; 0 if one side is constant."""
    a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
    a, b = a - a.mean(), b - b.mean()
    spread = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / spread) if spread > 0 else 0.0


def spearman(left: ArrayLike, right: ArrayLike) -> float:
    """Return Spearman's correlation: Pearson's of the ranks."""
    return pearson(ranks(left), ranks(right))


def ranks(values: ArrayLike) -> Float:
    """Return the rank of each value, (n,); ties share the mean of their ranks."""
    _, code, count = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    last = np.cumsum(count)
    return np.asarray((last - (count - 1) / 2)[code])
