"""Score FastSent and Sent2Vec on development rows by the number of training epochs.

    python bench/epochs.py SentEval/data glove.6B.100d.npy neutral.en.txt -o bench/results/epochs.jsonl

An interrupted run resumes. Test rows are not used.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import noppa
from noppa.paper import TASKS, read, records, score
from noppa.paper.protocols import Pretrained

EPOCHS = (1, 2, 5, 10, 20)
DEV = ("STS-B", "SICK-E", "TREC")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("vectors", type=Path)
    options.add_argument("corpus", type=Path)
    options.add_argument("-o", "--output", type=Path, required=True)
    arguments = options.parse_args()
    words = noppa.WordVectors.load(arguments.vectors)
    corpus = arguments.corpus.read_text("utf-8").splitlines()
    old = arguments.output.read_text("utf-8").splitlines() if arguments.output.exists() else []
    done = {(row["method"], row["epochs"]) for row in map(json.loads, old)}
    for epochs in EPOCHS:
        for kind in (noppa.FastSent, noppa.Sent2Vec):
            if (kind.__name__, epochs) in done:
                continue
            model, start = (
                Pretrained(words, kind(epochs=epochs), corpus, {}, ""),
                time.process_time(),
            )
            row = {"method": kind.__name__, "epochs": epochs, "sentences": len(corpus.texts)}
            row |= {"default": kind().epochs, "dim": model.encoder.dim}
            row["cpu_seconds"] = round(time.process_time() - start, 1)
            for task in DEV:
                row[task] = round(
                    score(TASKS[task], read(arguments.data, TASKS[task]), model).dev or 0, 2
                )
            print(row, flush=True)
            records.append(arguments.output, row | records.surroundings())


if __name__ == "__main__":
    main()
