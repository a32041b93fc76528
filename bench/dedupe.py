"""Deduplication of many texts: time and memory of `noppa.deduplicate`, `noppa dedupe` and semhash, and what cells miss.

    python bench/dedupe.py --rows 1800000 --peer-python semhash/bin/python

The texts are made: every line of the shared English text, and copies of lines drawn at random, of which a sixth are the very
same, a third lack a word, a third have two neighbours swapped and a sixth are in capitals; all shuffled, from one seed.
Processor seconds are compared, since the clock says little on a machine with other work. Each program runs in a process of its own, on the same texts and, semhash, on vectors that noppa made before. A program that
takes longer than --minutes is stopped, and said to be. Appends to bench/results/dedupe.jsonl; docs/dedupe.md shows them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from corpora import ROOT, arguments
from numpy.typing import NDArray

RESULTS = ROOT / "bench" / "results" / "dedupe.jsonl"
THRESHOLDS = (0.8, 0.85, 0.9, 0.95)
RECALL_ROWS = 100_000

LIBRARY = """
import json, resource, sys, time
import noppa
from noppa.dedupe.deduplicate import compare
from noppa.encoder.models import resolve_model
texts = open(sys.argv[1], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
start, start_cpu = time.perf_counter(), time.process_time()
compared = compare(texts, [], resolve_model())
encoded_cpu = time.process_time() - start_cpu
found = compared.at(0.9)
end, end_cpu = time.perf_counter(), time.process_time()
if len(texts) <= 200_000:
    compared.at(0.95)
print(json.dumps({
    "seconds": end - start, "cpu_seconds": end_cpu - start_cpu, "encode_cpu_seconds": encoded_cpu,
    "again_cpu_seconds": time.process_time() - end_cpu, "kept": len(found.kept),
}))
"""

SEMHASH = """
import json, sys, time
import numpy as np
from semhash import SemHash
from semhash.version import __version__
texts = open(sys.argv[1], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
vectors = np.load(sys.argv[2])
class Known:
    def encode(self, inputs, **options):
        raise NotImplementedError
start, start_cpu = time.perf_counter(), time.process_time()
hashed = SemHash.from_embeddings(vectors, texts, Known())
found = hashed.self_deduplicate(threshold=0.9)
print(json.dumps({
    "seconds": time.perf_counter() - start, "cpu_seconds": time.process_time() - start_cpu, "kept": len(found.selected),
    "version": str(__version__),
}))
"""


def made_lines(data: Path, rows: int, others: bool = False) -> list[str]:
    """Lines of the shared text and edited copies of them, shuffled.

    others: where not all lines are needed, none of those that are taken without it, on which the number of cells was chosen.
    """
    lines: list[str] = []
    for name in ("neutral.en.txt", "captions.en.txt"):
        lines += (data / "text" / name).read_text(encoding="utf-8").split("\n")[:-1]
    rng = np.random.default_rng(0)
    if rows <= len(lines):
        first = rows // 2 if others else 0
        chosen = rng.permutation(len(lines))[first : first + rows // 2]
        lines = [lines[at] for at in chosen.tolist()]
    sources = rng.integers(len(lines), size=rows - len(lines)).tolist()
    kinds = rng.integers(6, size=len(sources)).tolist()
    places = rng.random(len(sources)).tolist()
    copies = [
        edited(lines[at], kind, place)
        for at, kind, place in zip(sources, kinds, places, strict=True)
    ]
    every = lines + copies
    return [every[at] for at in rng.permutation(len(every)).tolist()]


def edited(line: str, kind: int, place: float) -> str:
    """A copy: the same, without a word, with two neighbours swapped, or in capitals."""
    words = line.split(" ")
    at = int(place * len(words))
    if kind in (1, 2) and len(words) > 1:
        return " ".join(words[:at] + words[at + 1 :])
    if kind in (3, 4) and at + 1 < len(words):
        words[at : at + 2] = words[at + 1], words[at]
        return " ".join(words)
    return line.upper() if kind == 5 else line


def recall(vectors: NDArray[np.float32]) -> list[dict[str, Any]]:
    """Of all pairs at some thresholds, how many are compared; and of the rows that comparing all removes, how many are."""
    from noppa import _native as kernels
    from noppa.dedupe.near_duplicates import HOMES, PROBES, NearDuplicates
    from noppa.threads import thread_count

    cells = NearDuplicates(vectors, exact=0)
    nearest = kernels.nearest_cells(vectors, cells.centroids, PROBES, thread_count())
    later, earlier, cosines = pairs(vectors, min(THRESHOLDS))
    homes = nearest[earlier, :HOMES]
    compared = (nearest[later, :, None] == homes[:, None]).any(axis=(1, 2))
    rows = []
    for threshold in THRESHOLDS:
        at = cosines >= threshold
        exact = NearDuplicates(vectors, exact=len(vectors)).leaders(threshold)[0] >= 0
        removed = cells.leaders(threshold)[0] >= 0
        rows.append(
            {
                "figure": "recall",
                "rows": len(vectors),
                "cells": cells.cells,
                "probes": PROBES,
                "homes": HOMES,
                "threshold": threshold,
                "pairs": int(at.sum()),
                "pairs_compared": int(compared[at].sum()),
                "removed_by_all": int(exact.sum()),
                "removed_by_both": int((exact & removed).sum()),
                "removed_by_cells_alone": int((removed & ~exact).sum()),
            }
        )
    return rows


def pairs(vectors: NDArray[np.float32], threshold: float) -> tuple[Any, Any, Any]:
    """All pairs from a threshold on: later rows, earlier rows, cosines."""
    found = []
    for start in range(0, len(vectors), 2000):
        cosines = vectors[start : start + 2000] @ vectors[: start + 2000].T
        later, earlier = np.nonzero(cosines >= threshold)
        below = earlier < later + start
        later, earlier = later[below], earlier[below]
        found.append((later + start, earlier, cosines[later, earlier]))
    columns = zip(*found, strict=True)
    return tuple(np.concatenate(column) for column in columns)  # type: ignore[return-value]


def measured(name: str, command: list[str], minutes: float) -> dict[str, Any]:
    """What a program says, with its time by the clock, its CPU time and the most memory it held."""
    start, before = time.perf_counter(), children_cpu()
    record: dict[str, Any] = {"figure": "run", "program": name, "load_before": os.getloadavg()[0]}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    most = {"RssAnon": 0.0, "VmHWM": 0.0}
    while process.poll() is None:
        for field, value in memory(process.pid).items():
            most[field] = max(most[field], value)
        if time.perf_counter() - start > 60 * minutes:
            process.kill()
            record["stopped_after_minutes"] = minutes
        time.sleep(0.2)
    output, errors = process.communicate()
    if process.returncode and "stopped_after_minutes" not in record:
        raise SystemExit(f"{name} failed:\n{errors}")
    told = json.loads(output.splitlines()[-1]) if output.strip().startswith("{") else {}
    record |= {"seconds": time.perf_counter() - start, "cpu_seconds": children_cpu() - before}
    record["note"] = errors.strip()[-200:]
    own, peak = most["RssAnon"], most["VmHWM"]
    return {**record, **told, "own_megabytes": own, "peak_megabytes": peak}


def children_cpu() -> float:
    """Processor seconds of all children so far that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def memory(process: int) -> dict[str, float]:
    """Megabytes of a process: its own, and the most so far with mapped files, which the system can take back."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return {}
    fields = (line.split() for line in status.splitlines())
    return {
        one[0].rstrip(":"): int(one[1]) / 1024
        for one in fields
        if one and one[0] in ("RssAnon:", "VmHWM:")
    }


def write(records: list[dict[str, Any]], shared: dict[str, Any]) -> None:
    with RESULTS.open("a", encoding="utf-8") as file:
        for record in records:
            plain = {
                name: round(value, 4) if isinstance(value, float) else value
                for name, value in {**record, **shared}.items()
            }
            print(json.dumps(plain), flush=True)
            file.write(json.dumps(plain) + "\n")


def main() -> None:
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--rows", type=int, default=1_800_000)
    parser.add_argument("--peer-python", help="a Python that has semhash; without it, noppa alone")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--program", action="append", help="only these; repeat")
    parser.add_argument("--recall", action="store_true", help="only what cells miss")
    options = parser.parse_args()
    import noppa

    shared = {"date": time.strftime("%Y-%m-%d"), "cores": len(os.sched_getaffinity(0))}
    lines = made_lines(
        options.data, RECALL_ROWS if options.recall else options.rows, options.recall
    )
    encoder = noppa.load("similarity")
    if options.recall:
        shared["others"] = True
        write(recall(encoder.encode(list(dict.fromkeys(lines)), normalize=True)), shared)
        return
    shared |= {"rows": len(lines), "texts": len(set(lines))}
    with tempfile.TemporaryDirectory() as folder:
        text, table, output = (str(Path(folder, name)) for name in ("a.txt", "a.csv", "b.csv"))
        Path(text).write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
        with open(table, "w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("id", "body"), *enumerate(lines)])
        command = "from noppa.cli import main; main()"
        arguments_ = ["dedupe", table, "--column", "body", "-o", output]
        runs = {
            "noppa.deduplicate": [sys.executable, "-c", LIBRARY, text],
            "noppa dedupe": [sys.executable, "-c", command, *arguments_],
        }
        if options.program:
            runs = {name: runs[name] for name in options.program if name in runs}
        if options.peer_python:
            vectors = str(Path(folder, "vectors.npy"))
            np.save(vectors, encoder.encode(lines, normalize=True))
            runs["semhash"] = [options.peer_python, "-c", SEMHASH, text, vectors]
        del lines
        for name, run in runs.items():
            write([measured(name, run, options.minutes)], shared)


if __name__ == "__main__":
    main()
