"""SentEval's classifier, many at once: one hidden layer of sigmoids, softmax, Adam, early stopping.

SentEval seeds each of its networks alike, so all of them start from the same weights, and those with equally many
training rows see them in the same order. A stream is one choice of training and development rows; the networks of a
stream differ in l2 alone, share every batch, and stand side by side in one matrix: (streams, dim, l2 values * hidden).
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

#: First-layer weights that train in one piece: with more, the state of the networks leaves the cache.
PIECE = 400_000


@dataclass(frozen=True)
class Stream:
    """Which rows (of one matrix) train, and which decide when to stop."""

    train: Index
    dev: Index


@dataclass(frozen=True)
class Trained:
    """The networks of one stream at their best: accuracy on its development rows (l2 values,), and their weights."""

    accuracy: NDArray[np.float64]
    first: Array
    first_bias: Array
    second: Array
    second_bias: Array

    def predict(self, rows: Array) -> NDArray[np.int64]:
        """The most probable class, (l2 values, n), for rows (n, dim)."""
        scores = _scores(rows, self.first, self.first_bias, self.second, self.second_bias)[1]
        return np.asarray(scores.argmax(axis=2))


def train(
    rows: Array,
    labels: Index,
    streams: Sequence[Stream],
    l2: Sequence[float],
    classes: int,
    seed: int,
    drawn: int = 0,
) -> list[Trained]:
    """The networks of every stream, for rows (n, dim) and labels (n,); `drawn` permutations of n were drawn before."""
    rows = np.ascontiguousarray(rows, np.float32)
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


def _scores(
    rows: Array, first: Array, first_bias: Array, second: Array, second_bias: Array
) -> tuple[Array, Array]:
    """Hidden layer (…, l2 values, n, hidden) and scores (…, l2 values, n, classes) of rows (…, n, dim)."""
    hidden = rows @ first
    hidden += first_bias
    np.negative(hidden, out=hidden)
    np.exp(np.minimum(hidden, 80, out=hidden), out=hidden)
    hidden += 1
    np.reciprocal(hidden, out=hidden)
    shape = (*hidden.shape[:-1], second.shape[-3], HIDDEN)
    apart = np.moveaxis(hidden.reshape(shape), -2, -3)
    return apart, apart @ second + second_bias


class _Networks:
    """The networks of streams with equally many training rows, their state in one array (streams, parameters)."""

    def __init__(
        self,
        rows: Array,
        labels: Index,
        streams: Sequence[Stream],
        l2: Sequence[float],
        classes: int,
        seed: int,
    ) -> None:
        self.rows, self.labels, self.classes = rows, labels, classes
        self.index = np.array([stream.train for stream in streams])
        self.dev = [stream.dev for stream in streams]
        self.random = np.random.RandomState(seed)
        self.count, self.l2 = len(streams), len(l2)
        dim, width = rows.shape[1], len(l2) * HIDDEN
        self.shapes = ((dim, width), (1, width), (len(l2), HIDDEN, classes), (len(l2), 1, classes))
        self.state = np.tile(self._start(dim, np.random.default_rng(seed)), (self.count, 1))
        self.gradient, self.spare = np.empty_like(self.state), np.empty_like(self.state)
        self.mean, self.square = np.zeros_like(self.state), np.zeros_like(self.state)
        self.parameters = self._views(self.state)
        self.slopes = self._views(self.gradient)
        decay = np.empty((1, self.state.shape[1]), np.float32)
        first, first_bias, second, second_bias = self._views(decay)
        values = np.array(l2, np.float32)
        first[:] = first_bias[:] = np.repeat(values, HIDDEN)
        second[:] = second_bias[:] = values[:, None, None]
        self.decay = decay
        self.steps = 0

    def _start(self, dim: int, random: np.random.Generator) -> Array:
        """torch's own start of a linear layer, uniform in ±1/sqrt(inputs), the same for every l2."""
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
        """The four arrays of parameters inside a flat one (streams, parameters)."""
        views, at = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape))
            views.append(flat[:, at : at + size].reshape(len(flat), *shape))
            at += size
        return views

    def trained(self) -> list[Trained]:
        """Train until SentEval's rule stops every network; each keeps the weights of its best check."""
        best = np.full((self.count, self.l2), -1.0)
        worse = np.zeros((self.count, self.l2), np.int64)
        going = np.ones((self.count, self.l2), bool)
        kept = self.state.copy()
        keeping = self._views(kept)
        for _ in range(0, MAX_EPOCH + 1, EPOCH_SIZE):
            for batch in self._batches():
                self._step(batch)
            found = self._accuracy()
            better = going & (found > best)
            best[better] = found[better]
            for old, new in zip(keeping, self.parameters, strict=True):
                self._by_network(old)[better] = self._by_network(new)[better]
            # SentEval counts every check that is no better, in a row or not, and stops after the sixth
            stopping = going & ~better & (worse >= TENACITY)
            worse += going & ~better
            going &= ~stopping
            if not going.any():
                break
        return [
            Trained(best[at], *(array[at].copy() for array in keeping)) for at in range(self.count)
        ]

    def _by_network(self, array: Array) -> Array:
        """A view with axes (streams, l2 values, …)."""
        if array.shape[1:] in self.shapes[:2]:
            apart = array.reshape(*array.shape[:2], self.l2, HIDDEN)
            return np.moveaxis(apart, 2, 1)
        return array

    def _batches(self) -> Iterator[Index]:
        for _ in range(EPOCH_SIZE):
            order = self.random.permutation(self.index.shape[1])
            for start in range(0, len(order), BATCH):
                yield self.index[:, order[start : start + BATCH]]

    def _step(self, batch: Index) -> None:
        """One step of Adam on rows `batch` (streams, size), with l2 added to the gradient as torch does."""
        inputs = self.rows[batch]
        first_slope, first_bias_slope, second_slope, second_bias_slope = self.slopes
        hidden, errors = _scores(inputs, *self.parameters)
        errors -= errors.max(axis=-1, keepdims=True)
        np.exp(errors, out=errors)
        errors /= errors.sum(axis=-1, keepdims=True)
        size = batch.shape[1]
        streams = np.arange(self.count)[:, None]
        errors[streams, :, np.arange(size), self.labels[batch]] -= 1
        errors /= size
        np.matmul(hidden.swapaxes(-1, -2), errors, out=second_slope)
        np.sum(errors, axis=-2, keepdims=True, out=second_bias_slope)
        back = errors @ self.parameters[2].swapaxes(-1, -2)
        back *= hidden
        back *= 1 - hidden
        together = np.moveaxis(back, 1, 2).reshape(self.count, size, -1)
        np.matmul(inputs.swapaxes(-1, -2), together, out=first_slope)
        np.sum(together, axis=1, keepdims=True, out=first_bias_slope)
        self._adam()

    def _adam(self) -> None:
        """Adam with its constant factors drawn together, which saves three passes over the parameters."""
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
        """Share of development rows that each network gets right, (streams, l2 values)."""
        found = np.empty((self.count, self.l2))
        for at, dev in enumerate(self.dev):
            weights = [array[at] for array in self.parameters]
            scores = _scores(self.rows[dev], *weights)[1]
            found[at] = (scores.argmax(axis=2) == self.labels[dev]).mean(axis=1)
        return found
