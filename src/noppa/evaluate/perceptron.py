"""SentEval's classifier, many at once: one hidden layer of sigmoids, softmax, Adam, early stopping.

SentEval gives every network the same seed: all start from the same weights, and those with equally many training rows
shuffle them alike. A stream is one split into training and development rows. The networks of a stream differ only in l2
and share every batch, so their first layers form one matrix (streams, dim + 1, l2 values * hidden) whose last row is the
bias. Logits are laid out as (…, classes, rows): a maximum over few classes is fast across rows and slow within one.

scikit-learn's MLPClassifier has no such stopping rule, and needs 2.5 times the CPU time up to the first check on MR:
bench/probe_speed.py, bench/results/probe_speed.jsonl.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Index = NDArray[np.int64]

HIDDEN = 50
BATCH = 64
EPOCH_SIZE = 4
MAX_EPOCH = 200
TENACITY = 5
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8

#: First-layer weights trained together: with more, the state of the networks leaves the CPU cache.
PIECE = 160_000


@dataclass(frozen=True)
class Stream:
    """Row numbers to train on, and row numbers that decide when to stop."""

    train: Index
    dev: Index


@dataclass(frozen=True)
class Trained:
    """The best checkpoint of each network of a stream: accuracy on the development rows (l2 values,), and the weights."""

    accuracy: NDArray[np.float64]
    first: Array
    first_bias: Array
    second: Array
    second_bias: Array

    def predict(self, rows: Array) -> NDArray[np.int64]:
        """The most probable class, (l2 values, n), for rows (n, dim)."""
        layer = np.concatenate([self.first, self.first_bias])
        hidden = _hidden(_with_ones(rows), layer)
        return np.asarray(_scores(hidden, self.second, self.second_bias).argmax(axis=1))


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
    width = len(l2) * HIDDEN
    size = rows.shape[1] * width
    results: dict[int, Trained] = {}
    for length in sorted({len(stream.train) for stream in streams}):
        alike = [at for at, stream in enumerate(streams) if len(stream.train) == length]
        step = max(1, PIECE // size)
        for start in range(0, len(alike), step):
            piece = alike[start : start + step]
            networks = _Networks(rows, labels, [streams[at] for at in piece], l2, classes, seed)
            for _ in range(drawn):
                networks.random.permutation(len(rows))
            results |= zip(piece, networks.trained(), strict=True)
    return [results[at] for at in range(len(streams))]


def _with_ones(rows: Array) -> Array:
    """Rows (n, dim + 1) with a column of ones for the bias."""
    return np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float32)


def _hidden(rows: Array, layer: Array, out: Array | None = None) -> Array:
    """The hidden layer (…, n, width) of rows (…, n, dim + 1)."""
    hidden = np.matmul(rows, layer, out=out)
    np.negative(hidden, out=hidden)
    with np.errstate(over="ignore"):  # exp overflows to infinity, whose reciprocal is the right 0
        np.exp(hidden, out=hidden)
    hidden += 1
    np.reciprocal(hidden, out=hidden)
    return hidden


def _by_l2(hidden: Array) -> Array:
    """Hidden layers (…, n, l2 values * hidden) as a view (…, l2 values, n, hidden)."""
    return np.moveaxis(hidden.reshape(*hidden.shape[:-1], -1, HIDDEN), -2, -3)


def _scores(hidden: Array, second: Array, second_bias: Array) -> Array:
    """Logits (…, l2 values, classes, n) of hidden layers (…, n, width)."""
    scores = second.swapaxes(-1, -2) @ _by_l2(hidden).swapaxes(-1, -2)
    scores += second_bias.swapaxes(-1, -2)
    return np.asarray(scores)


class _Networks:
    """Networks of streams with equally many training rows; all parameters in one array (streams, parameters)."""

    def __init__(
        self,
        rows: Array,
        labels: Index,
        streams: Sequence[Stream],
        l2: Sequence[float],
        classes: int,
        seed: int,
    ) -> None:
        self.rows, self.labels, self.classes = _with_ones(rows), labels, classes
        self.one_hot = np.eye(classes, dtype=np.float32)[:, labels]
        self.index = np.array([stream.train for stream in streams])
        self.dev = [stream.dev for stream in streams]
        self.random = np.random.RandomState(seed)
        self.count, self.l2 = len(streams), len(l2)
        dim, width = rows.shape[1], len(l2) * HIDDEN
        self.shapes = ((dim, width), (1, width), (len(l2), HIDDEN, classes), (len(l2), 1, classes))
        state = np.tile(self._start(dim, np.random.default_rng(seed)), (self.count, 1))
        self._allocate(state, np.zeros_like(state), np.zeros_like(state))
        decay = np.empty((1, state.shape[1]), np.float32)
        first, first_bias, second, second_bias = self._views(decay)
        values = np.array(l2, np.float32)
        first[:] = first_bias[:] = np.repeat(values, HIDDEN)
        second[:] = second_bias[:] = values[:, None, None]
        self.decay = decay
        self.steps = 0

    def _allocate(self, state: Array, mean: Array, square: Array) -> None:
        """Take over parameters and Adam's two moments (streams, parameters), and allocate the buffers to update them."""
        self.state, self.mean, self.square = state, mean, square
        self.gradient, self.spare = np.empty_like(state), np.empty_like(state)
        self.parameters, self.slopes = self._views(state), self._views(self.gradient)
        self.layer, self.layer_slope = self._layer(state), self._layer(self.gradient)
        width = self.l2 * HIDDEN
        self.buffers = np.empty((3, len(state), BATCH, width), np.float32)

    def _layer(self, flat: Array) -> Array:
        """First-layer weights and bias, adjacent in a flat array, as one view (streams, dim + 1, width)."""
        dim, width = self.shapes[0]
        return flat[:, : (dim + 1) * width].reshape(len(flat), dim + 1, width)

    def _start(self, dim: int, random: np.random.Generator) -> Array:
        """torch's initialization of a linear layer, uniform in ±1/sqrt(inputs), the same for every l2."""
        inner, outer = dim**-0.5, HIDDEN**-0.5
        one = (
            random.uniform(-inner, inner, (dim, HIDDEN)),
            random.uniform(-inner, inner, (1, HIDDEN)),
            random.uniform(-outer, outer, (1, HIDDEN, self.classes)),
            random.uniform(-outer, outer, (1, 1, self.classes)),
        )
        many = (
            np.tile(one[0], (1, self.l2)),
            np.tile(one[1], (1, self.l2)),
            np.tile(one[2], (self.l2, 1, 1)),
            np.tile(one[3], (self.l2, 1, 1)),
        )
        return np.concatenate([part.ravel() for part in many]).astype(np.float32)

    def _views(self, flat: Array) -> list[Array]:
        """The four parameter arrays as views of a flat one (streams, parameters)."""
        views, at = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            views.append(flat[:, at : at + size].reshape(len(flat), *shape))
            at += size
        return views

    def trained(self) -> list[Trained]:
        """Train until SentEval's rule stops every network; each returns the weights of its best check."""
        best = np.full((self.count, self.l2), -1.0)
        failures = np.zeros((self.count, self.l2), np.int64)
        running = np.ones((self.count, self.l2), bool)
        checkpoint = self._views(self.state.copy())
        active = np.arange(self.count)
        for _ in range(0, MAX_EPOCH + 1, EPOCH_SIZE):
            for batch in self._batches():
                self._step(batch)
            accuracy = np.full_like(best, -1)
            accuracy[active] = self._accuracy()
            better = running & (accuracy > best)
            best[better] = accuracy[better]
            for old, new in zip(checkpoint, self.parameters, strict=True):
                self._by_network(old)[better] = self._by_network(new)[better[active]]
            # SentEval counts all checks without a gain, consecutive or not, and stops at the sixth.
            stopping = running & ~better & (failures >= TENACITY)
            failures += running & ~better
            running &= ~stopping
            if not running.any():
                break
            unfinished = np.asarray(running[active].any(axis=1))
            if not unfinished.all():
                active = active[unfinished]
                self._keep(unfinished)
        return [
            Trained(best[at], *(array[at].copy() for array in checkpoint))
            for at in range(len(best))
        ]

    def _keep(self, streams: NDArray[np.bool_]) -> None:
        """Drop all other streams; `streams` is a mask."""
        self.index = self.index[streams]
        self.dev = [dev for dev, stays in zip(self.dev, streams, strict=True) if stays]
        self.count = len(self.index)
        self._allocate(self.state[streams], self.mean[streams], self.square[streams])

    def _by_network(self, array: Array) -> Array:
        """A view with axes (streams, l2 values, …)."""
        if array.shape[1:] in self.shapes[:2]:
            split = array.reshape(*array.shape[:2], self.l2, HIDDEN)
            return np.moveaxis(split, 2, 1)
        return array

    def _batches(self) -> Iterator[Index]:
        for _ in range(EPOCH_SIZE):
            order = self.random.permutation(self.index.shape[1])
            for start in range(0, len(order), BATCH):
                yield self.index[:, order[start : start + BATCH]]

    def _step(self, batch: Index) -> None:
        """One step of Adam on rows `batch` (streams, size); l2 is added to the gradient, as torch's weight_decay does."""
        size = batch.shape[1]
        hidden, back, steepness = self.buffers[:, :, :size]
        inputs = self.rows.take(batch, axis=0)
        _hidden(inputs, self.layer, out=hidden)
        _, _, second, second_bias = self.parameters
        errors = _scores(hidden, second, second_bias)
        errors -= errors.max(axis=-2, keepdims=True)
        np.exp(errors, out=errors)
        errors /= errors.sum(axis=-2, keepdims=True)
        errors -= np.moveaxis(self.one_hot.take(batch, axis=1), 0, 1)[:, None]
        errors /= size
        over_rows = errors.swapaxes(-1, -2)
        _, _, second_slope, second_bias_slope = self.slopes
        np.matmul(_by_l2(hidden).swapaxes(-1, -2), over_rows, out=second_slope)
        np.sum(over_rows, axis=-2, keepdims=True, out=second_bias_slope)
        np.matmul(over_rows, second.swapaxes(-1, -2), out=_by_l2(back))
        np.square(hidden, out=steepness)
        np.subtract(hidden, steepness, out=steepness)
        back *= steepness
        np.matmul(inputs.swapaxes(-1, -2), back, out=self.layer_slope)
        self._adam()

    def _adam(self) -> None:
        """Adam with its constant factors merged, which saves three passes over the parameters."""
        self.steps += 1
        scale = ((1 - BETA2) / (1 - BETA2**self.steps)) ** 0.5
        rate = RATE * (1 - BETA1) / (1 - BETA1**self.steps) / scale
        gradient, spare = self.gradient, self.spare
        np.multiply(self.state, self.decay, out=spare)
        gradient += spare
        self.mean *= np.float32(BETA1)
        self.mean += gradient
        np.square(gradient, out=gradient)
        self.square *= np.float32(BETA2)
        self.square += gradient
        np.sqrt(self.square, out=spare)
        spare += np.float32(EPSILON / scale)
        np.divide(self.mean, spare, out=spare)
        spare *= np.float32(rate)
        self.state -= spare

    def _accuracy(self) -> NDArray[np.float64]:
        """Accuracy of each network on the development rows, (streams, l2 values)."""
        accuracy = np.empty((self.count, self.l2))
        for at, dev in enumerate(self.dev):
            hidden = _hidden(self.rows[dev], self.layer[at])
            scores = _scores(hidden, self.parameters[2][at], self.parameters[3][at])
            accuracy[at] = (scores.argmax(axis=1) == self.labels[dev]).mean(axis=1)
        return accuracy
