"""All methods on a user's own labelled texts: accuracy, time and size, and a recommendation."""

from __future__ import annotations

import csv
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from noppa.errors import FileError, ParameterError
from noppa.evaluate.candidates import Candidate
from noppa.evaluate.protocols import OUTER_FOLDS, SEED, score
from noppa.evaluate.task_files import Row
from noppa.evaluate.tasks import Task
from noppa.processes import Run

#: Methods within this many standard errors of the best count as equally good.
TOLERATED_ERRORS = 1.0


@dataclass(frozen=True)
class Line:
    """One method: accuracy in percent with its standard error over folds, µs a text, numbers a vector."""

    name: str
    accuracy: float
    error: float
    microseconds: float
    dim: int


def read(path: str | PathLike[str], text: str, label: str) -> list[Row]:
    """Labelled texts of a CSV file, by the names of two of its columns."""
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            columns = table.fieldnames or []
            for name in (text, label):
                if name not in columns:
                    raise ParameterError(
                        f"{path} has no column {name!r}: it has {', '.join(columns) or 'none'}"
                    )
            rows = []
            for at, cells in enumerate(table, 2):
                if cells[text] is None or not cells[label]:
                    raise FileError(
                        f"row {at} of {path} lacks its text or its label: complete or delete it"
                    )
                rows.append(Row((cells[text],), cells[label]))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} cannot be read: {error}; give a CSV file in UTF-8") from error
    counts = Counter(row.label for row in rows)
    few = [str(name) for name, count in counts.items() if count < OUTER_FOLDS]
    if len(counts) < 2 or few:
        raise ParameterError(
            f"{path} has {len(counts)} labels"
            + (f", and {few[0]!r} on only {counts[few[0]]} rows" if few else "")
            + f": a comparison needs two labels or more, each on {OUTER_FOLDS} rows or more"
        )
    return rows


def line_of(rows: Sequence[Row], candidate: Candidate, seed: int = SEED, run: Run = map) -> Line:
    """A candidate in ten folds, fitted on the training texts of each; its time is for encoding all texts once."""
    task = Task("own data", "folds", "accuracy", ())
    texts = [row.texts[0] for row in rows]
    outcome = score(task, {"all": rows}, candidate, seed=seed, run=run)
    encoder = candidate.fitted(texts)
    start = time.perf_counter()
    vectors = np.asarray(encoder.encode(texts))
    seconds = time.perf_counter() - start
    error = float(np.std(outcome.folds, ddof=1) / np.sqrt(len(outcome.folds)))
    return Line(candidate.name, outcome.score, error, 1e6 * seconds / len(texts), vectors.shape[1])


def recommended(lines: Sequence[Line]) -> Line:
    """The smallest vectors, then the fastest, among methods within one standard error of the best."""
    best = max(lines, key=lambda line: line.accuracy)
    close = [
        line for line in lines if line.accuracy >= best.accuracy - TOLERATED_ERRORS * best.error
    ]
    return min(close, key=lambda line: (line.dim, line.microseconds))
