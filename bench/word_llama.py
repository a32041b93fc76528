"""WordLlama, as it comes in its package, on SentEval's tasks.

    python bench/word_llama.py ../shared/data/senteval -o bench/results/peers.jsonl

Needs the package wordllama, whose weights of 256 dimensions are inside it; nothing is downloaded.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import wordllama

import noppa
from noppa.encoder.models import External
from noppa.paper import Fixed, records
from noppa.paper.records import Conditions, score_all
from noppa.paper.tasks import tasks_in
from noppa.processes import processes


def encoder() -> External:
    inside = Path(wordllama.__file__).parent  # a cache folder that already has the weights
    model = wordllama.WordLlama.load(cache_dir=inside, disable_download=True)
    return noppa.external(model.embed)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    options.add_argument("data", type=Path)
    options.add_argument("-o", "--output", type=Path, required=True)
    arguments = options.parse_args()
    about = {"vectors": None, "counts": None} | records.surroundings()
    candidate = Fixed(encoder(), "WordLlama 256")
    with processes(1) as run:
        for row in score_all(
            tasks_in(arguments.data), [candidate], Conditions(arguments.data), run
        ):
            records.append(arguments.output, row | about)
            print(f"{row['task']} {row['score']:.2f}", flush=True)


if __name__ == "__main__":
    main()
