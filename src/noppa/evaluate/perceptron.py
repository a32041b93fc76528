"""SentEval's classifier, many at once: one hidden layer of sigmoids, softmax, Adam, early stopping.

SentEval seeds each of its networks alike, so all of them start from the same weights, and those with equally many
training rows see them in the same order. A stream is one choice of training and development rows; the networks of a
stream differ in l2 alone, share every batch, and stand side by side in one matrix: (streams, dim + 1, l2 values *
hidden), whose last row is the bias of the hidden layer. The scores of a batch stand as (…, classes, rows), because a
maximum over the few classes is fast across rows and slow within one.
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
PIECE = 160_000


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
    """The networks of every stream, for rows (n, dim) and labels (n,); `drawn` permutations of n were drawn before."""
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
    """Rows (n, dim + 1) that end in a one, which the bias of the hidden layer is multiplied by."""
    return np.hstack([rows, np.ones((len(rows), 1))]).astype(np.float32)


def _hidden(rows: Array, layer: Array, out: Array | None = None) -> Array:
    """The hidden layer (…, n, width) of rows (…, n, dim + 1)."""
    hidden = np.matmul(rows, layer, out=out)
    np.negative(hidden, out=hidden)
    with np.errstate(over="ignore"):  # the reciprocal of infinity is the 0 that is meant
        np.exp(hidden, out=hidden)
    hidden += 1
    np.reciprocal(hidden, out=hidden)
    return hidden


def _apart(hidden: Array) -> Array:
    """A view (…, l2 values, n, hidden) of hidden layers that stand side by side."""
    return np.moveaxis(hidden.reshape(*hidden.shape[:-1], -1, HIDDEN), -2, -3)


def _scores(hidden: Array, second: Array, second_bias: Array) -> Array:
    """Scores (…, l2 values, classes, n) of hidden layers (…, n, width)."""
    scores = second.swapaxes(-1, -2) @ _apart(hidden).swapaxes(-1, -2)
    scores += second_bias.swapaxes(-1, -2)
    return np.asarray(scores)


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
        self.rows, self.labels, self.classes = _with_ones(rows), labels, classes
        self.wanted = np.eye(classes, dtype=np.float32)[:, labels]
        self.index = np.array([stream.train for stream in streams])
        self.dev = [stream.dev for stream in streams]
        self.random = np.random.RandomState(seed)
        self.count, self.l2 = len(streams), len(l2)
        dim, width = rows.shape[1], len(l2) * HIDDEN
        self.shapes = ((dim, width), (1, width), (len(l2), HIDDEN, classes), (len(l2), 1, classes))
        state = np.tile(self._start(dim, np.random.default_rng(seed)), (self.count, 1))
        self._set(state, np.zeros_like(state), np.zeros_like(state))
        decay = np.empty((1, state.shape[1]), np.float32)
        first, first_bias, second, second_bias = self._views(decay)
        values = np.array(l2, np.float32)
        first[:] = first_bias[:] = np.repeat(values, HIDDEN)
        second[:] = second_bias[:] = values[:, None, None]
        self.decay = decay
        self.steps = 0

    def _set(self, state: Array, mean: Array, square: Array) -> None:
        """Parameters and both moments of Adam (streams, parameters), and room for the work on them."""
        self.state, self.mean, self.square = state, mean, square
        self.gradient, self.spare = np.empty_like(state), np.empty_like(state)
        self.parameters, self.slopes = self._views(state), self._views(self.gradient)
        self.layer, self.layer_slope = self._layer(state), self._layer(self.gradient)
        width = self.l2 * HIDDEN
        self.room = np.empty((3, len(state), BATCH, width), np.float32)

    def _layer(self, flat: Array) -> Array:
        """First weights and their bias, neighbours in a flat array, as one (streams, dim + 1, width)."""
        dim, width = self.shapes[0]
        return flat[:, : (dim + 1) * width].reshape(len(flat), dim + 1, width)

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
        keeping = self._views(self.state.copy())
        alive = np.arange(self.count)
        for _ in range(0, MAX_EPOCH + 1, EPOCH_SIZE):
            for batch in self._batches():
                self._step(batch)
            found = np.full_like(best, -1)
            found[alive] = self._accuracy()
            better = going & (found > best)
            best[better] = found[better]
            for old, new in zip(keeping, self.parameters, strict=True):
                self._by_network(old)[better] = self._by_network(new)[better[alive]]
            # SentEval counts every check that is no better, in a row or not, and stops after the sixth
            stopping = going & ~better & (worse >= TENACITY)
            worse += going & ~better
            going &= ~stopping
            if not going.any():
                break
            left = np.asarray(going[alive].any(axis=1))
            if not left.all():
                alive = alive[left]
                self._drop(left)
        return [
            Trained(best[at], *(array[at].copy() for array in keeping)) for at in range(len(best))
        ]

    def _drop(self, left: NDArray[np.bool_]) -> None:
        """Go on with some of the streams, (streams,), alone."""
        self.index = self.index[left]
        self.dev = [dev for dev, stays in zip(self.dev, left, strict=True) if stays]
        self.count = len(self.index)
        self._set(self.state[left], self.mean[left], self.square[left])

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
        size = batch.shape[1]
        hidden, back, steepness = self.room[:, :, :size]
        inputs = self.rows.take(batch, axis=0)
        _hidden(inputs, self.layer, out=hidden)
        _, _, second, second_bias = self.parameters
        errors = _scores(hidden, second, second_bias)
        errors -= errors.max(axis=-2, keepdims=True)
        np.exp(errors, out=errors)
        errors /= errors.sum(axis=-2, keepdims=True)
        errors -= np.moveaxis(self.wanted.take(batch, axis=1), 0, 1)[:, None]
        errors /= size
        over_rows = errors.swapaxes(-1, -2)
        _, _, second_slope, second_bias_slope = self.slopes
        np.matmul(_apart(hidden).swapaxes(-1, -2), over_rows, out=second_slope)
        np.sum(over_rows, axis=-2, keepdims=True, out=second_bias_slope)
        np.matmul(over_rows, second.swapaxes(-1, -2), out=_apart(back))
        np.square(hidden, out=steepness)
        np.subtract(hidden, steepness, out=steepness)
        back *= steepness
        np.matmul(inputs.swapaxes(-1, -2), back, out=self.layer_slope)
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
            hidden = _hidden(self.rows[dev], self.layer[at])
            scores = _scores(hidden, self.parameters[2][at], self.parameters[3][at])
            found[at] = (scores.argmax(axis=1) == self.labels[dev]).mean(axis=1)
        return found
