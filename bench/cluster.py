"""Measure `noppa encode` on one process, Dask and Spark, and check that all outputs have the same bytes.

    pip install 'noppa[dask,spark]' && python bench/cluster.py --sentences 5000000

The sentences are lines of English with one word replaced. Appends to bench/results/cluster.jsonl.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import psutil
from runner import RESULTS, arguments, english, record

NOPPA = [sys.executable, "-c", "from noppa.cli import main; main()"]


def write_corpus(folder: Path, data: Path, total: int, files: int) -> None:
    """Write sentences into files of equal size."""
    lines, random = english(data), np.random.default_rng(0)
    words = sorted({word for line in lines[:20_000] for word in line.split()})
    source = cycle(lines)
    for number in range(files):
        with (folder / f"{number:03}.txt").open("w", encoding="utf-8") as file:
            for line in islice(source, total // files):
                tokens = line.split(" ")
                tokens[random.integers(len(tokens))] = words[random.integers(len(words))]
                file.write(" ".join(tokens) + "\n")


def run(command: list[str], folder: Path) -> tuple[float, float]:
    """Run a command, and return its seconds by the clock and of CPU, children included."""
    start = time.perf_counter()
    process = psutil.Popen([*NOPPA, *command], cwd=folder)
    seen: dict[int, float] = {}
    while process.poll() is None:
        for child in [process, *process.children(recursive=True)]:
            try:
                seen[child.pid] = sum(child.cpu_times()[:2])
            except psutil.Error:
                continue
        time.sleep(0.2)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return time.perf_counter() - start, sum(seen.values())


def digest(paths: list[Path]) -> str:
    """Return the checksum of the vectors of some files."""
    checksum = hashlib.sha256()
    for path in sorted(paths):
        checksum.update(np.load(path, mmap_mode="r"))
    return checksum.hexdigest()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--sentences", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=88)
    parser.add_argument("--model", default="similarity")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").mkdir()
        write_corpus(folder / "in", options.data, options.sentences, options.files)
        inputs = [str(path) for path in sorted((folder / "in").iterdir())]
        encode = ["encode", "-m", options.model]
        seconds, cpu = run([*encode, *inputs, "-o", "whole.npy"], folder)
        expected = digest([folder / "whole.npy"])
        rows = [("single", 1, seconds, cpu, True)]
        for engine in ("dask", "spark"):
            command = [*encode, "in", "--engine", engine, "--to", "npy", "-o", engine]
            seconds, cpu = run(command, folder)
            same = digest([*(folder / engine).glob("part-*.npy")]) == expected
            rows.append((engine, psutil.cpu_count(), seconds, cpu, same))
        for engine, workers, seconds, cpu, same in rows:
            row = {"engine": engine, "workers": workers, "seconds": seconds, "cpu_seconds": cpu}
            row |= {"rows": options.sentences, "model": options.model, "byte_identical": same}
            record(RESULTS / "cluster.jsonl", row)


if __name__ == "__main__":
    main()
