"""Word vectors fitted to a teacher's sentence vectors.

A sentence is the sum of its word vectors, so the length of a vector is the weight of its word. The loss of a batch is
1 - cos(student, teacher), plus `pairs` times the mean squared difference between student's and teacher's cosines of all
pairs of sentences, plus `pull` times the squared distance of the words from their start. Adam updates only the words of
the batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.parameters import LARGEST, number, positive, seed_number, validate_fields, whole

Float = NDArray[np.float32]

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Fit:
    """Settings of a fit: `pairs` and `pull` are the weights of the two other losses; `held_out` sentences stop it early."""

    epochs: int = 4
    rate: float = 5e-3
    batch: int = 1024
    pairs: float = 10.0
    pull: float = 0.02
    held_out: int = 8192
    seed: int = 0

    def __post_init__(self) -> None:
        count, weight = partial(whole, least=1), partial(number, least=0, most=LARGEST)
        validate_fields(self, epochs=count, batch=count, held_out=count, seed=seed_number)
        validate_fields(self, rate=positive, pairs=weight, pull=weight)

    def for_texts(self, count: int) -> Fit:
        """Return the settings for fewer texts: a tenth of them held out, and at least 50 batches per epoch."""
        held_out = min(self.held_out, max(1, count // 10))
        return replace(
            self, held_out=held_out, batch=min(self.batch, max(1, (count - held_out) // 50))
        )


def fit_words(
    start: Float,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    targets: Float,
    fit: Fit | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Float:
    """Fit word vectors (rows, dim) to sentences `ids`, `offsets` with targets (n, dim) of length one.

    The result is that of the epoch with the best mean cosine on the first `held_out` sentences.
    progress: called after each epoch with that cosine, and with epoch 0 before the first.
    """
    fit = fit or Fit()
    sentences = _Sentences(ids, offsets)
    train = sentences.known[sentences.known >= fit.held_out]
    held_out = sentences.known[sentences.known < fit.held_out]
    if len(train) < fit.batch or not len(held_out):
        raise ParameterError(
            f"{len(sentences.known)} texts with a known word are too few to fit on: "
            f"{fit.held_out} are held out, and a batch has {fit.batch}",
            "give more text",
        )
    adam = _Adam(start, fit, fit.epochs * (len(train) // fit.batch))
    random = np.random.default_rng(fit.seed)
    best, best_words = -np.inf, start
    for epoch in range(fit.epochs + 1):
        if epoch:
            order = random.permutation(train)
            for begin in range(0, len(order) - fit.batch + 1, fit.batch):
                rows = order[begin : begin + fit.batch]
                adam.step(*sentences.batch(rows), targets[rows])
        held_ids, held_begins = sentences.batch(held_out)
        students, _ = _summed(adam.words[held_ids], held_begins)
        cosine = float((students * targets[held_out]).sum(axis=1).mean())
        if progress:
            progress(epoch, cosine)
        if cosine <= best:
            break
        best, best_words = cosine, adam.words.copy()
    return best_words


class _Sentences:
    """Sentences without unknown ids; `known` lists the sentences that have a known word."""

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        known_ids = ids >= 0
        self.offsets = np.append(0, np.cumsum(known_ids))[offsets]
        self.ids = ids[known_ids].astype(np.int64)
        self.lengths = np.diff(self.offsets)
        self.known = np.flatnonzero(self.lengths > 0)

    def batch(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of some sentences, and the offset of each."""
        lengths = self.lengths[rows]
        begins = np.cumsum(lengths) - lengths
        index = np.repeat(self.offsets[rows] - begins, lengths) + np.arange(lengths.sum())
        return self.ids[index], begins


class _Adam:
    """The state of the fit: the words, the moments of their gradients, and the step."""

    def __init__(self, start: Float, fit: Fit, steps: int) -> None:
        self.start, self.words, self.fit, self.steps = start, start.copy(), fit, steps
        self.mean, self.square = np.zeros_like(start), np.zeros_like(start)
        self.done = 0

    def step(self, ids: NDArray[np.int64], begins: NDArray[np.int64], targets: Float) -> None:
        fit = self.fit
        order = np.argsort(ids, kind="stable")
        rows, firsts = np.unique(ids[order], return_index=True)
        owners = np.searchsorted(begins, order, side="right") - 1
        slopes = slopes_of_sums(self.words[ids], begins, targets, fit.pairs)
        slope = np.add.reduceat(slopes[owners], firsts)
        slope += (2 * fit.pull / len(targets)) * (self.words[rows] - self.start[rows])
        self.done += 1
        rate = fit.rate * (1 - (self.done - 1) / self.steps) / (1 - BETA1**self.done)
        mean = BETA1 * self.mean[rows] + (1 - BETA1) * slope
        square = BETA2 * self.square[rows] + (1 - BETA2) * slope**2
        self.mean[rows], self.square[rows] = mean, square
        scale = np.sqrt(square / (1 - BETA2**self.done)) + EPSILON
        self.words[rows] -= (rate * mean / scale).astype(np.float32)


def slopes_of_sums(
    words: Float, begins: NDArray[np.int64], targets: Float, pairs: float
) -> NDArray[np.floating]:
    """Return the gradient of the loss without `pull` with respect to the sum of each sentence, (n, dim)."""
    students, lengths = _summed(words, begins)
    count = len(targets)
    slopes = -targets / count
    if pairs:
        difference = students @ students.T - targets @ targets.T
        slopes = slopes + (4 * pairs / count**2) * (difference @ students)
    along = (students * slopes).sum(axis=1, keepdims=True)
    return np.asarray((slopes - along * students) / lengths)


def _summed(words: Float, begins: NDArray[np.int64]) -> tuple[Float, Float]:
    """Return the sums of the words of each sentence, scaled to length one, and their lengths before, (n, 1)."""
    sums = np.add.reduceat(words, begins)
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    return sums / lengths, lengths
