"""Candidates over tasks: one record a score, yielded as soon as it is computed."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from noppa.paper import protocols, task_files
from noppa.paper.candidates import Candidate
from noppa.paper.protocols import Outcome
from noppa.paper.results import Record
from noppa.paper.task_files import Row
from noppa.paper.tasks import Task
from noppa.parameters import validate_fields
from noppa.processes import Run


@dataclass(frozen=True)
class Conditions:
    """How scores are computed; every setting is written into each record."""

    data: str | PathLike[str]
    protocol: str = "fast"
    seed: int = protocols.SEED
    transductive: bool = False
    unchecked: bool = False
    shuffled_labels: bool = False
    corpus: Sequence[str] | None = None

    def __post_init__(self) -> None:
        validate_fields(self, seed=protocols.seed_number)


def load(task: Task, conditions: Conditions) -> tuple[dict[str, list[Row]], dict[str, str]]:
    """The rows of a task, checked unless the conditions say otherwise, and the hashes of its files."""
    checksums = task_files.hashes_of if conditions.unchecked else task_files.check
    hashes = checksums(conditions.data, task)
    parts = task_files.read(conditions.data, task)
    if conditions.shuffled_labels:
        parts = shuffled(parts, conditions.seed)
    return parts, hashes


def shuffled(parts: dict[str, list[Row]], seed: int) -> dict[str, list[Row]]:
    """The same rows with their labels permuted: a control that must score no better than chance."""
    random = np.random.default_rng(seed)
    permuted = {}
    for name, rows in parts.items():
        order = random.permutation(len(rows))
        permuted[name] = [
            replace(row, label=rows[at].label) for row, at in zip(rows, order, strict=True)
        ]
    return permuted


def record_of(
    task: Task,
    candidate: Candidate,
    outcome: Outcome,
    conditions: Conditions,
    hashes: dict[str, str],
    seconds: float,
) -> Record:
    """One score with everything needed to reproduce it, except the environment (see `results.surroundings`)."""
    return {
        "task": task.name,
        "score": round(outcome.score, 4),
        "metric": task.metric,
        "protocol": conditions.protocol,
        "encoder": candidate.name,
        "parameters": candidate.to_dict(),
        "dev": None if outcome.dev is None else round(outcome.dev, 4),
        "folds": [round(value, 4) for value in outcome.folds],
        "dev_folds": [round(value, 4) for value in outcome.dev_folds],
        **_rounded(outcome.more),
        "fitted_on": _fitted_on(candidate, conditions),
        "transductive": conditions.transductive,
        "selected_on": "dev",
        "checked": not conditions.unchecked,
        "shuffled_labels": conditions.shuffled_labels,
        "seed": conditions.seed,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(outcome.cpu_seconds, 2),
        "source": task_files.source_of(task, hashes),
        "data": hashes,
    }


def _fitted_on(candidate: Candidate, conditions: Conditions) -> str:
    if not candidate.learns:
        return "nothing"
    return "train, dev and test text" if conditions.transductive else "train text"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def results(
    tasks: Sequence[Task], candidates: Sequence[Candidate], conditions: Conditions, run: Run = map
) -> Iterator[Record]:
    """Records of every candidate on every task, task by task."""
    text_given = bool(conditions.corpus) or conditions.transductive
    # All checks first: a late failure would waste hours of scoring.
    for task in tasks:
        for candidate in candidates:
            protocols.require_text(task, candidate, text_given)
    for task in tasks:
        parts, hashes = load(task, conditions)
        for candidate in candidates:
            start = time.perf_counter()
            outcome = protocols.score(
                task,
                parts,
                candidate,
                conditions.protocol,
                seed=conditions.seed,
                transductive=conditions.transductive,
                corpus=conditions.corpus,
                run=run,
            )
            seconds = time.perf_counter() - start
            yield record_of(task, candidate, outcome, conditions, hashes, seconds)
