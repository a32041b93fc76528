"""What 4 bits cost: the embedded model's presets before rounding, on every task, as JSON lines.

python bench/rounding.py --shared DATA --teachers MODELS --kept ANSWERS -o bench/results/rounding.jsonl

DATA, MODELS and ANSWERS as of tools/build_default_model/build.py, whose steps it runs; SentEval's tasks lie in DATA/senteval.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "build_default_model"))

import build
import noppa
from noppa.cli import scoring
from noppa.evaluate import TASKS, Fixed, bench
from noppa.evaluate.tasks import CLASSIFICATION

EVALUATED = (*CLASSIFICATION, "STS-B", "SICK-R")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--teachers", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--jobs", type=int)
    parser.add_argument(
        "--tasks", default=",".join(EVALUATED), help="names with commas, in the order to run"
    )
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    distilled = build.distilled_from(options)
    fitted = distilled[0].word_vectors()
    start, stop = (column - build.FITTED[0] for column in build.SMALL)
    presets = {
        "default": noppa.Encoder(build.joined(distilled, options.shared), build.METHOD),
        "similarity": noppa.Encoder(fitted, noppa.Average()),
        "small": noppa.Encoder(fitted.columns(start, stop), noppa.Average()),
    }
    tasks = [TASKS[name] for name in options.tasks.split(",")]
    candidates = [Fixed(encoder, f"{name}, float32") for name, encoder in presets.items()]
    conditions = bench.Conditions(options.shared / "senteval")
    rows = bench.results(tasks, candidates, conditions)
    scoring.write(rows, len(tasks) * len(candidates), options.output, scoring.sources(None, None))


if __name__ == "__main__":
    main()
