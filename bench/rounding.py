"""What 8 bits cost: the embedded model's presets before rounding, on every task, as JSON lines.

python bench/rounding.py --shared DATA --kept ANSWERS -o bench/results/rounding.jsonl

DATA and ANSWERS as of tools/build_default_model/build.py, whose steps it runs; SentEval's tasks lie in DATA/senteval.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tools" / "build_default_model"))

import numpy as np

import build
import noppa
from noppa.cli import scoring
from noppa.distill.teacher import Teacher
from noppa.evaluate import TASKS, Fixed, bench
from noppa.evaluate.tasks import CLASSIFICATION


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    texts = build.neutral(options.shared)
    teacher = Teacher(build.teacher_of_package(), options.kept)
    distilled = build.distilled_from(teacher, texts)
    both = np.hstack(build.halves(distilled, build.glove(options.shared)))
    whole = noppa.WordVectors(
        distilled.words,
        both,
        distilled.probabilities,
        unknown="pieces",
        pieces=distilled.pieces,
    )
    presets = build.presets_of(whole, distilled.word_vectors(), texts)
    tasks = [TASKS[name] for name in (*CLASSIFICATION, "STS-B", "SICK-R")]
    candidates = [Fixed(encoder, f"{name}, float32") for name, encoder in presets.items()]
    conditions = bench.Conditions(options.shared / "senteval")
    rows = bench.results(tasks, candidates, conditions)
    scoring.write(rows, len(tasks) * len(candidates), options.output, scoring.sources(None, None))


if __name__ == "__main__":
    main()
