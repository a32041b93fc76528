"""A candidate on a task: which rows it may be fitted on, which ones choose, and which ones count.

The rule: an encoder is fitted on the texts of the training rows alone, anew for each outer fold. `transductive=True`
breaks it as the paper's program did, and says so in every result.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.evaluate.candidates import Candidate, Encodes
from noppa.evaluate.correlation import cosines, pearson, spearman
from noppa.evaluate.folds import stratified_folds
from noppa.evaluate.probes import PROBES, Exam
from noppa.evaluate.task_files import Row
from noppa.evaluate.tasks import Task
from noppa.parameters import one_of, whole
from noppa.processes import Run

SEED = 1111
#: What scikit-learn's generator takes.
seed_number = partial(whole, most=(1 << 32) - 1)
OUTER_FOLDS = 10
PROTOCOLS = tuple(PROBES)
TRAIN = ("train", "all")

Parts = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Outcome:
    """Percent on the rows that count, percent on those that chose (None if nothing did), and both for each outer fold.

    cpu_seconds is what encoding and classifiers took, over all processes.
    """

    score: float
    dev: float | None
    folds: list[float]
    dev_folds: list[float]
    cpu_seconds: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Unit:
    """One outer fold, or the one split of a task that has no folds."""

    train: Sequence[Row]
    dev: Sequence[Row] | None
    test: Sequence[Row]


def score(
    task: Task,
    parts: Parts,
    candidate: Candidate,
    protocol: str = "fast",
    *,
    seed: int = SEED,
    transductive: bool = False,
    corpus: Sequence[str] | None = None,
    run: Run = map,
) -> Outcome:
    """How good a candidate is on a task, whose rows are `parts` by name.

    corpus: texts to fit on where a task has no training rows. run: a `map`, for example that of a pool of processes.
    """
    one_of(protocol, "protocol", PROTOCOLS)
    seed = seed_number(seed, "seed")
    if task.layout == "similarity":
        return _similarity(task, parts, candidate, transductive, corpus)
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    labels = {name: at for at, name in enumerate(names)}
    units = list(units_of(task, parts, labels, seed))
    encoding: list[float] = []

    def exams() -> Iterator[Exam]:
        for unit in units:
            start = time.process_time()
            exam = _exam(unit, candidate, labels, seed, transductive)
            encoding.append(time.process_time() - start)
            yield exam

    marks = list(run(PROBES[protocol], exams()))
    cpu_seconds = sum(encoding) + sum(m.cpu_seconds for m in marks)
    wanted = [_labels(unit.test, labels) for unit in units]
    right = [100 * float((m.predicted == w).mean()) for m, w in zip(marks, wanted, strict=True)]
    dev = [100 * float(m.dev) for m in marks]
    more: dict[str, Any] = {"l2": [m.l2 for m in marks]}
    if task.name == "MRPC":
        more["f1"] = 100 * _f1(marks[0].predicted, wanted[0])
    return Outcome(float(np.mean(right)), float(np.mean(dev)), right, dev, cpu_seconds, more)


def units_of(
    task: Task, parts: Parts, labels: Mapping[float | str, int], seed: int = SEED
) -> Iterator[Unit]:
    """The outer folds of a task, or its one split."""
    if task.layout != "folds":
        yield Unit(parts["train"], parts.get("dev"), parts["test"])
        return
    rows = parts["all"]
    for train, test in stratified_folds(_labels(rows, labels), OUTER_FOLDS, seed):
        yield Unit([rows[at] for at in train], None, [rows[at] for at in test])


def require_text(task: Task, candidate: Candidate, given: bool) -> None:
    """Raise where a candidate learns from text, the task has none to train on, and none was given."""
    if candidate.learns and not given and not any(file.part in TRAIN for file in task.files):
        raise ParameterError(
            f"{task.name} has no training rows and {candidate.name} learns from text: give some with --corpus FILE"
        )


def texts_to_fit(unit: Unit, transductive: bool) -> list[str]:
    """The texts that an encoder may see before it is scored."""
    rows = [*unit.train]
    if transductive:
        rows += [*(unit.dev or ()), *unit.test]
    return [text for row in rows for text in row.texts]


def _exam(
    unit: Unit,
    candidate: Candidate,
    labels: Mapping[float | str, int],
    seed: int,
    transductive: bool,
) -> Exam:
    encoder = candidate.fitted(texts_to_fit(unit, transductive))
    train, test = _features(encoder, unit.train), _features(encoder, unit.test)
    dev = None if unit.dev is None else (_features(encoder, unit.dev), _labels(unit.dev, labels))
    return Exam(
        (train, _labels(unit.train, labels)),
        dev,
        (test, _labels(unit.test, labels)),
        len(labels),
        seed,
    )


def _features(encoder: Encodes, rows: Sequence[Row]) -> NDArray[np.float32]:
    """The vector of a text; of a pair |u - v| and u v, side by side."""
    columns = [_encoded(encoder, rows, column) for column in range(len(rows[0].texts))]
    if len(columns) == 1:
        return columns[0]
    left, right = columns
    return np.hstack([np.abs(left - right), left * right])


def _encoded(encoder: Encodes, rows: Sequence[Row], column: int) -> NDArray[np.float32]:
    return np.asarray(encoder.encode([row.texts[column] for row in rows]), np.float32)


def _labels(rows: Sequence[Row], labels: Mapping[float | str, int]) -> NDArray[np.int64]:
    return np.array([labels[row.label] for row in rows], np.int64)


def _f1(predicted: NDArray[np.int64], wanted: NDArray[np.int64]) -> float:
    hits = int((predicted & wanted).sum())
    return 2 * hits / max(int(predicted.sum() + wanted.sum()), 1)


def _similarity(
    task: Task,
    parts: Parts,
    candidate: Candidate,
    transductive: bool,
    corpus: Sequence[str] | None,
) -> Outcome:
    """Spearman's correlation of the cosines; over the subsets of a SemEval year, their mean."""
    start = time.process_time()
    train = parts.get("train", ())
    counted = {name: rows for name, rows in parts.items() if name not in ("train", "dev")}
    texts = [text for row in train for text in row.texts] or list(corpus or ())
    if transductive:
        others = [*parts.get("dev", ()), *(row for rows in counted.values() for row in rows)]
        texts += [text for row in others for text in row.texts]
    require_text(task, candidate, bool(texts))
    encoder = candidate.fitted(texts)
    tests = {name: _correlations(encoder, rows) for name, rows in counted.items()}
    dev = 100 * _correlations(encoder, parts["dev"])[0] if "dev" in parts else None
    ordered = [100 * value[0] for value in tests.values()]
    linear = [100 * value[1] for value in tests.values()]
    more: dict[str, Any] = {"pearson": float(np.mean(linear))}
    if len(tests) > 1:
        more["subsets"] = dict(zip(tests, ordered, strict=True))
    cpu_seconds = time.process_time() - start
    dev_folds = [] if dev is None else [dev]
    return Outcome(float(np.mean(ordered)), dev, ordered, dev_folds, cpu_seconds, more)


def _correlations(encoder: Encodes, rows: Sequence[Row]) -> tuple[float, float]:
    found = cosines(_encoded(encoder, rows, 0), _encoded(encoder, rows, 1))
    wanted = [float(row.label) for row in rows]
    return spearman(found, wanted), pearson(found, wanted)
