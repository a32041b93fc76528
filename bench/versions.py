"""What this noppa costs against another version of it: instructions, which are the same on a busy machine and a quiet one.

    python bench/versions.py --before OTHER_ENVIRONMENT/bin/python --save bench/results/versions.jsonl

Needs valgrind. Encoding is what a program takes with the texts less what it takes without them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import islice
from pathlib import Path

from corpora import arguments

TEXTS = 2000

#: Runs in either version: it uses only what both have. Two calls warm up what is built once.
PROGRAM = """
import sys, warnings
import noppa
warnings.simplefilter("ignore")
model, texts, vectors = sys.argv[1:]
texts = open(texts, encoding="utf-8").read().splitlines()
if model in ("default", "similarity"):
    encoder = noppa.load(model)
elif model != "import":
    words = noppa.WordVectors.load(vectors).with_ranks()
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0) if model == "noppa" else noppa.Average())
if model != "import":
    for some in (["a girl"], ["a cake"], texts):
        encoder.encode(some, threads=1)
"""
WHAT = {
    "import": "`import noppa`",
    "default": "`noppa.load()`: encode",
    "similarity": '`noppa.load("similarity")`: encode',
    "noppa": "NoPPA on word2vec, 300 dimensions: encode",
    "average": "Average on word2vec, 300 dimensions: encode",
}


def instructions(python: str, *program_arguments: str) -> int:
    """Of one run, the same each time: one thread, no random hashes."""
    tool = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [*tool, python, "-c", PROGRAM, *program_arguments]
    # Compiles modules.
    subprocess.run([python, "-c", PROGRAM, *program_arguments], env=environment, check=True)
    report = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return int(re.findall(r"I\s+refs:\s+([\d,]+)", report.stderr)[0].replace(",", ""))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--before", required=True, help="the Python of the other version")
    parser.add_argument("--save", type=Path, help="a file for the figures, as JSON lines")
    options = parser.parse_args()
    vectors = str(options.data / "vectors" / "word2vec-googlenews-300d-26k.bin")
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        none, some = Path(folder, "none.txt"), Path(folder, "some.txt")
        none.touch()
        with (options.data / "text" / "neutral.en.txt").open(encoding="utf-8") as texts:
            some.write_text("".join(islice(texts, TEXTS)), encoding="utf-8")
        for model, what in WHAT.items():
            counts = []
            for python in (options.before, sys.executable):
                count = instructions(python, model, str(none), vectors)
                if model != "import":
                    count = instructions(python, model, str(some), vectors) - count
                counts.append(count)
            before, after = counts
            lines.append({"what": what, "before": before, "after": after, "ratio": after / before})
            print(f"{what:48}{before:14,}{after:14,}{after / before:8.3f}")
    if options.save:
        options.save.write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
