"""UMAP in a process of its own, which can be stopped: by itself it takes seconds to load, and no look at the clock."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from noppa.processes import ONE_THREAD
from noppa.serve import logs
from noppa.serve.problems import Problem
from noppa.topics.groups import umap_plane as points_of

#: Seconds between two checks.
PATIENCE = 0.1


def umap_plane(rows: NDArray[np.float32], check: Callable[[], None]) -> NDArray[np.float64]:
    """A point a row (rows, 2); whatever `check` raises ends the process."""
    environment = {**os.environ, **dict.fromkeys(ONE_THREAD, "1")}
    pipe, given = subprocess.PIPE, io.BytesIO()
    np.save(given, rows)
    command = [sys.executable, "-m", "noppa.serve.umap_process"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment) as process:  # fmt: skip
        try:
            content = _answer(process, given.getvalue(), check)
        finally:
            process.kill()
    if process.returncode != 0:
        logs.write("umap failed", status=process.returncode)
        raise Problem(500, "UMAP failed: choose the layout pca", param="layout", code="umap_failed")
    return np.asarray(np.load(io.BytesIO(content)), np.float64)


def _answer(process: subprocess.Popen[bytes], given: bytes, check: Callable[[], None]) -> bytes:
    rest: bytes | None = given
    while True:
        try:
            return process.communicate(rest, PATIENCE)[0]
        except subprocess.TimeoutExpired:
            rest = None  # taken, whether or not it is sent
            check()


def main() -> None:
    """The other end: rows from standard input, points to standard output."""
    rows, made = np.load(io.BytesIO(sys.stdin.buffer.read())), io.BytesIO()
    np.save(made, points_of(rows))
    sys.stdout.buffer.write(made.getvalue())


if __name__ == "__main__":
    main()
