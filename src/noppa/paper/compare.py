"""All methods on a user's own labelled texts: accuracy, time and size, and a recommendation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noppa.classify.classifier import Classifier
from noppa.classify.folds import stratified_folds
from noppa.encoder import embedded
from noppa.encoder.models import load
from noppa.errors import ParameterError
from noppa.paper.candidates import Candidate, Fixed
from noppa.paper.protocols import OUTER_FOLDS, SEED, score
from noppa.paper.task_files import Row
from noppa.paper.tasks import Task
from noppa.processes import Run

#: Methods within this many standard errors of the best count as equally good.
TOLERATED_ERRORS = 1.0


#: What a name in the table does not say by itself.
EXPLAINED = {"TfIdf": "TfIdf (weighted average of word vectors)"}
#: Whole classifiers, by their parameters: no vectors and a probe, but what `noppa train` makes.
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "TF-IDF of words and pairs (no vectors)": {"encoder": False},
    "Classifier (vectors and n-grams)": {},
}


@dataclass(frozen=True)
class Line:
    """One method: accuracy in percent with its standard error over folds, µs a text, numbers that a probe sees of a text."""

    name: str
    accuracy: float
    error: float
    microseconds: float
    dim: int


def rows_of(texts: Sequence[str], labels: Sequence[Any], where: str) -> list[Row]:
    """Labelled texts for a comparison, as many of each label as it needs; `where` is what an error calls them."""
    rows = [Row((text,), str(label)) for text, label in zip(texts, labels, strict=True)]
    counts = Counter(row.label for row in rows)
    few = [str(name) for name, count in counts.items() if count < OUTER_FOLDS]
    if len(counts) < 2 or few:
        raise ParameterError(
            f"{where} has {len(counts)} labels"
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
    name = EXPLAINED.get(candidate.name, candidate.name)
    return _line(name, outcome.folds, seconds / len(texts), vectors.shape[1])


def _line(name: str, folds: Sequence[float], seconds: float, dim: int) -> Line:
    error = float(np.std(folds, ddof=1) / np.sqrt(len(folds)))
    return Line(name, float(np.mean(folds)), error, 1e6 * seconds, dim)


def presets() -> list[Candidate]:
    """The embedded model and its presets, as they are."""
    names = {f'noppa.load("{name}")': name for name in embedded.presets()}
    return [Fixed(load(name), title) for title, name in names.items()]


def classifier_line(rows: Sequence[Row], name: str, seed: int = SEED, run: Run = map) -> Line:
    """A classifier of `CLASSIFIERS` in the same ten folds, trained anew in each; its time is for predicting all texts once."""
    codes = {label: at for at, label in enumerate(dict.fromkeys(row.label for row in rows))}
    labels = np.array([codes[row.label] for row in rows])
    folds = [
        (CLASSIFIERS[name], [rows[at] for at in train], [rows[at] for at in test])
        for train, test in stratified_folds(labels, OUTER_FOLDS, seed)
    ]
    scores = list(run(_fold_score, folds))
    texts = [row.texts[0] for row in rows]
    model = Classifier(**CLASSIFIERS[name]).fit(texts, [row.label for row in rows])
    start = time.perf_counter()
    model.predict(texts)
    seconds = time.perf_counter() - start
    features = model.contents.features
    dim = features.ngram_columns + (0 if features.encoder is None else features.encoder.dim)
    return _line(name, scores, seconds / len(texts), dim)


def _fold_score(fold: tuple[dict[str, Any], list[Row], list[Row]]) -> float:
    """The accuracy on the test rows of a fold, in percent."""
    parameters, train, test = fold
    model = Classifier(**parameters, threads=1)
    model.fit([row.texts[0] for row in train], [row.label for row in train])
    return 100 * model.score([row.texts[0] for row in test], [row.label for row in test])


def recommended(lines: Sequence[Line]) -> Line:
    """The smallest vectors, then the fastest, among methods within one standard error of the best."""
    best = max(lines, key=lambda line: line.accuracy)
    close = [
        line for line in lines if line.accuracy >= best.accuracy - TOLERATED_ERRORS * best.error
    ]
    return min(close, key=lambda line: (line.dim, line.microseconds))
