"""Repeats tests while other processes keep the machine busy, to expose tests that depend on timing.

python reliability/load.py tests/test_serve_page.py                    # five times, at a load of ten
python reliability/load.py --times 20 --load 16 tests/test_threads.py
python reliability/load.py --slow-page 6 tests/test_serve_page.py      # the browser computes six times slower, too
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Background processes that compute without end, until the block is left."""
    code = "import hashlib\nblock = bytes(1 << 20)\nwhile True: block = hashlib.sha256(block).digest() * (1 << 15)"
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(processes)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
        for process in running:
            process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--load", type=int, default=10, help="busy processes")
    parser.add_argument("--slow-page", type=float, default=1, help="by how much pages are slowed")
    parser.add_argument("paths", nargs="+", help="test files, and other arguments of pytest")
    arguments, pytest_options = parser.parse_known_args()
    failed = 0
    environment = {**os.environ, "NOPPA_SLOW_PAGE": str(arguments.slow_page)}
    with busy(arguments.load):
        for number in range(1, arguments.times + 1):
            began = time.monotonic()
            command = [sys.executable, "-m", "pytest", "-q", *arguments.paths, *pytest_options]
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True
            )
            last = (done.stdout.strip().splitlines() or ["nothing printed"])[-1]
            took = f"{time.monotonic() - began:.0f} s, load {os.getloadavg()[0]:.0f}"
            print(f"run {number} of {arguments.times}: {last} ({took})", flush=True)
            if done.returncode:
                failed += 1
                print(done.stdout[-8000:], done.stderr[-2000:], sep="\n")
    sys.exit(f"{failed} of {arguments.times} runs failed" if failed else 0)


if __name__ == "__main__":
    main()
