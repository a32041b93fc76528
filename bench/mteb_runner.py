"""MTEB's own runner on local data, beside our evaluation: a classification task (TREC) and a similarity task (STS-B).

    HF_HUB_OFFLINE=1 python bench/mteb_runner.py SentEval/data

MTEB's usual way is to train on eight rows a label, ten times; `all rows` gives its classifier the whole training file, as
ours has.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import mteb

import noppa
from noppa.integrations.mteb import NoppaEncoder, classification_task, sts_task
from noppa.paper import TASKS, Fixed, score
from noppa.paper.results import surroundings
from noppa.paper.task_files import hashes_of, read

RESULTS = Path(__file__).parent / "results" / "mteb.jsonl"


def run(preset: str, task: Any) -> float:
    result = mteb.evaluate(NoppaEncoder(preset), task, cache=None, show_progress_bar=False)
    return round(100 * result.task_results[0].get_score(), 2)


def classification(data: Path, name: str, preset: str) -> dict[str, Any]:
    parts = read(data, TASKS[name])
    labels = sorted({row.label for row in parts["train"]}, key=str)
    rows = [
        ([row.texts[0] for row in parts[part]], [labels.index(row.label) for row in parts[part]])
        for part in ("train", "test")
    ]
    return {
        "mteb, 8 rows a label": run(preset, classification_task(name, *rows)),
        "mteb, all rows": run(
            preset, classification_task(name, *rows, samples_per_label=1 << 30, experiments=1)
        ),
    }


def similarity(data: Path, name: str, preset: str) -> dict[str, Any]:
    rows = read(data, TASKS[name])["test"]
    left, right = ([row.texts[side] for row in rows] for side in (0, 1))
    return {"mteb": run(preset, sts_task(name, left, right, [float(row.label) for row in rows]))}


RUNS = (("TREC", "default", classification), ("STS-B", "similarity", similarity))


def main() -> None:
    data = Path(sys.argv[1])
    lines = []
    for name, preset, theirs in RUNS:
        task = TASKS[name]
        own = score(task, read(data, task), Fixed(noppa.load(preset), preset))
        scores = {**theirs(data, name, preset), "noppa bench, fast": round(own.score, 2)}
        record = {
            "task": name,
            "preset": preset,
            "scores": scores,
            "data": hashes_of(data, task),
            "mteb": version("mteb"),
            **surroundings(),
        }
        print(name, scores, flush=True)
        lines.append(json.dumps(record))
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
