"""The two classifiers trained on sentence vectors: how they choose l2, and on which rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
from numpy.typing import NDArray

from noppa.classify.folds import stratified_folds
from noppa.paper import logistic, perceptron
from noppa.paper.perceptron import Stream

Array = NDArray[np.float32]
Labels = NDArray[np.int64]

SENTEVAL_L2 = (1e-5, 1e-4, 1e-3, 1e-2)
SENTEVAL_FOLDS = 10
SENTEVAL_HELD_OUT = 0.05
FAST_L2 = (1e-4, 1e-3, 1e-2, 1e-1)
FAST_FOLDS = 5


@dataclass(frozen=True)
class ProbeData:
    """Vectors and labels to train on, to choose l2 on (None: cross-validation inside train), and to score on."""

    train: tuple[Array, Labels]
    dev: tuple[Array, Labels] | None
    test: tuple[Array, Labels]
    classes: int
    seed: int


@dataclass(frozen=True)
class ProbeResult:
    """The chosen l2, its accuracy on development rows, the predicted classes of the test rows (n,), and the CPU time."""

    l2: float
    dev: float
    predicted: Labels
    cpu_seconds: float = 0.0


Probe = Callable[[ProbeData], ProbeResult]


def timed(probe: Probe) -> Probe:
    """A probe that also measures its CPU time, in the process it runs in."""

    @wraps(probe)
    def measured(data: ProbeData) -> ProbeResult:
        start = time.process_time()
        result = probe(data)
        return replace(result, cpu_seconds=time.process_time() - start)

    return measured


@timed
def fast(data: ProbeData) -> ProbeResult:
    """Logistic regression on standardized features; l2 chosen on the development rows or by five folds."""
    (rows, labels), (test, _) = data.train, data.test
    centre, spread = scaling(rows)
    rows, test = (rows - centre) / spread, (test - centre) / spread
    l2, rotated = np.array(FAST_L2), logistic.rotated(rows)
    if data.dev is not None:
        dev, dev_labels = (data.dev[0] - centre) / spread, data.dev[1]
        models = logistic.fit(rotated, labels, _all_rows(l2, labels), l2, data.classes)
        accuracy = (logistic.predict(dev, models) == dev_labels).mean(axis=1)
        best = int(accuracy.argmax())
        predicted = logistic.predict(test, models[best : best + 1])[0]
        return ProbeResult(l2[best], accuracy[best], predicted)
    folds = stratified_folds(labels, FAST_FOLDS, data.seed)
    weights = np.ones((FAST_FOLDS, len(labels)), np.float32)
    for fold, (_, held_out) in enumerate(folds):
        weights[fold, held_out] = 0
    models = logistic.fit(
        rotated, labels, np.repeat(weights, len(l2), 0), np.tile(l2, FAST_FOLDS), data.classes
    ).reshape(FAST_FOLDS, len(l2), -1, data.classes)
    accuracies = [
        (logistic.predict(rows[held_out], models[fold]) == labels[held_out]).mean(axis=1)
        for fold, (_, held_out) in enumerate(folds)
    ]
    accuracy = np.mean(accuracies, axis=0)
    best = int(accuracy.argmax())
    final = logistic.fit(
        rotated, labels, _all_rows(l2[:1], labels), l2[best : best + 1], data.classes
    )
    return ProbeResult(l2[best], accuracy[best], logistic.predict(test, final)[0])


def scaling(rows: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation of each column; 1 for a constant column, so that it can be divided by."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-6 * max(spread.max(), 1e-30)] = 1
    return centre, spread


def _all_rows(l2: NDArray[np.float64], labels: Labels) -> Array:
    return np.ones((len(l2), len(labels)), np.float32)


@timed
def senteval(data: ProbeData) -> ProbeResult:
    """SentEval's network; l2 chosen on the development rows or by ten folds, as SentEval does."""
    (rows, labels), (test, _) = data.train, data.test
    count = len(rows)
    if data.dev is not None:
        # SentEval retrains the chosen network from the same seed on the same rows, which gives this one again.
        both = np.concatenate([rows, data.dev[0]])
        both_labels = np.concatenate([labels, data.dev[1]])
        stream = Stream(np.arange(count), np.arange(count, len(both)))
        (final,) = perceptron.train(
            both, both_labels, [stream], SENTEVAL_L2, data.classes, data.seed
        )
        best = int(final.accuracy.argmax())
        return ProbeResult(SENTEVAL_L2[best], final.accuracy[best], final.predict(test)[best])
    streams = [Stream(*fold) for fold in stratified_folds(labels, SENTEVAL_FOLDS, data.seed)]
    trained = perceptron.train(rows, labels, streams, SENTEVAL_L2, data.classes, data.seed)
    accuracy = np.mean([networks.accuracy for networks in trained], axis=0)
    best = int(accuracy.round(4).argmax())
    order = np.random.RandomState(data.seed).permutation(count)
    held_out = int(SENTEVAL_HELD_OUT * count)
    (final,) = perceptron.train(
        rows,
        labels,
        [Stream(order[held_out:], order[:held_out])],
        SENTEVAL_L2[best : best + 1],
        data.classes,
        data.seed,
        drawn=1,
    )
    return ProbeResult(SENTEVAL_L2[best], accuracy[best], final.predict(test)[0])


PROBES: dict[str, Probe] = {"fast": fast, "senteval": senteval}
