"""Measure the classifier on the paper's tasks, with all rows and with few, and on flipped labels.

    python bench/classifier.py SentEval/data [--only accuracy few flips] [--seeds 1111 1112 …] [--minilm MODEL]

accuracy    all rows, the folds or the split of `noppa paper score`, next to TF-IDF n-grams only
few         8 rows per class, 100 and 1,000 rows: five draws from the training rows of the first split; next to the probe of
            `noppa paper score` on the vectors of `noppa.load()` and, with --minilm, of a sentence transformer
flips       200 of 10,000 labels flipped: how many are among the 200 most suspicious

Appends to bench/results/classifier.jsonl, and skips what is there for the same embedded model. All choices are made inside the training
rows, or on development rows if a task has them.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from runner import RESULTS, Row, arguments, record

import noppa
from noppa.classify.probe import ProbeData, probe
from noppa.paper import TASKS
from noppa.paper.protocols import SEED, Split, splits_of
from noppa.paper.records import surroundings
from noppa.paper.tasks import CLASSIFICATION, read
from noppa.paper.tasks import Row as TaskRow

FILE = RESULTS / "classifier.jsonl"
FEW, DRAWS, FLIPPED = (8, 100, 1000), 5, 200
CLASSIFIERS: dict[str, Row] = {"Classifier": {}, "TF-IDF": {"model": False}}

Rows = Sequence[TaskRow]
Vectors = Callable[[list[str]], Any]
Done = Callable[..., bool]


def texts_of(rows: Rows) -> Any:
    """Return the texts of rows, or both sides of pairs."""
    sides = tuple([row.texts[at] for row in rows] for at in range(len(rows[0].texts)))
    return sides if len(sides) == 2 else sides[0]


def labels_of(rows: Rows) -> list[Any]:
    return [row.label for row in rows]


def splits(data: Path, name: str, seed: int) -> list[Split]:
    parts = read(data, TASKS[name])
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    classes = {label: at for at, label in enumerate(names)}
    return list(splits_of(TASKS[name], parts, classes, seed))


def score(split: Split, parameters: Row, train: Rows, seed: int) -> float:
    dev = None
    if split.dev is not None and len(train) == len(split.train):
        dev = texts_of(split.dev), labels_of(split.dev)
    model = noppa.Classifier(**parameters, seed=seed)
    model.fit(texts_of(train), labels_of(train), dev=dev)
    return 100 * model.score(texts_of(split.test), labels_of(split.test))


def accuracy(data: Path, seeds: Sequence[int], done: Done) -> Iterator[Row]:
    for seed in seeds:
        for name in CLASSIFICATION:
            for encoder, parameters in CLASSIFIERS.items():
                key = {
                    "what": "accuracy",
                    "task": name,
                    "encoder": encoder,
                    "rows": "all",
                    "seed": seed,
                }
                if not done(**key):
                    start = time.process_time()
                    folds = [score(s, parameters, s.train, seed) for s in splits(data, name, seed)]
                    seconds = time.process_time() - start
                    yield {
                        **key,
                        "score": float(np.mean(folds)),
                        "folds": folds,
                        "cpu_seconds": seconds,
                    }


def few(data: Path, peers: dict[str, Vectors], done: Done) -> Iterator[Row]:
    for name in CLASSIFICATION:
        first = splits(data, name, SEED)[0]
        for rows in FEW:
            draws = [draw_rows(first.train, rows, draw) for draw in range(DRAWS)]
            for encoder in (*CLASSIFIERS, *peers):
                key = {"what": "few", "task": name, "encoder": encoder, "rows": rows, "seed": SEED}
                if done(**key):
                    continue
                if encoder in peers:
                    scores = [probe_score(first, train, peers[encoder]) for train in draws]
                else:
                    scores = [score(first, CLASSIFIERS[encoder], train, SEED) for train in draws]
                yield {**key, "score": float(np.mean(scores)), "draws": scores}


def draw_rows(train: Rows, rows: int, draw: int) -> list[TaskRow]:
    """Draw eight rows per class, or a number of rows with at least two of each class."""
    order = np.random.default_rng([SEED, rows, draw]).permutation(len(train)).tolist()
    by_class: dict[Any, list[int]] = {}
    for at in order:
        by_class.setdefault(train[at].label, []).append(at)
    least = [at for places in by_class.values() for at in places[: 8 if rows == 8 else 2]]
    rest = [] if rows == 8 else [at for at in order if at not in set(least)]
    return [train[at] for at in (least + rest)[: max(rows, len(least))]]


def probe_score(split: Split, train: Rows, vectors: Vectors) -> float:
    """Return the accuracy of the probe of `noppa paper score` on some vectors."""
    names = sorted({row.label for row in train}, key=str)
    numbers = {label: at for at, label in enumerate(names)}
    truth = np.array([numbers.get(row.label, -1) for row in split.test])
    known = np.array([numbers[row.label] for row in train])
    training, test = (features(train, vectors), known), (features(split.test, vectors), truth)
    predicted = probe(ProbeData(training, None, test, len(names), SEED)).predicted
    return 100 * float((predicted == truth).mean())


def features(rows: Rows, vectors: Vectors) -> Any:
    u, *rest = (
        np.asarray(vectors([row.texts[at] for row in rows])) for at in range(len(rows[0].texts))
    )
    return np.hstack([np.abs(u - rest[0]), u * rest[0]]) if rest else u


def flips(data: Path, done: Done) -> Iterator[Row]:
    for name in ("MR", "SUBJ"):
        rows, random = read(data, TASKS[name])["all"], np.random.default_rng(SEED)
        chosen = [rows[at] for at in random.permutation(len(rows))[:10_000]]
        flipped = random.choice(len(chosen), FLIPPED, replace=False)
        labels = np.array(labels_of(chosen))
        labels[flipped] = labels.max() + labels.min() - labels[flipped]
        for encoder, parameters in CLASSIFIERS.items():
            key = {
                "what": "flips",
                "task": name,
                "encoder": encoder,
                "rows": len(chosen),
                "seed": SEED,
            }
            if not done(**key):
                model = noppa.Classifier(**parameters).fit(texts_of(chosen), labels)
                suspicious = {label.row for label in model.report(FLIPPED).suspicious}
                yield {**key, "found": len(suspicious & set(flipped.tolist())), "of": FLIPPED}


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("senteval", type=Path, help="SentEval/data")
    parser.add_argument("--only", nargs="+", default=["accuracy", "few", "flips"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[SEED])
    parser.add_argument("--minilm", help="a model of sentence-transformers")
    options = parser.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    embedded = noppa.load()
    facts = {"model": embedded.identity.checksum, "dim": embedded.dim}
    before = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]

    def done(**key: Any) -> bool:
        # TF-IDF and MiniLM do not depend on the embedded model.
        wanted = key if key["encoder"] in ("TF-IDF", "all-MiniLM-L6-v2") else {**key, **facts}
        return any(all(row.get(name) == value for name, value in wanted.items()) for row in before)

    peers: dict[str, Vectors] = {"noppa.load()": embedded.encode}
    if options.minilm:
        peers["all-MiniLM-L6-v2"] = noppa.external(options.minilm).encode
    runs = {
        "accuracy": lambda: accuracy(options.senteval, options.seeds, done),
        "few": lambda: few(options.senteval, peers, done),
        "flips": lambda: flips(options.senteval, done),
    }
    for name in options.only:
        for row in runs[name]():
            record(FILE, {**row, **facts, **surroundings()})


if __name__ == "__main__":
    main()
