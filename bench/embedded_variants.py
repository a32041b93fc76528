"""Settings of the embedded model's default preset: how good on training rows alone, and what each costs.

    python bench/embedded_variants.py -o bench/results/variants.jsonl

The score on a task is the leave-one-out accuracy of a ridge regression on the standardized features: one
eigendecomposition serves all rows and penalties. Test rows are left out; tasks with outer folds give the training rows
of the first. It compares these variants with each other, and with nothing else. Time is CPU time a text of SICK on one
thread, the best of rounds in turns, so that a busy machine is busy for all.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from corpora import arguments, sick
from numpy.typing import NDArray

import noppa
from noppa.paper import TASKS, bench, protocols
from noppa.paper import results as records
from noppa.paper.probes import scaling
from noppa.paper.task_files import Row

Float = NDArray[np.float32]

#: Sentiment, style, questions and pairs of texts.
SCORED = ("CR", "SUBJ", "TREC", "MRPC")
#: As shares of the number of rows. The largest is about as strong as the largest l2 of the protocol `fast`.
PENALTIES = (0.03, 0.1, 0.3, 0.6)
ROUNDS = 3


#: What the variants change.
START = noppa.NoPPA(k=0, parts=("ordered", "word"), pair_columns=(0, 228))


def variants() -> dict[str, noppa.Encoder]:
    """Encoders with the words of the default preset, by name."""
    words = noppa.load().words
    settings: dict[str, dict[str, Any]] = {
        "`ordered` and `word`, pairs in 228 columns": {},
        "no pairs": {"parts": ("word",)},
        "pairs in 100 columns": {"pair_columns": (0, 100)},
        "pairs in 420 columns": {"pair_columns": (0, 420)},
        "pairs in 420 columns, kernel `abs`": {"kernel": "abs", "pair_columns": (0, 420)},
        "`context` too": {"parts": ("ordered", "context", "word")},
        "`dct1` too": {"parts": ("ordered", "word", "dct1")},
        "`max` too": {"parts": ("ordered", "word", "max")},
        "no positions": {"position": None},
        "a = 0.3": {"a": 0.3},
    }
    return {name: noppa.Encoder(words, replace(START, **each)) for name, each in settings.items()}


def left_out_accuracy(features: Float, labels: NDArray[np.int64], classes: int) -> float:
    """The best accuracy in percent over the penalties, each row predicted by the ridge regression of all others."""
    centre, spread = scaling(features)
    rows = (features - centre) / spread
    count = len(rows)
    truth = np.eye(classes, dtype=np.float32)[labels]
    centred = truth - truth.mean(axis=0)
    if rows.shape[1] < count:
        values, axes = np.linalg.eigh(rows.T @ rows)
        rotated = rows @ axes
    else:
        values, axes = np.linalg.eigh(rows @ rows.T)
        rotated = axes * np.sqrt(np.maximum(values, 0))
    accuracies = []
    for penalty in PENALTIES:
        shrinkage = 1 / (np.maximum(values, 0) + penalty * count)
        residuals = centred - rotated @ (shrinkage[:, None] * (rotated.T @ centred))
        leverages = np.square(rotated) @ shrinkage + 1 / count
        left_out = truth - residuals / (1 - leverages)[:, None]
        accuracies.append(float((left_out.argmax(axis=1) == labels).mean()))
    return 100 * max(accuracies)


def scores_of(name: str, encoders: Sequence[noppa.Encoder], data: Path) -> list[float]:
    """The accuracy of each encoder on the training rows of a task."""
    task = TASKS[name]
    parts, _ = bench.load(task, bench.Conditions(data / "senteval"))
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    classes = {label: at for at, label in enumerate(names)}
    rows: Sequence[Row] = next(protocols.splits_of(task, parts, classes)).train
    labels = np.array([classes[row.label] for row in rows])
    scores = []
    for encoder in encoders:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", noppa.NoppaWarning)  # some rows have no known word
            features = protocols.features(encoder, rows)
        scores.append(round(left_out_accuracy(features, labels, len(classes)), 4))
    print(name, scores, flush=True)
    return scores


def microseconds_of(encoders: Sequence[noppa.Encoder], texts: list[str]) -> list[float]:
    """CPU time a text of each encoder."""
    best = [float("inf")] * len(encoders)
    for _ in range(ROUNDS):
        for at, encoder in enumerate(encoders):
            start = time.process_time()
            encoder.encode(texts, threads=1)
            best[at] = min(best[at], (time.process_time() - start) / len(texts))
    return [round(1e6 * seconds, 2) for seconds in best]


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    about = records.surroundings()
    named = variants()
    encoders = list(named.values())
    times = microseconds_of(encoders, sick(options.data))
    print("microseconds", times, flush=True)
    columns = {name: scores_of(name, encoders, options.data) for name in SCORED}
    for at, (name, encoder) in enumerate(named.items()):
        scores = {task: column[at] for task, column in columns.items()}
        row = {"what": name, "dim": encoder.dim, "microseconds": times[at], "left_out": scores}
        records.append(options.output, row | about)


if __name__ == "__main__":
    main()
