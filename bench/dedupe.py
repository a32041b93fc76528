"""Measure time and memory of `noppa.deduplicate`, `noppa dedupe` and semhash, and what approximate comparison misses.

    python bench/dedupe.py --rows 1800000 --peer-python semhash/bin/python     # appends to bench/results/dedupe.jsonl
    python bench/dedupe.py --recall

The texts are lines of English and edited copies of them: a sixth equal, a third without a word, a third with two words swapped, a
sixth in capitals. Each program runs in its own process; semhash gets vectors that noppa computed.
"""

from __future__ import annotations

import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from runner import RESULTS, Row, arguments, english, memory, record

import noppa

FILE = RESULTS / "dedupe.jsonl"
THRESHOLDS = (0.8, 0.85, 0.9, 0.95)
RECALL_ROWS = 100_000
NOPPA = "from noppa.cli import main; main()"
LIBRARY = """
import json, sys, noppa
texts = open(sys.argv[1], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
print(json.dumps({"kept": len(noppa.deduplicate(texts).kept)}))
"""
SEMHASH = """
import json, sys
import numpy as np
from semhash import SemHash
texts = open(sys.argv[1], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
class Known:
    def encode(self, inputs, **options):
        raise NotImplementedError
hashed = SemHash.from_embeddings(np.load(sys.argv[2]), texts, Known())
print(json.dumps({"kept": len(hashed.self_deduplicate(threshold=0.9).selected)}))
"""


def made_lines(data: Path, rows: int) -> list[str]:
    """Return lines and edited copies of them, shuffled."""
    lines, rng = english(data), np.random.default_rng(0)
    if rows <= len(lines):
        lines = [lines[at] for at in rng.permutation(len(lines))[: rows // 2].tolist()]
    count = rows - len(lines)
    sources = rng.integers(len(lines), size=count).tolist()
    kinds, places = rng.integers(6, size=count).tolist(), rng.random(count).tolist()
    edits = zip(sources, kinds, places, strict=True)
    every = lines + [edited(lines[at], kind, place) for at, kind, place in edits]
    return [every[at] for at in rng.permutation(len(every)).tolist()]


def edited(line: str, kind: int, place: float) -> str:
    words = line.split(" ")
    at = int(place * len(words))
    if kind in (1, 2) and len(words) > 1:
        return " ".join(words[:at] + words[at + 1 :])
    if kind in (3, 4) and at + 1 < len(words):
        words[at : at + 2] = words[at + 1], words[at]
        return " ".join(words)
    return line.upper() if kind == 5 else line


def measure_recall(lines: list[str]) -> None:
    """Record which of the rows that comparing all pairs removes are also removed by comparing inside cells."""
    from noppa.dedupe.deduplicate import NearDuplicates

    vectors = noppa.load("similarity").encode(list(dict.fromkeys(lines)), normalize=True)
    cells = NearDuplicates(vectors, exact=0)
    for threshold in THRESHOLDS:
        all_pairs = NearDuplicates(vectors, exact=len(vectors)).leaders(threshold)[0] >= 0
        in_cells = cells.leaders(threshold)[0] >= 0
        row = {"figure": "recall", "rows": len(vectors), "threshold": threshold}
        row |= {"removed_by_all": int(all_pairs.sum())}
        record(FILE, row | {"removed_by_both": int((all_pairs & in_cells).sum())})


def run(name: str, command: list[str]) -> Row:
    """Run a program, and return its CPU time, clock time and peak memory without mapped files."""
    start, before = time.perf_counter(), children_cpu()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, memory("RssAnon", process.pid))
        time.sleep(0.2)
    output, errors = process.communicate()
    if process.returncode:
        raise SystemExit(f"{name} failed:\n{errors}")
    row: Row = {"figure": "run", "program": name, "load_before": os.getloadavg()[0]}
    row |= {"seconds": time.perf_counter() - start, "cpu_seconds": children_cpu() - before}
    row["own_megabytes"] = peak
    return row | (json.loads(output) if output.startswith("{") else {})


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=int, default=1_800_000)
    parser.add_argument("--peer-python", help="a Python with semhash")
    parser.add_argument("--recall", action="store_true")
    options = parser.parse_args()
    if options.recall:
        return measure_recall(made_lines(options.data, RECALL_ROWS))
    lines = made_lines(options.data, options.rows)
    with tempfile.TemporaryDirectory() as folder:
        text, table, vectors, output = (
            str(Path(folder, name)) for name in ("a.txt", "a.csv", "a.npy", "b.csv")
        )
        Path(text).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        with open(table, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "body"), *enumerate(lines)])
        programs = {
            "noppa.deduplicate": [sys.executable, "-c", LIBRARY, text],
            "noppa dedupe": [
                sys.executable,
                "-c",
                NOPPA,
                "dedupe",
                table,
                "-c",
                "body",
                "-o",
                output,
            ],
        }
        if options.peer_python:
            np.save(vectors, noppa.load("similarity").encode(lines, normalize=True))
            programs["semhash"] = [options.peer_python, "-c", SEMHASH, text, vectors]
        for name, command in programs.items():
            record(FILE, {**run(name, command), "rows": len(lines)})


if __name__ == "__main__":
    main()
