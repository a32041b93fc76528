"""Ceilings of memory and time for the server's routes: the worst request that each allows, sent to a server of its own.

python reliability/ceilings.py                    # every case
python reliability/ceilings.py /embed /lines/map  # those of some routes

For each case it reports how far the server's memory peaked above where it stood before, the seconds until the answer,
and the slowest /health meanwhile. Of a slow /health only that counts which the server itself worked in the meantime:
while another process has the core, nobody can answer. Whatever else the machine does can only add to these, so a case
above a ceiling is measured again, up to ATTEMPTS times, and the least of each counts. Results are JSON lines in
results/ceilings.jsonl; the exit status tells whether all stayed below their ceilings. Seconds depend on the machine and
its load, which is recorded, so no test asserts them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import httpx  # noqa: E402

from reliability.worst_requests import CASES, MB, Case, lines  # noqa: E402
from tests.serving import Running, serving  # noqa: E402

RESULTS = HERE / "results" / "ceilings.jsonl"
ATTEMPTS = 3
#: Every server has a key, since an index is changed with one alone.
KEYS, KEY = {"NOPPA_API_KEYS": "ceilings"}, {"Authorization": "Bearer ceilings"}


@dataclass
class Measured:
    """Measurements of a case."""

    statuses: list[int] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0
    health_seconds: float = 0.0
    health_clock_seconds: float = 0.0


@contextmanager
def asking_health(server: Running, measured: Measured) -> Iterator[None]:
    """Polls /health meanwhile, from a process of its own, and records the slowest answer, by both measures."""
    command = [sys.executable, __file__, "--ask-health", server.url, "--pid", str(server.process.pid)]  # fmt: skip
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as asker:
        assert asker.stdout is not None
        asker.stdout.readline()  # it has begun
        yield
        slowest = asker.communicate()[0].split()
        measured.health_seconds, measured.health_clock_seconds = map(float, slowest)


def ask_health(url: str, pid: int) -> None:
    """Polls /health until standard input ends; prints the seconds of the slowest answer, those the server worked and all."""
    done = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
    slowest = slowest_by_clock = 0.0
    with httpx.Client(base_url=url, timeout=600, trust_env=False) as client:
        client.get("/health")
        print("begun", flush=True)
        while not done.is_set():
            began, worked = time.monotonic(), cpu_seconds(pid)
            client.get("/health")
            waited, worked = time.monotonic() - began, cpu_seconds(pid) - worked
            slowest = max(slowest, min(waited, worked))
            slowest_by_clock = max(slowest_by_clock, waited)
            done.wait(0.02)
    print(slowest, slowest_by_clock)


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, in steps of some hundredths of a second."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def peak_memory(pid: int, measured: Measured) -> Iterator[None]:
    """Records how far the peak of a process's resident memory rises above its present size."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # resets VmHWM
    before = status_bytes(pid, "VmRSS")
    yield
    measured.megabytes = (status_bytes(pid, "VmHWM") - before) / MB


def status_bytes(pid: int, name: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(name)


def measure(case: Case) -> Measured:
    """One case, with the embedded model and a server that has served nothing else."""
    measured, body = Measured(), case.body()
    with (
        tempfile.TemporaryDirectory(prefix="noppa-ceilings-") as folder,
        serving(*case.options, *made_options(case, folder), environment=KEYS) as server,
        server.client(headers=KEY) as client,
    ):
        client.timeout = httpx.Timeout(600)
        client.post("/embed", json={"inputs": lines(20)}).raise_for_status()  # warm
        for path, value in case.before:
            client.post(path, json=value()).raise_for_status()

        def send() -> None:
            if case.unfinished:
                measured.statuses.append(begin(server, case.path, body))
                return
            with httpx.Client(cookies=client.cookies, timeout=600, trust_env=False) as own:
                answer = own.post(server.url + case.path, content=body, headers=headers)
                measured.statuses.append(answer.status_code)

        headers = {"content-type": "application/json", **KEY}
        senders = [threading.Thread(target=send) for _ in range(case.at_once)]
        with peak_memory(server.process.pid, measured), asking_health(server, measured):
            began = time.monotonic()
            for sender in senders:
                sender.start()
            for sender in senders:
                sender.join()
            measured.seconds = time.monotonic() - began
    return measured


def made_options(case: Case, folder: str) -> tuple[str, ...]:
    return () if case.made is None else case.made(Path(folder))


def begin(server: Running, path: str, body: bytes) -> int:
    """Send a request but for its last byte; the status of the answer."""
    key = f"Authorization: {KEY['Authorization']}"
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with server.connect() as connection:
        with suppress(ConnectionError):  # refused already
            connection.sendall(head.encode() + body[:-1])
        return int(connection.recv(1 << 16).split()[1])


def answered(case: Case, measured: Measured) -> bool:
    """Whether every client got an answer that is fine; this no load excuses."""
    return len(measured.statuses) == case.at_once and set(measured.statuses) <= set(case.statuses)


def cheap(case: Case, measured: Measured) -> bool:
    return (
        measured.megabytes <= case.megabytes
        and measured.seconds <= case.seconds
        and measured.health_seconds <= case.health_seconds
    )


def least(case: Case, take: Callable[[Case], Measured]) -> tuple[Measured, int]:
    """The least of each measurement over as many attempts as it took to stay below the ceilings, and their number."""
    best = take(case)
    attempts = 1
    while answered(case, best) and not cheap(case, best) and attempts < ATTEMPTS:
        again = take(case)
        attempts += 1
        best = Measured(
            again.statuses,
            min(best.megabytes, again.megabytes),
            min(best.seconds, again.seconds),
            min(best.health_seconds, again.health_seconds),
            min(best.health_clock_seconds, again.health_clock_seconds),
        )
    return best, attempts


def record(case: Case, measured: Measured, attempts: int = 1) -> dict[str, Any]:
    """The line of the results."""
    within = answered(case, measured) and cheap(case, measured)
    return {
        "route": case.path,
        "request": case.name,
        "statuses": sorted(set(measured.statuses)),
        "peak_growth_mb": round(measured.megabytes, 1),
        "ceiling_mb": case.megabytes,
        "seconds": round(measured.seconds, 3),
        "ceiling_seconds": case.seconds,
        "health_seconds": round(measured.health_seconds, 3),
        "health_clock_seconds": round(measured.health_clock_seconds, 3),
        "ceiling_health_seconds": case.health_seconds,
        "within": within,
        "attempts": attempts,
        "load": round(os.getloadavg()[0], 1),
    }


def save(file: Path, records: list[dict[str, Any]]) -> None:
    """Write the results; lines of other cases stay."""
    before = file.read_text().splitlines() if file.exists() else []
    lines = {(line["route"], line["request"]): line for line in map(json.loads, before)}
    lines |= {(line["route"], line["request"]): line for line in records}
    known = [(case.path, case.name) for case in CASES]
    ordered = [lines[key] for key in known if key in lines]
    file.write_text("".join(json.dumps(line) + "\n" for line in ordered))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("routes", nargs="*", help="paths; all if none is named")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--ask-health", help=argparse.SUPPRESS)
    parser.add_argument("--pid", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.ask_health:
        return ask_health(options.ask_health, options.pid)
    records = []
    for case in CASES:
        if options.routes and case.path not in options.routes:
            continue
        records.append(record(case, *least(case, measure)))
        print(json.dumps(records[-1]), flush=True)
    save(options.results, records)
    sys.exit(not all(line["within"] for line in records))


if __name__ == "__main__":
    main()
