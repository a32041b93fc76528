"""Compare all methods on labelled texts: accuracy, time and vector size, and a recommendation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from noppa.classify.classifier import Classifier
from noppa.classify.labels import Rows, stratified_folds
from noppa.classify.probe import OUTER_FOLDS, SEED, ProbeData, probe
from noppa.encoder import embedded
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SupportsEncode, load
from noppa.errors import NoppaError, ParameterError, warn
from noppa.methods import METHODS
from noppa.methods.method import Method
from noppa.processes import Run
from noppa.words.word_vectors import WordVectors

#: Methods within this many standard errors of the best count as equally good.
TOLERATED_ERRORS = 1.0
#: Table names of methods whose class name is easily misunderstood.
TITLES = {"TfIdf": "TfIdf (weighted average of word vectors)"}
#: Whole classifiers that take part, by their parameters.
CLASSIFIERS: dict[str, dict[str, Any]] = {
    "TF-IDF of words and pairs (no vectors)": {"model": False},
    "Classifier (vectors and n-grams)": {},
}

#: Returns an encoder fitted on some training texts.
FitEncoder = Callable[[Sequence[str]], SupportsEncode]
Folds = list[tuple[Rows, Rows]]


class ComparedMethod(NamedTuple):
    """One row of a comparison: the mean accuracy over folds in percent and its standard error, and time and features per text."""

    name: str
    accuracy: float
    error: float
    microseconds: float
    dim: int


def compare(
    texts: Sequence[str],
    labels: Sequence[Any],
    words: WordVectors | None = None,
    methods: Iterable[type[Any]] | None = None,
    *,
    seed: int = SEED,
    run: Run = map,
) -> list[ComparedMethod]:
    """Cross-validate methods in ten folds, each fitted on the training texts of the fold; return the best first.

    A method that cannot be fitted on these texts is left out with a warning.

    Args:
        texts: the texts.
        labels: one for each text; at least two different ones, each on ten texts or more.
        words: word vectors; by default those of the embedded model, whose presets are compared too.
        methods: method classes; by default all, a bag of words, and `Classifier`.
        seed: of the folds.
        run: a `map` function, such as that of a process pool.
    """
    counts = Counter(map(str, labels))
    rare = [name for name, count in counts.items() if count < OUTER_FOLDS]
    if len(counts) < 2 or rare:
        raise ParameterError(
            f"there are {len(counts)} labels"
            + (f", and {rare[0]!r} is on only {counts[rare[0]]} rows" if rare else "")
            + f": a comparison needs two labels or more, each on {OUTER_FOLDS} rows or more"
        )
    codes = np.unique(list(map(str, labels)), return_inverse=True)[1].astype(np.int64)
    folds = stratified_folds(codes, OUTER_FOLDS, seed)
    candidates = _candidates(texts, words, methods)
    if words is None and methods is None:
        candidates |= {f'noppa.load("{name}")': _preset(name) for name in embedded.presets()}
    rows = []
    for name, fit in candidates.items():
        try:
            rows.append(_score_encoder(name, fit, texts, codes, folds, seed, run))
        except NoppaError as error:
            warn(f"{name} is left out: {error}")
    if methods is None:
        rows += [_score_classifier(name, texts, codes, folds, run) for name in CLASSIFIERS]
    return sorted(rows, key=lambda row: -row.accuracy)


def recommended(rows: Sequence[ComparedMethod]) -> ComparedMethod:
    """Return the method with the smallest, then fastest vectors among those within one standard error of the best."""
    best = max(rows, key=lambda row: row.accuracy)
    least = best.accuracy - TOLERATED_ERRORS * best.error
    return min(
        (row for row in rows if row.accuracy >= least), key=lambda row: (row.dim, row.microseconds)
    )


def _candidates(
    texts: Sequence[str], words: WordVectors | None, methods: Iterable[type[Any]] | None
) -> dict[str, FitEncoder]:
    """Map the name of each method to a function that fits it."""
    if words is None:
        model = load()
        # The columns that compare pairs: some methods make long vectors of all columns.
        columns = getattr(model.method, "pair_columns", None)
        words = model.words.columns(*columns) if columns else model.words
    words = words.frozen(texts)
    if words.probabilities is None:
        # The methods need probabilities, and most files of vectors are sorted by frequency.
        warn("the words have no counts: their probabilities are estimated from their order")
        words = words.with_ranks()
    kinds = METHODS.values() if methods is None else methods
    return {
        TITLES.get(kind.__name__, kind.__name__): partial(_fit, words, kind()) for kind in kinds
    }


def _fit(words: WordVectors, method: Method, texts: Sequence[str]) -> SupportsEncode:
    encoder = Encoder(words, method)
    return encoder.fit(texts) if method.refinements() or method.learns else encoder


def _preset(name: str) -> FitEncoder:
    model = load(name)
    return lambda texts: model


def _score_encoder(
    name: str,
    fit: FitEncoder,
    texts: Sequence[str],
    codes: Rows,
    folds: Folds,
    seed: int,
    run: Run,
) -> ComparedMethod:
    def fold_data() -> Iterator[ProbeData]:
        for train, test in folds:
            encoder = fit([texts[row] for row in train])
            train_data, test_data = (
                (np.asarray(encoder.encode([texts[row] for row in rows]), np.float32), codes[rows])
                for rows in (train, test)
            )
            yield ProbeData(train_data, None, test_data, int(codes.max()) + 1, seed)

    accuracies = [
        100 * float((result.predicted == codes[test]).mean())
        for result, (_, test) in zip(run(probe, fold_data()), folds, strict=True)
    ]
    encoder = fit(texts)
    start = time.perf_counter()
    vectors = np.asarray(encoder.encode(list(texts)))
    return _row(name, accuracies, (time.perf_counter() - start) / len(texts), vectors.shape[1])


def _score_classifier(
    name: str, texts: Sequence[str], codes: Rows, folds: Folds, run: Run
) -> ComparedMethod:
    tasks = (
        (name, *(([texts[row] for row in rows], codes[rows].tolist()) for rows in fold))
        for fold in folds
    )
    accuracies = list(run(_fold_accuracy, tasks))
    model = Classifier(**CLASSIFIERS[name]).fit(texts, codes.tolist())
    start = time.perf_counter()
    model.predict(texts)
    seconds = time.perf_counter() - start
    features = model.contents.features
    return _row(name, accuracies, seconds / len(texts), features.ngram_columns + features.dim)


def _fold_accuracy(task: tuple[str, tuple[Any, Any], tuple[Any, Any]]) -> float:
    """Return the accuracy of a classifier on the test rows of a fold, in percent."""
    name, train, test = task
    model = Classifier(**CLASSIFIERS[name], threads=1).fit(*train)
    return 100 * model.score(*test)


def _row(name: str, accuracies: Sequence[float], seconds: float, dim: int) -> ComparedMethod:
    error = float(np.std(accuracies, ddof=1) / np.sqrt(len(accuracies)))
    return ComparedMethod(name, float(np.mean(accuracies)), error, 1e6 * seconds, dim)
