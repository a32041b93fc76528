"""The two classifiers that stand on sentence vectors: what they choose, and on which rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import wraps

import numpy as np
from numpy.typing import NDArray

from noppa.evaluate import logistic, perceptron
from noppa.evaluate.folds import stratified_folds
from noppa.evaluate.perceptron import Stream

Array = NDArray[np.float32]
Labels = NDArray[np.int64]

SENTEVAL_L2 = (1e-5, 1e-4, 1e-3, 1e-2)
SENTEVAL_FOLDS = 10
SENTEVAL_HELD_OUT = 0.05
FAST_L2 = (1e-4, 1e-3, 1e-2, 1e-1)
FAST_FOLDS = 5


@dataclass(frozen=True)
class Exam:
    """Rows to learn from, rows to choose on (None: folds within the first), and rows to be marked on."""

    train: tuple[Array, Labels]
    dev: tuple[Array, Labels] | None
    test: tuple[Array, Labels]
    classes: int
    seed: int


@dataclass(frozen=True)
class Marks:
    """The chosen l2, its accuracy on development rows, what it says about the test rows (n,), and its CPU time."""

    l2: float
    dev: float
    predicted: Labels
    cpu_seconds: float = 0.0


Probe = Callable[[Exam], Marks]


def timed(probe: Probe) -> Probe:
    """A probe that notes the CPU time of the process it runs in."""

    @wraps(probe)
    def noting(exam: Exam) -> Marks:
        start = time.process_time()
        marks = probe(exam)
        return replace(marks, cpu_seconds=time.process_time() - start)

    return noting


@timed
def fast(exam: Exam) -> Marks:
    """Logistic regression on standardised features; l2 chosen on the development rows or by five folds."""
    (rows, labels), (test, _) = exam.train, exam.test
    centre, spread = scaling(rows)
    rows, test = (rows - centre) / spread, (test - centre) / spread
    l2, data = np.array(FAST_L2), logistic.turned(rows)
    if exam.dev is not None:
        dev, wanted = (exam.dev[0] - centre) / spread, exam.dev[1]
        models = logistic.fit(data, labels, _everyone(l2, labels), l2, exam.classes)
        accuracy = (logistic.predict(dev, models) == wanted).mean(axis=1)
        best = int(accuracy.argmax())
        return Marks(l2[best], accuracy[best], logistic.predict(test, models[best : best + 1])[0])
    folds = stratified_folds(labels, FAST_FOLDS, exam.seed)
    weights = np.ones((FAST_FOLDS, len(labels)), np.float32)
    for fold, (_, inside) in enumerate(folds):
        weights[fold, inside] = 0
    models = logistic.fit(
        data, labels, np.repeat(weights, len(l2), 0), np.tile(l2, FAST_FOLDS), exam.classes
    ).reshape(FAST_FOLDS, len(l2), -1, exam.classes)
    right = [
        (logistic.predict(rows[inside], models[fold]) == labels[inside]).mean(axis=1)
        for fold, (_, inside) in enumerate(folds)
    ]
    accuracy = np.mean(right, axis=0)
    best = int(accuracy.argmax())
    final = logistic.fit(data, labels, _everyone(l2[:1], labels), l2[best : best + 1], exam.classes)
    return Marks(l2[best], accuracy[best], logistic.predict(test, final)[0])


def scaling(rows: Array) -> tuple[Array, Array]:
    """The mean and the standard deviation of each column; 1 for a constant column, so that it can be divided by."""
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    spread[spread < 1e-6 * max(spread.max(), 1e-30)] = 1
    return centre, spread


def _everyone(l2: NDArray[np.float64], labels: Labels) -> Array:
    return np.ones((len(l2), len(labels)), np.float32)


@timed
def senteval(exam: Exam) -> Marks:
    """SentEval's network; l2 chosen on the development rows or by ten folds, as SentEval does."""
    (rows, labels), (test, _) = exam.train, exam.test
    count = len(rows)
    if exam.dev is not None:
        # SentEval trains the chosen network once more, from the same seed on the same rows: it is this one
        both = np.concatenate([rows, exam.dev[0]])
        wanted = np.concatenate([labels, exam.dev[1]])
        stream = Stream(np.arange(count), np.arange(count, len(both)))
        (final,) = perceptron.train(both, wanted, [stream], SENTEVAL_L2, exam.classes, exam.seed)
        best = int(final.accuracy.argmax())
        return Marks(SENTEVAL_L2[best], final.accuracy[best], final.predict(test)[best])
    streams = [Stream(*fold) for fold in stratified_folds(labels, SENTEVAL_FOLDS, exam.seed)]
    trained = perceptron.train(rows, labels, streams, SENTEVAL_L2, exam.classes, exam.seed)
    accuracy = np.mean([networks.accuracy for networks in trained], axis=0)
    best = int(accuracy.round(4).argmax())
    order = np.random.RandomState(exam.seed).permutation(count)
    held_out = int(SENTEVAL_HELD_OUT * count)
    (final,) = perceptron.train(
        rows,
        labels,
        [Stream(order[held_out:], order[:held_out])],
        SENTEVAL_L2[best : best + 1],
        exam.classes,
        exam.seed,
        drawn=1,
    )
    return Marks(SENTEVAL_L2[best], accuracy[best], final.predict(test)[0])


PROBES: dict[str, Probe] = {"fast": fast, "senteval": senteval}
