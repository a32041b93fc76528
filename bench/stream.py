"""Lines through `noppa encode` against the library's own time, with memory on the way, and a run killed and resumed.

    python bench/stream.py [--lines 5000000]

Needs the shared data (NOPPA_SHARED, or ../shared beside the repository); prints one JSON object a line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import measure

from noppa import Encoder, NoPPA, WordVectors

SHARED = Path(os.environ.get("NOPPA_SHARED", Path(__file__).parents[2] / "shared"))
tell = partial(measure.tell, 3)
MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]

LIBRARY = """
import sys, time, warnings, itertools, noppa
warnings.simplefilter("ignore")
model = noppa.load(sys.argv[1])
lines = open(sys.argv[2], encoding="utf-8", newline="\\n").read().split("\\n")[:-1]
many = itertools.islice(itertools.cycle(lines), int(sys.argv[3]))
start = time.perf_counter()
for block in model.encode_iter(many, 4096):
    pass
print(time.perf_counter() - start, time.process_time())
"""


def resident(process: subprocess.Popen[Any]) -> float:
    try:
        status = Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return 0.0
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")),
        0.0,
    )


def spent() -> float:
    """Processor seconds of all children so far, their start included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5_000_000)
    parser.add_argument(
        "--folder", type=Path, help="where the files go; a temporary folder where not given"
    )
    options = parser.parse_args()
    corpus = SHARED / "data/text/neutral.en.txt"
    lines = corpus.read_bytes().split(b"\n")[:-1]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        model, source = Path(folder, "model"), Path(folder, "lines.txt")
        whole, target = Path(folder, "whole.npy"), Path(folder, "killed.npy")
        words = WordVectors.load(SHARED / "data/vectors/glove.6B.100d.npy")
        words = words.with_counts(SHARED / "data/frequency/enwiki_vocab_min200.txt")
        some = [line.decode() for line in lines[:20000]]
        Encoder(words, NoPPA()).fit(some).save(model)
        with source.open("wb") as file:
            for start in range(0, options.lines, len(lines)):
                file.write(b"".join(line + b"\n" for line in lines[: options.lines - start]))

        arguments = [sys.executable, "-c", LIBRARY, str(model), str(corpus), str(options.lines)]
        timed = subprocess.run(arguments, capture_output=True, check=True, text=True).stdout
        library, library_cpu = map(float, timed.split())

        before = spent()
        start = time.perf_counter()
        with subprocess.Popen(["cat", str(source)], stdout=subprocess.PIPE) as cat:
            command = [*MAIN, "encode", "-", "-m", str(model), "-o", str(whole)]
            process = subprocess.Popen(command, stdin=cat.stdout, stderr=subprocess.DEVNULL)
            memory = []
            while process.poll() is None:
                memory.append(resident(process))
                time.sleep(0.25)
        piped, piped_cpu = time.perf_counter() - start, spent() - before
        assert process.returncode == 0
        memory = [value for value in memory if value > 0]
        quarter = len(memory) // 4
        tell(
            figure="stream", lines=options.lines, library_s=library, piped_s=piped, ratio=piped / library,
            library_cpu_s=library_cpu, piped_cpu_s=piped_cpu, lines_per_s=options.lines / piped, peak_mb=max(memory),
            resident_by_quarter_mb=[round(memory[min(at * quarter, len(memory) - 1)]) for at in (1, 2, 3, 4)],
            output_mb=whole.stat().st_size / 1e6,
        )  # fmt: skip

        command = [*MAIN, "encode", str(source), "-m", str(model), "-o", str(target)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        checkpoint = target.with_name(f".{target.name}.checkpoint")
        done = 0
        while done < options.lines // 2 and process.poll() is None:
            time.sleep(0.1)
            if checkpoint.exists():
                done = json.loads(checkpoint.read_text())["outcome"]["records"]
        process.kill()
        process.wait()
        start = time.perf_counter()
        subprocess.run([*command, "--resume"], check=True, stderr=subprocess.DEVNULL)
        tell(
            figure="killed and resumed", killed_after=done, resumed_s=time.perf_counter() - start,
            byte_identical=digest(whole) == digest(target),
        )  # fmt: skip


if __name__ == "__main__":
    main()
