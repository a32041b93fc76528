"""Compare the instruction counts of fixed inputs with the committed counts: a guard of speed that does not depend on load.

    make bench-guard              # fails if a count changed by more than 5 % in either direction
    make bench-guard RECORD=1     # update bench/results/instructions.jsonl after an intended change

callgrind counts one thread, Python included. Counts depend on the versions of the compiler, Python and NumPy, which are recorded with
them. callgrind does not support AVX-512, so the instruction sets are base and v3.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).resolve().parent / "results" / "instructions.jsonl"
MOST_CHANGE = 0.05
SETS = ("base", "v3")
#: A library that starts and ends counting.
SWITCH = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_ZERO_STATS; }
void end(const char* name) { CALLGRIND_DUMP_STATS_AT(name); }
void start(void) { CALLGRIND_START_INSTRUMENTATION; }
"""
NEEDS = "bench-guard counts with valgrind: install it, on Debian and Ubuntu with apt-get install valgrind"
COMPILER_NEEDED = "bench-guard compiles a switch for valgrind with cc: install gcc or clang"

START = "import noppa; noppa.load('similarity').encode('a girl is eating')"

Case = Callable[[], object]


def cases() -> Iterator[tuple[str, Case]]:
    """Yield names and calls; the first call of each is not counted."""
    import numpy as np

    import noppa

    random = np.random.default_rng(7)
    similarity, default = noppa.load("similarity"), noppa.load()
    known = similarity.words.lexicon.plain_words[:3000]
    lengths = random.integers(3, 20, 60)
    texts = [" ".join(random.choice(known, length)) + "." for length in lengths]
    words = noppa.WordVectors(
        known, random.standard_normal((len(known), 300), np.float32) / 4, np.full(len(known), 1e-4)
    )
    paper = noppa.Encoder(words, noppa.NoPPA(k=0))
    average = noppa.Encoder(words, noppa.Average())
    long_text = " ".join(random.choice(known, 200))
    yield "look up 60 sentences", lambda: default.look_up(texts, 1)
    yield "`noppa.load()`, 60 sentences", lambda: default.encode(texts, threads=1)
    yield (
        '`noppa.load("similarity")`, 60 sentences',
        lambda: similarity.encode(texts, threads=1),
    )
    yield "NoPPA, 300 dimensions, 60 sentences", lambda: paper.encode(texts, threads=1)
    yield "Average, 300 dimensions, 60 sentences", lambda: average.encode(texts, threads=1)
    yield "NoPPA, 300 dimensions, a text of 200 words", lambda: paper.encode(long_text, threads=1)
    yield (
        "Average, 300 dimensions, a text of 200 words",
        lambda: average.encode(long_text, threads=1),
    )
    yield "`noppa.load()`, 10 calls of one text", lambda: each(default, texts[:10])
    yield '`noppa.load("similarity")`, 10 calls of one text', lambda: each(similarity, texts[:10])


def each(encoder: Any, texts: list[str]) -> None:
    for text in texts:
        encoder.encode(text)


def count(switch: str) -> None:
    """Run every case inside callgrind: once to warm up, once counted."""
    from noppa import _native as kernels

    library = ctypes.CDLL(switch)
    prepared = list(cases())
    library.start()  # everything is fifty times slower from here on
    for name, run in prepared:
        for chosen in SETS:
            if kernels.use_instruction_set(chosen):
                run()
                library.begin()
                run()
                library.end(f"{chosen} {name}".encode())


def counted(folder: Path, *arguments: str) -> Iterator[tuple[str, int]]:
    """Run Python with `arguments` under callgrind, and yield the counts by case ("" for a whole process)."""
    for file in folder.glob("counts*"):
        file.unlink()
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPYCACHEPREFIX": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # compiling would be counted
    at_start = "yes" if arguments[0] == "-c" else "no"
    if at_start == "yes":  # compiles the imported modules
        subprocess.run([sys.executable, *arguments], check=True, env=environment)
    options = [f"--instr-atstart={at_start}", f"--callgrind-out-file={folder}/counts"]
    command = ["valgrind", "--quiet", "--tool=callgrind", *options, sys.executable, *arguments]
    subprocess.run(command, check=True, env=environment)
    for file in sorted(folder.glob("counts*"), key=lambda file: (len(file.name), file.name)):
        text = file.read_text(encoding="utf-8")
        name = re.search(r"^desc: Trigger: Client Request: (.*)$", text, re.MULTILINE)
        total = re.search(r"^(?:totals|summary): (\d+)$", text, re.MULTILINE)
        if total and (name or at_start == "yes"):
            yield name[1] if name else "", int(total[1])


def versions() -> dict[str, str]:
    import numpy as np

    compiler = subprocess.run(["c++", "-dumpfullversion"], capture_output=True, text=True)
    return {
        "compiler": compiler.stdout.strip() or "unknown",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def measured() -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, switch = folder / "switch.c", folder / "switch.so"
        source.write_text(SWITCH)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(switch), str(source)], check=True)
        found = [
            ("import, load and first vector", "v3", total)
            for _, total in counted(folder, "-c", START)
        ]
        for name, total in counted(folder, __file__, "--count", str(switch)):
            chosen, _, case = name.partition(" ")
            found.append((case, chosen, total))
    here = versions()
    return [
        {"case": case, "set": chosen, "instructions": total, **here}
        for case, chosen, total in found
    ]


def compared(now: list[dict[str, Any]]) -> bool:
    """Print every count, and return whether all are near the committed ones."""
    lines = [json.loads(line) for line in FIGURES.read_text(encoding="utf-8").splitlines()]
    here = versions()
    others = [f"{key} {lines[0][key]}" for key in here if lines[0][key] != here[key]]
    if others:
        print(f"the counts were made with {', '.join(others)}, but here is {here}:")
        print("record counts before your change with RECORD=1, and compare after it")
        return False
    figures = {(line["case"], line["set"]): line["instructions"] for line in lines}
    good = True
    for line in now:
        before = figures.pop((line["case"], line["set"]), None)
        change = line["instructions"] / before - 1 if before else math.inf
        good &= abs(change) <= MOST_CHANGE
        verdict = "" if abs(change) <= MOST_CHANGE else "  <- changed by more than 5 %"
        print(
            f"{line['instructions']:>13,} {change:+7.1%}  {line['set']:4}  {line['case']}{verdict}"
        )
    for case, chosen in figures:
        print(f"not counted here: {case}, {chosen}")
    return good and not figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help="update the committed counts")
    parser.add_argument("--count", metavar="SWITCH", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        return count(options.count)
    if not shutil.which("valgrind"):
        sys.exit(NEEDS)
    if not shutil.which("cc"):
        sys.exit(COMPILER_NEEDED)
    now = measured()
    if options.record:
        FIGURES.write_text("".join(json.dumps(line) + "\n" for line in now), encoding="utf-8")
    elif not compared(now):
        sys.exit("bench-guard: fix it, or record an intended change with make bench-guard RECORD=1")


if __name__ == "__main__":
    main()
