"""Where the time of raw text to vectors goes: samples of `perf`, by the line of source that runs, for each instruction set.

    python bench/stages.py > bench/results/stages.jsonl

Needs Linux's `perf` and binutils' `addr2line`. Compiles the module with debugging information into build/profile. A sample
belongs to the first function or file of STAGES that runs or was inlined around it; what lies outside the module (the
interpreter, the system) goes by its program. `make bench-guard` counts instructions, of the sets that valgrind knows.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from corpora import arguments, sick, word2vec
from measure import tell

import noppa
from noppa import _native as kernels

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "profile"
CASES = ("NoPPA, 300 dimensions", "default", "similarity")

#: Function or file of the native module, and the stage it belongs to; the first that a frame of a sample has counts.
STAGES = (
    ("score", "scores"),
    ("extend", "softmax"),
    ("coefficients", "softmax"),
    ("pair_sums.hpp", "pairs"),
    ("list_pairs", "pairs"),
    ("read_units", "scales of rows"),
    ("sum_some", "sums of words"),
    ("sum_words", "sums of words"),
    ("read_some", "vectors of pairs"),
    ("steps.cpp", "refinement"),
    ("batch.cpp", "batches, prefetching"),
    ("scanner.cpp", "scanning"),
    ("segmentation.cpp", "scanning"),
    ("vocabulary.cpp", "look-up"),
    ("lookup.cpp", "look-up"),
    ("src/native/binding", "Python and the binding"),
    ("nanobind", "Python and the binding"),
    ("noppa.cpp", "parts"),
    ("mean.cpp", "parts"),
)
PROGRAMS = {"kernel": "pages and the system", "python": "Python and the binding"}


def encoder_of(case: str, data: Path, texts: list[str]) -> noppa.Encoder:
    if case in ("default", "similarity"):
        return noppa.load(case)
    return noppa.Encoder(word2vec(data), noppa.NoPPA(a=0.05, k=12)).fit(texts)


def run(case: str, data: Path, seconds: float) -> None:
    """Encode for a while on one thread; prints the time of it, and where the module lies."""
    texts = sick(data)
    encoder = encoder_of(case, data, texts)
    encoder.encode(texts, threads=1)
    start, rounds = time.monotonic(), 0
    while time.monotonic() < start + seconds:
        encoder.encode(texts, threads=1)
        rounds += 1
    maps = [line for line in Path("/proc/self/maps").read_text().splitlines() if "_native" in line]
    print(start, time.monotonic(), rounds, maps[0].split("-")[0])


def profiled_package() -> Path:
    """The package with a module that knows the lines of its source."""
    choice = ["-DCMAKE_BUILD_TYPE=RelWithDebInfo", f"-DPython_EXECUTABLE={sys.executable}"]
    command = ["cmake", "-S", str(ROOT), "-B", str(BUILD), "-G", "Ninja", *choice]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD], check=True, stdout=subprocess.DEVNULL)
    package = BUILD / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "noppa", package / "noppa", ignore=shutil.ignore_patterns("*.so")
    )
    (module,) = BUILD.glob("_native*.so")
    shutil.copy(module, package / "noppa")
    return package


def stage_of(frames: list[str], program: str) -> str:
    """The stage of an address: its frames, `function file:line`, innermost first."""
    for part, stage in STAGES:
        if any(part in frame for frame in frames):
            return stage
    return next((stage for name, stage in PROGRAMS.items() if name in program), "look-up")


def frames_of(module: Path, addresses: list[int]) -> dict[int, list[str]]:
    """The inlined functions of each address."""
    asked = "\n".join(f"{address:#x}" for address in addresses)
    command = ["addr2line", "-e", str(module), "-a", "-i", "-f", "-C", "-p"]
    lines = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout
    frames: dict[int, list[str]] = {}
    for line in lines.splitlines():
        if line.startswith("0x"):
            address, _, frame = line.partition(": ")
            frames[at := int(address, 16)] = [frame]
        else:
            frames[at].append(line)
    return frames


def samples(case: str, name: str, package: Path, options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "perf.data"
        child = [sys.executable, __file__, "--data", str(options.data), "--run", case]
        perf = "perf record -q -k CLOCK_MONOTONIC -e cpu-clock -F 4000 -o".split()
        told = subprocess.run(
            [*perf, str(record), "--", *child, "--seconds", str(options.seconds)],
            env=os.environ | {"PYTHONPATH": str(package), "NOPPA_ISA": name},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        start, stop, rounds, base = float(told[0]), float(told[1]), int(told[2]), int(told[3], 16)
        lines = subprocess.run(
            ["perf", "script", "-i", record, "-F", "time,ip,dso"], capture_output=True, text=True
        ).stdout
    found: Counter[tuple[str, int]] = Counter()
    for line in lines.splitlines():
        moment, address, program = line.replace(":", " ").split(maxsplit=2)
        if start <= float(moment) <= stop:
            native = "_native" in program
            found[program, int(address, 16) - base if native else 0] += 1
    (module,) = (package / "noppa").glob("_native*.so")
    frames = frames_of(module, sorted({at for program, at in found if "_native" in program}))
    stages: Counter[str] = Counter()
    for (program, at), count in found.items():
        stages[stage_of(frames.get(at, []), program)] += count
    total = sum(stages.values())
    texts = rounds * len(sick(options.data))
    shares = {stage: round(count / total, 4) for stage, count in stages.most_common()}
    tell(
        4,
        case=case,
        set=name,
        samples=total,
        microseconds=total / 4000 * 1e6 / texts,
        shares=shares,
    )


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--run", help="only encode so, for a profiler")
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    if options.run:
        run(options.run, options.data, options.seconds)
        return
    package = profiled_package()
    for name in reversed(kernels.instruction_sets()):
        for case in CASES:
            samples(case, name, package, options)


if __name__ == "__main__":
    main()
