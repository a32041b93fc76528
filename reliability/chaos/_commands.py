"""What the scenarios of `encode` and `cluster` share: a model and texts, and `noppa` in a process of its own."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import noppa

MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]
PATIENCE = 300

Process = subprocess.Popen[bytes]


def model_and_texts(folder: Path, words: int, dim: int, records: int, length: int) -> Path:
    """Save an encoder as `model`, and texts of `length` random words each; gives their file."""
    names = [f"word{at}" for at in range(words)]
    matrix = np.random.default_rng(5).normal(size=(words, dim))
    vectors = noppa.WordVectors(names, matrix, np.full(words, 1 / words))
    noppa.Encoder(vectors, noppa.NoPPA(k=0)).save(folder / "model")
    drawn = np.random.default_rng(6).integers(words, size=(records, length))
    texts = folder / "texts.txt"
    texts.write_text("\n".join(" ".join(names[at] for at in row) for row in drawn))
    return texts


def ended(process: Process) -> int:
    """The exit code; a traceback is never right."""
    _, message = process.communicate(timeout=PATIENCE)
    assert b"Traceback" not in message, message.decode()
    return process.returncode


def wait_for(process: Process, is_there: Callable[[], bool]) -> None:
    """Wait until something is there, or the process has ended."""
    deadline = time.monotonic() + PATIENCE
    while not is_there() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def none_writes_but_one(processes: list[Process]) -> dict[str, int]:
    """How many of the runs to one output were refused and how many succeeded, which is one at least."""
    codes = [ended(process) for process in processes]
    assert 0 in codes, codes
    assert set(codes) <= {0, 1}, codes
    return {"refused": codes.count(1), "written or found done": codes.count(0)}


def file_size_limit(size: int) -> Callable[[], None]:
    """What a child runs first: no file may grow beyond `size` bytes, which stands for a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit
