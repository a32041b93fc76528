"""Which parts should NoPPA concatenate? Forward selection that never sees a test sentence.

    pip install scikit-learn
    python bench/parts.py ../shared/data

SST2: 5,000 training phrases against the development set; TREC and MRPC: three quarters of the training set against the
rest; SICK-E: 3,600 training pairs against the trial set. Three random splits each, GloVe-100, logistic regression on
standardized features, the better of two penalties. The score is the mean accuracy.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

import noppa
from noppa.methods.equations import PARTS

ALL = (*PARTS, "dct1", "dct2", "dct3")
START = ("context", "word")
SEEDS = (1, 2, 3)

Rows = list[list[str]]
# Rows of [label, text] or [label, first text, second text]: to train on, to score.
Split = tuple[Rows, Rows]


def table(path: Path, encoding: str = "utf-8") -> Rows:
    return [line.split("\t") for line in path.read_text(encoding).splitlines()]


def splits(data: Path, rng: np.random.Generator) -> list[Split]:
    """The four tasks."""

    def some(rows: Rows, count: int) -> Split:
        order = rng.permutation(len(rows))
        return [rows[at] for at in order[:count]], [rows[at] for at in order[count:]]

    sst = {part: table(data / f"SST/binary/sentiment-{part}") for part in ("train", "dev")}
    phrases = {part: [[label, text] for text, label in rows] for part, rows in sst.items()}
    trec = [line[0].split(" ", 1) for line in table(data / "TREC/train_5500.label", "latin-1")]
    questions = [[label.split(":")[0], text] for label, text in trec]
    mrpc = table(data / "MRPC/msr_paraphrase_train.txt", "utf-8-sig")[1:]
    news = [[row[0], row[3], row[4]] for row in mrpc]
    sick = {part: table(data / f"SICK/SICK_{part}.txt")[1:] for part in ("train", "trial")}
    pairs = {part: [[row[4], row[1], row[2]] for row in rows] for part, rows in sick.items()}
    return [
        (some(phrases["train"], 5000)[0], phrases["dev"]),
        some(questions, len(questions) * 3 // 4),
        some(news, len(news) * 3 // 4),
        (some(pairs["train"], 3600)[0], pairs["trial"]),
    ]


def accuracy(train: tuple[np.ndarray, list[str]], score: tuple[np.ndarray, list[str]]) -> float:
    middle, spread = train[0].mean(axis=0), train[0].std(axis=0) + 1e-9
    scaled, probe = (train[0] - middle) / spread, (score[0] - middle) / spread
    models = (LogisticRegression(C=c, max_iter=60, tol=1e-2) for c in (0.002, 0.02))
    return max(model.fit(scaled, train[1]).score(probe, score[1]) for model in models)


def features(columns: list[np.ndarray], columns_used: np.ndarray) -> np.ndarray:
    """A text as it is, a pair as |u - v| and u v."""
    u, *rest = (column[:, columns_used].astype(float) for column in columns)
    return np.hstack([np.abs(u - rest[0]), u * rest[0]]) if rest else u


def main(data: Path) -> None:
    warnings.simplefilter("ignore", noppa.NoppaWarning)
    words = noppa.WordVectors.load(data / "vectors/glove.6B.100d.npy")
    words = words.with_counts(data / "frequency/enwiki_vocab_min200.txt")
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0, parts=ALL))
    tasks = []
    for seed in SEEDS:
        for split in splits(data / "senteval/downstream", np.random.default_rng(seed)):
            texts = [
                [encoder.encode(list(column)) for column in list(zip(*rows, strict=True))[1:]]
                for rows in split
            ]
            tasks.append((texts, [[row[0] for row in rows] for rows in split]))

    def mean(parts: tuple[str, ...]) -> float:
        columns_used = np.concatenate(
            [ALL.index(part) * words.dim + np.arange(words.dim) for part in parts]
        )
        runs = [
            accuracy((features(a, columns_used), labels[0]), (features(b, columns_used), labels[1]))
            for (a, b), labels in tasks
        ]
        return 100 * float(np.mean(runs))

    chosen, best = START, mean(START)
    print(f"{best:.2f}  {' '.join(chosen)}", flush=True)
    while len(chosen) < len(ALL):
        scores = {part: mean((*chosen, part)) for part in ALL if part not in chosen}
        part = max(scores, key=scores.__getitem__)
        if scores[part] <= best:
            break
        chosen, best = (*chosen, part), scores[part]
        print(f"{best:.2f}  {' '.join(chosen)}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
