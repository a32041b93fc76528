"""What goes wrong around the server: a log that nobody reads, no room for temporary files, workers that die."""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import noppa
from noppa.serve import logs, workers
from noppa.serve.metrics import Metrics
from noppa.serve.settings import Settings
from tests.runs import PATIENCE, wait_until
from tests.serving import children, command_of, made_encoder, serving


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("faults") / "small")


@pytest.mark.found("outside review", "a log pipe that nobody reads stopped the server")
def test_a_log_that_nobody_reads(encoder: noppa.Encoder) -> None:
    """Requests go on, the dropped lines are counted, and the server stops when told."""
    unread, written = os.pipe()
    fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, 4096)
    process = subprocess.Popen(
        command_of(str(encoder.path)), stderr=written, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        with httpx.Client(base_url=url, timeout=PATIENCE, trust_env=False) as client:
            for _ in range(100):
                assert client.get("/health").status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.communicate()
        os.close(unread)
        os.close(written)


@pytest.mark.found("outside review", "a log pipe that nobody reads stopped the server")
def test_lines_beyond_the_queue_are_dropped_and_counted() -> None:
    unread, written = os.pipe()
    fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, 4096)
    writer = logs.Writer(written, most=10)
    line = "x" * 8000  # more than the pipe holds: the first write blocks
    assert writer.add(line)
    wait_until(lambda: writer._writing and not writer._lines)
    assert not writer.flush(0.1)
    assert [writer.add(line) for _ in range(30)] == [True] * 10 + [False] * 20
    assert writer.dropped == 20
    content = b""
    while b"log lines dropped" not in content:  # everything comes out once somebody reads
        content += os.read(unread, 1 << 16)
    assert b'"count": 20' in content
    assert writer.flush(PATIENCE)
    os.close(unread)
    assert writer.add(line)  # nobody can read any more
    assert writer.flush(PATIENCE)
    assert writer.dropped == 1
    os.close(written)


@pytest.mark.found("outside review", "a full temporary folder ended the whole server")
def test_no_room_for_temporary_files(encoder: noppa.Encoder) -> None:
    """Each worker then counts alone."""
    limits = {resource.RLIMIT_FSIZE: 0}
    with serving(str(encoder.path), "--workers", "2", limits=limits) as running:
        with running.client() as client:
            assert client.post("/embed", json={"inputs": "the girl"}).status_code == 200
            assert "noppa_processes 1" in client.get("/metrics").text
        wait_until(lambda: running.events("no folder for metrics and lines"))
        assert running.stop() == 0


@pytest.mark.found("fault injection", "a worker without room for its counters died at the start")
def test_counters_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "write", lambda event, **facts: True)
    missing = counting(tmp_path / "gone" / "0.cells")
    missing.request("/", 200, 0.1)
    assert served(missing) == 1


def test_a_worker_goes_on_counting_where_the_dead_one_stopped(tmp_path: Path) -> None:
    for requests in (1, 2):
        metrics = counting(tmp_path / "0.cells")
        metrics.request("/", 200, 0.1)
        metrics.gauge("running", 5)
        assert served(metrics) == requests
    assert served(counting(tmp_path / "1.cells")) == 2


def test_gauges_of_the_dead_are_gone_and_their_counts_stay(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    dead = counting(tmp_path / "0.cells")
    dead.request("/", 200, 0.1)
    dead.gauge("running", 5)
    dead.cells["pid"][0] = ended.pid
    (tmp_path / "2.cells").write_bytes(b"just being made")
    metrics = counting(tmp_path / "1.cells")
    metrics.gauge("running", 1)
    assert served(metrics) == 1
    text = metrics.text()
    assert "noppa_running 1.0\n" in text
    assert "noppa_processes 1.0\n" in text


def test_paths_that_nobody_declared_share_a_label() -> None:
    metrics = counting()
    for path in ("/x", "/y"):
        metrics.request(path, 777, 0.1)
    assert 'noppa_requests_total{code="other",route="other"} 2.0' in metrics.text()


def counting(file: Path | None = None) -> Metrics:
    """The metrics of a server with one route."""
    metrics = Metrics(None if file is None else str(file))
    metrics.add_route("/")
    return metrics


def served(metrics: Metrics) -> float:
    """Requests that were answered with 200."""
    (line,) = [
        line for line in metrics.text().splitlines()
        if line.startswith('noppa_requests_total{code="200",route="/"}')
    ]  # fmt: skip
    return float(line.split()[1])


@pytest.mark.found("outside review", "four early deaths of workers in a row ended the whole server")
def test_killed_workers_come_back(encoder: noppa.Encoder) -> None:
    with serving(str(encoder.path), "--workers", "2") as running:
        pid = running.process.pid
        dead: set[int] = set()
        for _ in range(2):
            for worker in wait_until(lambda: alive if len(alive := children(pid)) == 2 else []):
                os.kill(worker, signal.SIGKILL)
                dead.add(worker)
            wait_until(lambda: not dead & set(children(pid)))
        with running.client() as client:
            assert client.post("/embed", json={"inputs": "the girl"}).status_code == 200
        wait_until(lambda: len(running.events("worker ended")) >= 4)
        assert running.stop() == 0


def test_pauses_between_starts_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it dies at once or cannot be started, and again from the shortest after one that lived."""
    now, lives = 1000.0, 0.0
    starts: list[float] = []

    class Process:
        returncode = 1

        def __init__(self) -> None:
            starts.append(now)
            if len(starts) % 2:
                raise OSError(24, "Too many open files")

        def poll(self) -> int | None:
            return 1 if now >= starts[-1] + lives else None

    monkeypatch.setattr(workers, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(logs, "write", lambda event, **facts: True)
    monkeypatch.setattr(workers, "_process", lambda settings, listener: Process())
    worker = workers.Worker(Settings(), None)  # type: ignore[arg-type]

    def run(seconds: float) -> None:
        nonlocal now
        for _ in range(int(seconds * 10)):
            worker.tend()
            now += 0.1

    run(100)
    pauses = [round(b - a) for a, b in pairwise(starts)]
    assert pauses[1:7] == [1, 2, 4, 8, 16, 30]
    lives = 6
    run(100)
    assert worker.failures <= 1


def test_lines_of_other_loggers_show_no_address() -> None:
    entry: list[dict[str, Any]] = []
    record = logs.logging.LogRecord(
        "asyncio", 40, "", 0, "went wrong\ntransport 10.0.0.1", (), None
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "write", lambda event, **facts: entry.append(facts))
        logs.Handler().emit(record)
    assert entry == [{"level": "error", "message": "went wrong"}]
