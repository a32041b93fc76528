"""A candidate on a task: which rows it is fitted on, which ones choose l2, and which ones are scored.

The rule: an encoder is fitted on the texts of the training rows alone, anew for each outer fold. `transductive=True`
also fits on test texts, as the paper's program did; every result says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.classify.folds import stratified_folds
from noppa.errors import ParameterError
from noppa.paper.candidates import Candidate, Encodes, PerFold
from noppa.paper.correlation import cosines, pearson, spearman
from noppa.paper.probes import PROBES, ProbeData
from noppa.paper.task_files import Row
from noppa.paper.tasks import Task
from noppa.parameters import one_of, whole
from noppa.processes import Run

SEED = 1111
#: The range of NumPy's RandomState, which draws the folds.
seed_number = partial(whole, most=(1 << 32) - 1)
OUTER_FOLDS = 10
#: The names of the protocols: which probe is trained on the vectors.
PROTOCOLS = tuple(PROBES)
TRAIN = ("train", "all")

Parts = Mapping[str, Sequence[Row]]


@dataclass(frozen=True)
class Outcome:
    """Percent on test rows, percent on development rows (None where there are none), and both for each outer fold.

    more: what a protocol adds, such as the l2 that was chosen.
    cpu_seconds: of encoding and of the probes, over all processes.
    """

    score: float
    dev: float | None
    folds: list[float]
    dev_folds: list[float]
    cpu_seconds: float
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Split:
    """One outer fold, or the fixed split of a task that has no folds."""

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

    protocol: which probe is trained on the vectors, one of `PROTOCOLS`. seed: of the folds and of the probe.
    transductive: fit on the text of test rows, too, as some published numbers do.
    corpus: texts to fit on where a task has no training rows. run: a `map`, such as that of a pool of processes.
    """
    one_of(protocol, "protocol", PROTOCOLS)
    seed = seed_number(seed, "seed")
    if task.layout == "similarity":
        return _similarity(task, parts, candidate, transductive, corpus)
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    labels = {name: at for at, name in enumerate(names)}
    splits = list(splits_of(task, parts, labels, seed))
    encoding_seconds: list[float] = []

    def encoded() -> Iterator[ProbeData]:
        for at, split in enumerate(splits):
            start = time.process_time()
            own = candidate.folds[at] if isinstance(candidate, PerFold) else candidate
            data = _probe_data(split, own, labels, seed, transductive)
            encoding_seconds.append(time.process_time() - start)
            yield data

    results = list(run(PROBES[protocol], encoded()))
    cpu_seconds = sum(encoding_seconds) + sum(result.cpu_seconds for result in results)
    truths = [_labels(split.test, labels) for split in splits]
    accuracies = [
        100 * float((result.predicted == truth).mean())
        for result, truth in zip(results, truths, strict=True)
    ]
    dev = [100 * float(result.dev) for result in results]
    more: dict[str, Any] = {"l2": [result.l2 for result in results]}
    if task.name == "MRPC":
        more["f1"] = 100 * _f1(results[0].predicted, truths[0])
    mean = float(np.mean(accuracies))
    return Outcome(mean, float(np.mean(dev)), accuracies, dev, cpu_seconds, more)


def splits_of(
    task: Task, parts: Parts, labels: Mapping[float | str, int], seed: int = SEED
) -> Iterator[Split]:
    """The outer folds of a task, or its fixed split."""
    if task.layout != "folds":
        yield Split(parts["train"], parts.get("dev"), parts["test"])
        return
    rows = parts["all"]
    for train, test in stratified_folds(_labels(rows, labels), OUTER_FOLDS, seed):
        yield Split([rows[at] for at in train], None, [rows[at] for at in test])


def require_text(task: Task, candidate: Candidate, text_given: bool) -> None:
    """Raise where a candidate learns from text, the task has none to train on, and none was given."""
    if candidate.learns and not text_given and not any(file.part in TRAIN for file in task.files):
        raise ParameterError(
            f"{task.name} has no training rows and {candidate.name} learns from text: give some with --corpus FILE"
        )


def texts_to_fit(split: Split, transductive: bool) -> list[str]:
    """The texts that an encoder may see before it is scored."""
    rows = [*split.train]
    if transductive:
        rows += [*(split.dev or ()), *split.test]
    return [text for row in rows for text in row.texts]


def _probe_data(
    split: Split,
    candidate: Candidate,
    labels: Mapping[float | str, int],
    seed: int,
    transductive: bool,
) -> ProbeData:
    encoder = candidate.fitted(texts_to_fit(split, transductive))
    train, test = features(encoder, split.train), features(encoder, split.test)
    dev = None
    if split.dev is not None:
        dev = (features(encoder, split.dev), _labels(split.dev, labels))
    return ProbeData(
        (train, _labels(split.train, labels)),
        dev,
        (test, _labels(split.test, labels)),
        len(labels),
        seed,
    )


def features(encoder: Encodes, rows: Sequence[Row]) -> NDArray[np.float32]:
    """The vector of a text; for a pair, |u - v| and u * v concatenated."""
    columns = [_encoded(encoder, rows, column) for column in range(len(rows[0].texts))]
    if len(columns) == 1:
        return columns[0]
    left, right = columns
    return np.hstack([np.abs(left - right), left * right])


def _encoded(encoder: Encodes, rows: Sequence[Row], column: int) -> NDArray[np.float32]:
    return np.asarray(encoder.encode([row.texts[column] for row in rows]), np.float32)


def _labels(rows: Sequence[Row], labels: Mapping[float | str, int]) -> NDArray[np.int64]:
    return np.array([labels[row.label] for row in rows], np.int64)


def _f1(predicted: NDArray[np.int64], truth: NDArray[np.int64]) -> float:
    hits = int((predicted & truth).sum())
    return 2 * hits / max(int(predicted.sum() + truth.sum()), 1)


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
    scored = {name: rows for name, rows in parts.items() if name not in ("train", "dev")}
    texts = [text for row in train for text in row.texts] or list(corpus or ())
    if transductive:
        others = [*parts.get("dev", ()), *(row for rows in scored.values() for row in rows)]
        texts += [text for row in others for text in row.texts]
    require_text(task, candidate, bool(texts))
    encoder = candidate.fitted(texts)
    correlations = {name: _correlations(encoder, rows) for name, rows in scored.items()}
    dev = 100 * _correlations(encoder, parts["dev"])[0] if "dev" in parts else None
    by_rank = [100 * value[0] for value in correlations.values()]
    linear = [100 * value[1] for value in correlations.values()]
    more: dict[str, Any] = {"pearson": float(np.mean(linear))}
    if len(correlations) > 1:
        more["subsets"] = dict(zip(correlations, by_rank, strict=True))
    cpu_seconds = time.process_time() - start
    dev_folds = [] if dev is None else [dev]
    return Outcome(float(np.mean(by_rank)), dev, by_rank, dev_folds, cpu_seconds, more)


def _correlations(encoder: Encodes, rows: Sequence[Row]) -> tuple[float, float]:
    """Spearman's and Pearson's correlation of the cosines with the human scores."""
    predicted = cosines(_encoded(encoder, rows, 0), _encoded(encoder, rows, 1))
    human = [float(row.label) for row in rows]
    return spearman(predicted, human), pearson(predicted, human)
