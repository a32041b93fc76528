"""Speed of this noppa against another version of it, as ratios in one run.

    python bench/versions.py --before OTHER_ENVIRONMENT/bin/python --data ../shared/data --save bench/results/versions.jsonl

Each version runs in processes of its own, which take turns, so that both meet the same machine. CPU time where one thread
works, which other work on the machine changes least; the fastest of all turns counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

from corpora import arguments

TURNS = 15

#: Runs in either version and prints seconds by name. It uses only what both have.
PROGRAM = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
begun = time.process_time()
import noppa
imported = time.process_time() - begun
noppa.load().encode("a first sentence")
cold = time.process_time() - begun
texts = open(sys.argv[1], encoding="utf-8").read().splitlines()

def best(run, times=3):
    seconds = []
    for _ in range(times):
        start = time.process_time()
        run()
        seconds.append(time.process_time() - start)
    return min(seconds)

def singles(model):
    for text in texts[:2000]:
        model.encode(text)

words = noppa.WordVectors.load(sys.argv[2])
paper = noppa.Encoder(words.with_ranks(), noppa.NoPPA(a=0.05, k=12)).fit(texts)
average = noppa.Encoder(words, noppa.Average())
embedded, similar = noppa.load(), noppa.load("similarity")
print(json.dumps({
    "import": imported,
    "import, load, first vector": cold,
    "NoPPA, 300 dimensions": best(lambda: paper.encode(texts, threads=1)),
    "Average, 300 dimensions": best(lambda: average.encode(texts, threads=1)),
    "noppa.load()": best(lambda: embedded.encode(texts, threads=1)),
    'noppa.load("similarity")': best(lambda: similar.encode(texts, threads=1)),
    "noppa.load(), one text a call": best(lambda: singles(embedded)),
    "load word2vec's binary file": best(lambda: noppa.WordVectors.load(sys.argv[2])),
}))
"""


def seconds_of(python: str, texts: Path, vectors: Path) -> dict[str, float]:
    """What each thing takes in one process of that interpreter."""
    command = [python, "-c", PROGRAM, str(texts), str(vectors)]
    figures: dict[str, float] = json.loads(subprocess.check_output(command))
    return figures


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--before", required=True, help="the Python of the other version")
    parser.add_argument("--save", type=Path, help="a file for the ratios, as JSON lines")
    options = parser.parse_args()
    texts = options.data / "text" / "neutral.en.txt"
    sample = Path("build") / "versions.txt"
    sample.parent.mkdir(exist_ok=True)
    with texts.open(encoding="utf-8") as lines:
        sample.write_text("".join(islice(lines, 20_000)), encoding="utf-8")
    vectors = options.data / "vectors" / "word2vec-googlenews-300d-26k.bin"
    pythons = {"before": options.before, "after": sys.executable}
    turns: dict[str, list[dict[str, float]]] = {name: [] for name in pythons}
    for _ in range(TURNS):
        for name, python in pythons.items():
            turns[name].append(seconds_of(python, sample, vectors))
    lines = []
    for what in turns["before"][0]:
        before, after = (min(turn[what] for turn in turns[name]) for name in pythons)
        lines.append({"what": what, "before": before, "after": after, "ratio": after / before})
        print(f"{what:34}{before:9.4f} s {after:9.4f} s {after / before:7.3f}")
    if options.save:
        options.save.write_text(
            "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
