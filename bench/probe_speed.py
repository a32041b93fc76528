"""noppa's own probes beside scikit-learn's: CPU time to the same optimum, and whether the scores are the same.

    python bench/probe_speed.py [--tasks MR,TREC,SICK-E] [--save bench/results/probe_speed.jsonl]

Needs scikit-learn, which the package does not. Both get the same vectors of the embedded model, the same folds, the
same penalties and the same tolerance, and one BLAS thread. scikit-learn fits one model at a time, each penalty warm
started from the one before; noppa fits all of them together.
"""

from __future__ import annotations

import os

os.environ.update(dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"))  # before NumPy

import json
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from corpora import arguments
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier

import noppa
from noppa.classify.folds import stratified_folds
from noppa.classify.lbfgs import ITERATIONS
from noppa.constants import HIDDEN_UNITS
from noppa.paper import TASKS, Fixed, perceptron, probes, read, score
from noppa.paper.logistic import TOLERANCE
from noppa.paper.perceptron import BATCH, EPOCH_SIZE, Stream
from noppa.paper.probes import (
    FAST_FOLDS,
    FAST_L2,
    SENTEVAL_FOLDS,
    SENTEVAL_L2,
    ProbeData,
    ProbeResult,
)
from noppa.paper.results import surroundings

SEED = 1111
#: Fresh interpreters, because an import is free the second time.
IMPORTS = {"noppa": "noppa.paper.protocols", "sklearn": "sklearn.model_selection"}


def path(rows: np.ndarray, labels: np.ndarray, penalties: Iterable[float]) -> Iterator[Any]:
    """A fitted model for each penalty, the strongest first, because it is the cheapest to start from."""
    model = LogisticRegression(tol=TOLERANCE, max_iter=ITERATIONS, warm_start=True)
    # Of two classes scikit-learn penalizes one vector w, a softmax w/2 and -w/2: half as much.
    share = 2 if labels.max() == 1 else 1
    for l2 in penalties:
        yield model.set_params(C=share / (l2 * len(rows))).fit(rows, labels)


@probes.timed
def with_sklearn(data: ProbeData) -> ProbeResult:
    """`probes.fast` with scikit-learn's folds and logistic regression."""
    (rows, labels), (test, _) = data.train, data.test
    centre, spread = probes.scaling(rows)
    rows, test = (rows - centre) / spread, (test - centre) / spread
    penalties = FAST_L2[::-1]
    if data.dev is not None:
        dev, dev_labels = (data.dev[0] - centre) / spread, data.dev[1]
        fits = [
            (model.score(dev, dev_labels), model.predict(test))
            for model in path(rows, labels, penalties)
        ][::-1]
        best = int(np.argmax([accuracy for accuracy, _ in fits]))
        return ProbeResult(FAST_L2[best], *fits[best])
    folds = StratifiedKFold(FAST_FOLDS, shuffle=True, random_state=data.seed)
    accuracies = [
        [
            model.score(rows[dev], labels[dev])
            for model in path(rows[train], labels[train], penalties)
        ]
        for train, dev in folds.split(rows, labels)
    ]
    accuracy = np.mean(accuracies, axis=0)[::-1]
    best = int(accuracy.argmax())
    (final,) = path(rows, labels, [FAST_L2[best]])
    return ProbeResult(FAST_L2[best], accuracy[best], final.predict(test))


def sklearn_map(_: object, splits: Iterable[ProbeData]) -> Iterator[ProbeResult]:
    return map(with_sklearn, splits)


def logistic_regression(data: Path, name: str) -> dict[str, Any]:
    """The protocol `fast` on one task, both ways; `seconds` without encoding, which both need alike."""
    task, encoder = TASKS[name], Fixed(noppa.load(), "default")
    parts = read(data, task)
    score(
        task,
        parts,
        encoder,
        run=lambda _, splits: [ProbeResult(0, 0, data.test[1]) for data in splits],
    )
    ours = score(task, parts, encoder, seed=SEED)
    theirs = score(task, parts, encoder, seed=SEED, run=sklearn_map)
    return {
        "probe": "logistic regression",
        "task": name,
        "models": len(ours.folds)
        * (len(FAST_L2) if "dev" in parts else len(FAST_L2) * FAST_FOLDS + 1),
        "seconds": {"noppa": ours.cpu_seconds, "sklearn": theirs.cpu_seconds},
        "score": {"noppa": ours.score, "sklearn": theirs.score},
        "dev": {"noppa": ours.dev, "sklearn": theirs.dev},
        "same_l2": int(np.sum(np.equal(ours.more["l2"], theirs.more["l2"]))),
        "units": len(ours.folds),
    }


def vectors(data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    rows = read(data, TASKS[name])["all" if TASKS[name].layout == "folds" else "train"]
    labels = np.unique([str(row.label) for row in rows], return_inverse=True)[1]
    return noppa.load().encode([row.texts[0] for row in rows]), labels


def network(data: Path, name: str) -> dict[str, Any]:
    """SentEval's networks until their first check: every fold and every l2; of scikit-learn's, one network times them all.

    scikit-learn has no counterpart of SentEval's stopping rule, so whole runs cannot be compared.
    """
    rows, labels = vectors(data, name)
    streams = [Stream(*fold) for fold in stratified_folds(labels, SENTEVAL_FOLDS, SEED)]
    count, classes = len(streams) * len(SENTEVAL_L2), int(labels.max()) + 1
    perceptron.MAX_EPOCH = 0
    start = time.process_time()
    perceptron.train(rows, labels, streams, SENTEVAL_L2, classes, SEED)
    ours = time.process_time() - start
    one = MLPClassifier(
        (HIDDEN_UNITS,), activation="logistic", batch_size=BATCH, max_iter=EPOCH_SIZE
    )
    train = streams[0].train
    start = time.process_time()
    one.fit(rows[train], labels[train])
    theirs = count * (time.process_time() - start)
    return {
        "probe": "network, the first check",
        "task": name,
        "models": count,
        "seconds": {"noppa": ours, "sklearn": theirs},
    }


def folds(data: Path, name: str) -> dict[str, Any]:
    """Ten folds of one task, and the import that they need."""
    _, labels = vectors(data, name)
    start = time.process_time()
    ours = stratified_folds(labels, SENTEVAL_FOLDS, SEED)
    middle = time.process_time()
    splitter = StratifiedKFold(SENTEVAL_FOLDS, shuffle=True, random_state=SEED)
    theirs = list(splitter.split(labels, labels))
    end = time.process_time()
    same = all(
        np.array_equal(a, b)
        for one, other in zip(ours, theirs, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    return {
        "probe": "folds",
        "task": name,
        "seconds": {"noppa": middle - start, "sklearn": end - middle},
        "import_seconds": {name: imported(module) for name, module in IMPORTS.items()},
        "same_folds": same,
    }


def imported(module: str) -> float:
    program = (
        f"import time; t = time.process_time(); import {module}; print(time.process_time() - t)"
    )
    runs = [subprocess.check_output([sys.executable, "-c", program]) for _ in range(3)]
    return min(map(float, runs))


def rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--tasks", default="MR,TREC,SICK-E")
    parser.add_argument("--save", type=Path, help="a file for the figures, as JSON lines")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    data, tasks = options.data / "senteval", options.tasks.split(",")
    about = surroundings() | {"seed": SEED, "sklearn": sklearn.__version__}
    lines = []
    measured = [(logistic_regression, name) for name in tasks]
    for measure, name in [*measured, (network, tasks[0]), (folds, tasks[0])]:
        line = measure(data, name)
        seconds = line["seconds"]
        line["ratio"] = seconds["sklearn"] / seconds["noppa"]
        print(json.dumps(rounded(line)), flush=True)
        lines.append(json.dumps(rounded(line | about)) + "\n")
    if options.save:
        options.save.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
