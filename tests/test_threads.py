"""Check how many threads a call uses."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

import noppa
from noppa import threads
from tests.conftest import made_texts, made_words


def test_argument_then_variable_then_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOPPA_THREADS", "3")
    assert threads.thread_count(5) == 5
    assert threads.thread_count() == threads.thread_count(None, is_small=True) == 3
    monkeypatch.setenv("NOPPA_THREADS", "many")
    with pytest.raises(
        noppa.NoppaError, match="NOPPA_THREADS must be a whole number of at least 1, not 'many'"
    ):
        threads.thread_count()
    monkeypatch.delenv("NOPPA_THREADS")
    assert threads.thread_count() == threads.available() >= 1
    assert threads.thread_count(None, is_small=True) == 1


@pytest.mark.parametrize("count", [1025, 20_000, 2**62, 0, -1, True, 2.0, math.inf, "2", None])
def test_a_number_of_threads_that_makes_no_sense(
    count: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if count is not None:
        with pytest.raises(
            noppa.NoppaError, match=r"^threads must be (at most 1024|a whole number)"
        ):
            threads.thread_count(count)
    monkeypatch.setenv("NOPPA_THREADS", str(count))
    if count != "2":
        with pytest.raises(noppa.NoppaError, match=r"^NOPPA_THREADS must be"):
            threads.thread_count()


FEW = """
import os, threading
import numpy as np
from noppa import _native
table = _native.Table(np.ones((4, 300), np.float32), None)
lengths = np.full(4000, 40)
batch = np.zeros(lengths.sum(), np.int32), np.append(0, lengths.cumsum()), _native.Steps([])
mean = _native.Pooling("mean", table, {"weights": None, "divisor": 0, "scaled": False})
alone = mean(*batch, 1)[0]
assert (mean(*batch, 1_000_000)[0] == alone).all()
print(len(os.listdir("/proc/self/task")))
"""


def started(**options: Any) -> int:
    """Return how many threads a process has after a call that requests a million."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", FEW],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.linux
@pytest.mark.unsanitized
def test_no_more_threads_are_started_than_useful() -> None:
    assert 1 < started() <= max(8, 2 * (os.cpu_count() or 1))


def test_many_callers_at_once() -> None:
    """The workers serve one call at a time; others run in their own thread, and all get the same bytes."""
    words = made_words(dim=20, extra=50)
    texts = made_texts(400, words, longest=30)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    wanted = encoder.encode(texts, threads=1).tobytes()
    found: list[bool] = []

    def work() -> None:
        found.extend(encoder.encode(texts, threads=2).tobytes() == wanted for _ in range(10))

    callers = [threading.Thread(target=work) for _ in range(6)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert found == [True] * 60
