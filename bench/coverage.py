"""Measure which share of the tokens of SentEval's tasks each file of vectors knows.

python bench/coverage.py SentEval/data ../shared/data/vectors/glove.6B.100d.npy … -o bench/results/coverage.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import noppa
from noppa.paper import records
from noppa.paper import tasks as task_files


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("vectors", type=Path, nargs="+")
    options.add_argument("-o", "--output", type=Path, required=True)
    arguments = options.parse_args()
    lines = []
    for path in arguments.vectors:
        words = noppa.WordVectors.load(path)
        for task in task_files.tasks_in(arguments.data):
            parts = task_files.read(arguments.data, task).values()
            found = words.coverage([text for part in parts for row in part for text in row.texts])
            line = {"vectors": path.name, "task": task.name, "words": len(words), "dim": words.dim}
            line |= {"token_share": round(found.token_share, 4), "empty": len(found.empty)}
            print(line, flush=True)
            lines.append(json.dumps(line | {"commit": records.commit()}) + "\n")
    arguments.output.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
