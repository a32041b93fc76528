"""How much the published files of SentEval's tasks differ from those that its scripts write, and our tokens from its own.

    python bench/senteval_files.py ../shared/data [-o bench/results/senteval_files.jsonl]

same_fold: share of rows that fall into the same outer fold from either file. other_tokens: share of SentEval's rows whose
tokens, which are separated by spaces there, noppa's tokenizer splits or joins further.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

from noppa import _native as kernels
from noppa.classify.folds import stratified_folds
from noppa.paper import TASKS, read, senteval_files
from noppa.paper import results as records
from noppa.paper.protocols import OUTER_FOLDS, SEED
from noppa.paper.task_files import Row
from noppa.paper.tasks import CLASSIFICATION


def fold_of_each(rows: list[Row], numbers: list[int]) -> np.ndarray:
    """The outer fold of each row of the files, whose numbers are given in the sorted order."""
    labels = np.unique([str(row.label) for row in rows], return_inverse=True)[1]
    folds = np.empty(len(rows), int)
    for fold, (_, test) in enumerate(stratified_folds(labels, OUTER_FOLDS, SEED)):
        folds[np.array(numbers)[test]] = fold
    return folds


def compared(raw: Path, prepared: Path, name: str) -> dict[str, object]:
    task, folds, rows = TASKS[name], [], []
    for folder in (raw, prepared):
        # as they lie in the files, then as `read` sorts them: equal sort keys keep their order
        plain = [
            row
            for file in task.files
            for row in read(folder, type(task)(name, "similarity", "", (file,)))[file.part]
        ]
        order = sorted(
            range(len(plain)),
            key=lambda at: (*(len(text.split()) for text in plain[at].texts), plain[at].label),
        )
        folds.append(fold_of_each([plain[at] for at in order], order))
        rows = plain
    texts = [text for row in rows for text in row.texts]
    other = np.mean([kernels.tokenize(text) != text.split() for text in texts])
    same = float(np.mean(folds[0] == folds[1])) if task.layout == "folds" else None
    return {"task": name, "same_fold": same, "other_tokens": float(other)}


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path)
    arguments = options.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name in CLASSIFICATION:
            senteval_files.prepare(arguments.data / "senteval", folder, TASKS[name])
            line = compared(arguments.data / "senteval", Path(folder), name)
            print(line, flush=True)
            lines.append(json.dumps(line | {"commit": records.commit()}) + "\n")
    if arguments.output:
        arguments.output.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
