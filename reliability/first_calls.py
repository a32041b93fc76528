"""The first calls of a process, made by many threads at once: where thread pools, tables and caches are initialised.

`python reliability/builds.py thread` runs this under ThreadSanitizer; by itself it checks that all threads agree.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np

import noppa

THREADS = 8
ROUNDS = 4
TEXTS = [f"the girl eats {count} cakes and isn't sorry" for count in range(300)]


def encoder(seed: int = 0) -> noppa.Encoder:
    vocabulary = sorted({token for text in TEXTS for token in text.split()})
    matrix = np.random.default_rng(seed).normal(size=(len(vocabulary), 64)).astype(np.float32)
    return noppa.Encoder(noppa.WordVectors(vocabulary, matrix), noppa.Average())


def at_once(work: Callable[[], bytes]) -> None:
    """Start the same work in all threads at one barrier; all must return the same bytes."""
    barrier, results = threading.Barrier(THREADS), [b""] * THREADS

    def call(number: int) -> None:
        barrier.wait()
        results[number] = work()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0], "the work gave nothing"
    assert len(set(results)) == 1, "threads that did the same work gave different bytes"


def one_round(fork: bool) -> None:
    """In a process of its own: first calls in threads, and once more in a forked child."""
    model = encoder()
    if fork:
        model.encode(TEXTS, threads=3)  # a thread pool that the forked child must not use
        child = os.fork()
        if child:
            _, status = os.waitpid(child, 0)
            sys.exit(os.waitstatus_to_exitcode(status))
    at_once(lambda: model.encode(TEXTS, threads=3).tobytes())
    if fork:
        os._exit(0)


def main() -> None:
    if len(sys.argv) > 1:
        return one_round(fork=sys.argv[1] == "fork")
    for number in range(ROUNDS):
        kind = "fork" if number % 2 else "plain"
        done = subprocess.run([sys.executable, __file__, kind])
        if done.returncode:
            sys.exit(f"first calls in a {kind} process ended with {done.returncode}")


if __name__ == "__main__":
    main()
