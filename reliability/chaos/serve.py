"""`noppa serve` under faults: after each round the server answers, and stops cleanly on SIGTERM.

All traffic is on the loopback, bounded in number and time.
"""

from __future__ import annotations

import fcntl
import os
import random
import resource
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.draining import stopped_under_load
from tests.runs import wait_until
from tests.serving import PROGRAM, Running, children, command_of, made_encoder, serving

TEXTS = ["the girl eats w1 w2 w3 " * 5] * 50
CLIENTS = 4
#: Every reading of the wall clock is off by up to a day, either way; the monotonic clock is right.
JUMPING = (
    "import random, time; real = time.time; "
    "time.time = lambda: real() + random.uniform(-86400, 86400); " + PROGRAM
)


def scenario_killed_workers(folder: Path, rounds: int) -> dict[str, int]:
    """kill -9 of one of three workers under load, whenever all are there."""
    with served(folder, "--workers", "3") as server, load(server) as outcomes:
        for _ in range(rounds):
            alive = wait_until(lambda: pids if len(pids := workers(server)) == 3 else [])
            wait_until(answers(server))
            os.kill(random.choice(alive), signal.SIGKILL)
            wait_until(lambda dead=set(alive): set(workers(server)) != dead)
        wait_until(answers(server))
    # A client of the killed worker loses its connection; nothing else may go wrong.
    assert set(outcomes) <= {"200", "503", "refused", "cut off"}, outcomes
    return dict(outcomes)


def scenario_full_temporary_folder(folder: Path, rounds: int) -> dict[str, int]:
    """No file can be written at all: as on a full disk."""
    outcomes: Counter[str] = Counter()
    for _ in range(rounds):
        limits = {resource.RLIMIT_FSIZE: 0}
        with served(folder, "--workers", "2", limits=limits) as server:
            wait_until(answers(server))
            outcomes["answers"] += 1
    return dict(outcomes)


def scenario_cleared_temporary_folder(folder: Path, rounds: int) -> dict[str, int]:
    """Somebody clears the temporary folder under a running server."""
    outcomes: Counter[str] = Counter()
    temporary = folder / "temporary"
    temporary.mkdir()
    for _ in range(rounds):
        with served(folder, "--workers", "2", environment={"TMPDIR": str(temporary)}) as server:
            wait_until(answers(server))
            for file in temporary.glob("noppa-*/*"):
                file.unlink()
            with server.client() as client:
                assert client.get("/metrics").status_code == 200
            wait_until(answers(server))
            outcomes["answers"] += 1
    return dict(outcomes)


def scenario_unread_log(folder: Path, rounds: int) -> dict[str, int]:
    """Nobody reads standard error, or its reader is gone."""
    outcomes: Counter[str] = Counter()
    model = str(made_encoder(folder / "small").path)
    for number in range(rounds):
        unread, written = os.pipe()
        fcntl.fcntl(written, fcntl.F_SETPIPE_SZ, 4096)
        process = subprocess.Popen(
            command_of(model), stderr=written, stdout=subprocess.PIPE, text=True
        )
        os.close(written)
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[-1]
            if number % 2:
                os.close(unread)
            with httpx.Client(base_url=url, timeout=60, trust_env=False) as client:
                for _ in range(500):
                    outcomes[str(client.get("/health").status_code)] += 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            outcomes["clean stops"] += 1
        finally:
            process.kill()
            process.communicate()
            if not number % 2:
                os.close(unread)
    assert set(outcomes) == {"200", "clean stops"}, outcomes
    return dict(outcomes)


def scenario_few_file_descriptors(folder: Path, rounds: int) -> dict[str, int]:
    """Several times more clients than files that the process may open."""
    outcomes: Counter[str] = Counter()
    for number in range(rounds):
        options = ["--workers", "2"] if number % 2 else []
        with served(folder, *options, limits={resource.RLIMIT_NOFILE: 64}) as server:
            wait_until(answers(server))
            many = [server.connect() for _ in range(200)]
            for connection in many:
                connection.close()
            wait_until(answers(server))
            outcomes["answers"] += 1
    return dict(outcomes)


def scenario_stop_under_load(folder: Path, rounds: int) -> dict[str, int]:
    """SIGTERM under the load of a hundred clients: every request is answered or gets 503, no connection is reset."""
    total: Counter[str] = Counter()
    for number in range(rounds):
        with served(folder, "--workers", str(1 + number % 2), "--drain-seconds", "1") as server:
            outcomes = stopped_under_load(server, each=20)
        assert set(outcomes) <= {"200+", "200", "503", "refused", "closed", "exit 0"}, outcomes
        outcomes["200"] += outcomes.pop("200+")  # with the connection kept open
        total += outcomes
    return dict(total)


def scenario_clock_jumps(folder: Path, rounds: int) -> dict[str, int]:
    """The wall clock jumps by hours, both ways; no timeout comes early or never."""
    seconds = ["--header-seconds", "1", "--keep-alive-seconds", "1"]
    outcomes: Counter[str] = Counter()
    for _ in range(rounds):
        with served(folder, *seconds, program=JUMPING) as server:
            with server.client() as client:
                for _ in range(50):
                    answer = client.post("/embed", json={"inputs": TEXTS})
                    outcomes[str(answer.status_code)] += 1
            with server.connect() as idle:
                assert idle.recv(100).startswith(b"HTTP/1.1 408")
    assert set(outcomes) == {"200"}, outcomes
    return dict(outcomes)


@contextmanager
def served(
    folder: Path,
    *options: str,
    environment: dict[str, str] | None = None,
    limits: dict[int, int] | None = None,
    program: str | None = None,
) -> Iterator[Running]:
    """A server of a small encoder, which must stop cleanly at the end."""
    model = folder / "small"
    if not model.exists():
        made_encoder(model)
    with serving(
        str(model), *options, environment=environment, limits=limits, program=program
    ) as server:
        yield server
        assert server.stop() == 0, server.log[-5:]
    assert not server.events("error"), server.events("error")


def workers(server: Running) -> list[int]:
    return children(server.process.pid)


def answers(server: Running) -> Callable[[], bool]:
    """Whether the server gives vectors, to a client that connects now."""

    def answered() -> bool:
        with server.client(verify=False) as client:
            return ask(client) == "200"

    return answered


def ask(client: httpx.Client) -> str:
    """How one request ends."""
    try:
        answer = client.post("/embed", json={"inputs": TEXTS})
    except httpx.ConnectError:
        return "refused"
    except httpx.TransportError:
        return "cut off"
    assert answer.status_code != 200 or len(answer.json()) == len(TEXTS)
    return str(answer.status_code)


@contextmanager
def load(server: Running) -> Iterator[Counter[str]]:
    """A few clients without a pause, and how their requests end."""
    outcomes: Counter[str] = Counter()
    lock, done = threading.Lock(), threading.Event()

    def run() -> None:
        with server.client(verify=False) as client:
            for _ in range(5000):
                outcome = ask(client)
                with lock:
                    outcomes[outcome] += 1
                if done.is_set():
                    return

    clients = [threading.Thread(target=run) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield outcomes
    finally:
        done.set()
        for client in clients:
            client.join()
