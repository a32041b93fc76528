"""scikit-learn's grid search on SUBJ: NoppaTransformer over `a`, beside TfidfVectorizer; accuracy and time.

    python bench/sklearn_subj.py SentEval/data

Five outer folds; in each, three inner ones choose among eight settings of either pipeline, on training rows alone. Then
the same with fewer training rows. Times are seconds of CPU: of fitting the chosen pipeline once, and of marking a
thousand texts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline

from noppa.integrations.sklearn import NoppaTransformer
from noppa.paper import TASKS
from noppa.paper.results import surroundings
from noppa.paper.task_files import hashes_of, read

RESULTS = Path(__file__).parent / "results" / "sklearn.jsonl"
SEED = 1111
ROWS = (100, 1000, None)

#: Each pipeline's first step, and its eight settings.
PIPELINES: dict[str, tuple[Any, dict[str, list[Any]]]] = {
    "NoppaTransformer": (
        NoppaTransformer(threads=1),
        {"vectors__a": [0.0001, 0.001, 0.01, 0.05], "classifier__C": [0.1, 1.0]},
    ),
    "TfidfVectorizer": (
        TfidfVectorizer(),
        {
            "vectors__ngram_range": [(1, 1), (1, 2)],
            "vectors__sublinear_tf": [False, True],
            "classifier__C": [1.0, 10.0],
        },
    ),
}


def timed(call: Any, *arguments: Any) -> tuple[Any, float]:
    begun = time.process_time()
    return call(*arguments), time.process_time() - begun


def main() -> None:
    data, task = Path(sys.argv[1]), TASKS["SUBJ"]
    rows = read(data, task)["all"]
    texts = np.array([row.texts[0] for row in rows], object)
    labels = np.array([row.label for row in rows])
    outer = list(StratifiedKFold(5, shuffle=True, random_state=SEED).split(texts, labels))
    records = []
    for size in ROWS:
        for name, (step, grid) in PIPELINES.items():
            by_fold: dict[str, list[Any]] = {"folds": [], "fit": [], "mark": [], "chosen": []}
            for train, test in outer:
                some = np.random.default_rng(SEED).permutation(train)[:size]
                classifier = LogisticRegression(max_iter=2000)
                pipeline = Pipeline([("vectors", step), ("classifier", classifier)])
                inner = StratifiedKFold(3, shuffle=True, random_state=SEED)
                search = GridSearchCV(pipeline, grid, cv=inner, refit=False, error_score="raise")
                search.fit(texts[some], labels[some])
                best = pipeline.set_params(**search.best_params_)
                best, fitting = timed(best.fit, texts[some], labels[some])
                accuracy, marking = timed(best.score, texts[test], labels[test])
                by_fold["folds"].append(round(100 * accuracy, 2))
                by_fold["fit"].append(round(fitting, 3))
                by_fold["mark"].append(round(1000 * marking / len(test), 4))
                by_fold["chosen"].append(search.best_params_)
            record = {
                "task": "SUBJ",
                "pipeline": name,
                "training_rows": len(some),
                "accuracy": round(float(np.mean(by_fold["folds"])), 2),
                "fit_seconds": round(float(np.mean(by_fold["fit"])), 3),
                "seconds_per_1000": round(float(np.mean(by_fold["mark"])), 4),
                **by_fold,
                "grid": grid,
                "seed": SEED,
                "data": hashes_of(data, task),
                "sklearn": sklearn.__version__,
                **surroundings(),
            }
            records.append(json.dumps(record))
            print(name, record["training_rows"], record["accuracy"], flush=True)
    RESULTS.write_text("\n".join(records) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
