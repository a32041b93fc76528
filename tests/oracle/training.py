"""The native trainers, gradient by gradient: FastSent and Sent2Vec, and SentEval's classifier with Adam."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.constants import PAIR_FACTOR, SPLITMIX_FACTORS, SPLITMIX_STEP
from noppa.paper.protocols import hidden_layer, views

WHOLE = (1 << 64) - 1


class Random:
    """splitmix64, as in the native trainer."""

    def __init__(self, seed: int) -> None:
        self.state = seed & WHOLE

    def next(self) -> int:
        self.state = (self.state + SPLITMIX_STEP) & WHOLE
        z = self.state
        z = ((z ^ (z >> 30)) * SPLITMIX_FACTORS[0]) & WHOLE
        z = ((z ^ (z >> 27)) * SPLITMIX_FACTORS[1]) & WHOLE
        return z ^ (z >> 31)

    def share(self) -> float:
        return (self.next() >> 11) * 2.0**-53


def train(
    source: NDArray[Any],
    target: NDArray[Any],
    keep: NDArray[np.float32],
    noise: NDArray[np.int32],
    negatives: int,
    rate: float,
    seed: int,
    adjacent: bool,
    itself: bool,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
) -> None:
    """Train one pass; change source (words + buckets, dim) and target (words, dim) in place."""
    random = Random(seed)
    sentences = [ids[a:b].tolist() for a, b in pairwise(offsets)]

    def predict(context: NDArray[Any], gradient: NDArray[Any], word: int) -> None:
        for sample in range(negatives + 1):
            other = int(noise[random.next() % len(noise)]) if sample else word
            if sample and other == word:
                continue
            along = float(context @ target[other])
            score = 1 / (1 + math.exp(-along)) if along > -700 else 0.0  # exp(710) overflows
            step = rate * ((0 if sample else 1) - score)
            gradient += step * target[other]
            target[other] += step * context

    for at, sentence in enumerate(sentences):
        if adjacent:
            context, gradient = source[sentence].sum(axis=0), np.zeros(source.shape[1])
            for near in range(max(at - 1, 0), min(at + 2, len(sentences))):
                for word in sentences[near] if near != at or itself else ():
                    if random.share() < keep[word]:
                        predict(context, gradient, word)
            np.add.at(source, sentence, gradient)
            continue
        buckets = len(source) - len(target)
        pairs = bigrams(sentence, len(target), buckets)
        for place, word in enumerate(sentence if len(sentence) > 1 else ()):
            if random.share() < keep[word]:
                # neither the word itself nor a pair that it is part of, else its own vector would predict it
                others = sentence[:place] + sentence[place + 1 :]
                others += pairs[: max(place - 1, 0)] + pairs[place + 1 :]
                context, gradient = source[others].mean(axis=0), np.zeros(source.shape[1])
                predict(context, gradient, word)
                np.add.at(source, others, gradient / len(others))


def bigrams(sentence: list[int], words: int, buckets: int) -> list[int]:
    """Return the rows of pairs of neighbours, which share `buckets` rows after those of the words."""
    if not buckets:
        return []
    return [words + (a * PAIR_FACTOR + b) % buckets for a, b in pairwise(sentence)]


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
    """Take Adam steps on batches of the rows `order`, in epochs of `epoch` rows, after `steps` earlier steps.

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
    """Return the gradient of the mean cross-entropy for the first layer, the second layer and its bias."""
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
