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

import noppa  # noqa: E402
from noppa.serve.explore import EXPLAINED_VALUES  # noqa: E402
from tests.serving import Running, serving  # noqa: E402

RESULTS = HERE / "results" / "ceilings.jsonl"
MB = 1 << 20
ATTEMPTS = 3
#: Every server has a key, since an index is changed with one alone.
KEYS, KEY = {"NOPPA_API_KEYS": "ceilings"}, {"Authorization": "Bearer ceilings"}
WORDS = "the girl eats a cake and two small children play in front of the old house"


@dataclass(frozen=True)
class Case:
    """The worst request of one kind that a route allows, and what it may cost.

    body: makes the bytes of the body.
    before: (path, JSON) pairs posted first, in the same browser session.
    statuses: answers that are fine; a refusal is one.
    made: makes folders in a folder, and gives the options that name them.
    at_once: how many clients send it at the same time.
    unfinished: the last byte of the body is never sent.
    """

    path: str
    name: str
    body: Callable[[], bytes]
    megabytes: float
    seconds: float
    health_seconds: float = 0.6
    statuses: tuple[int, ...] = (200,)
    before: tuple[tuple[str, Callable[[], Any]], ...] = ()
    options: tuple[str, ...] = ()
    made: Callable[[Path], tuple[str, ...]] | None = None
    at_once: int = 1
    unfinished: bool = False


@dataclass
class Measured:
    """Measurements of a case."""

    statuses: list[int] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0
    health_seconds: float = 0.0
    health_clock_seconds: float = 0.0


def json_body(value: Any) -> Callable[[], bytes]:
    return lambda: json.dumps(value).encode()


def lines(count: int) -> list[str]:
    """Different lines of a dozen words."""
    words = WORDS.split()
    return [
        " ".join(words[(number * step) % len(words)] for step in range(3, 15)) + f" {number}"
        for number in range(count)
    ]


def wide(k: int) -> dict[str, Any]:
    """A method whose vectors are k times as long as those of words."""
    return {"method": {"name": "dct", "k": k}}


def fitted(name: str, k: int) -> dict[str, Any]:
    """A short text with a method that learns from the lines."""
    return {"text": "a girl", "method": {"name": name, "k": k}}


def over_lines(path: str, name: str, body: Any, count: int = 20_000, **limits: Any) -> Case:
    """A request over the lines of a session; 503 means that it was stopped after --request-seconds."""
    texts = limits.pop("texts", lines)
    before = (("/lines", lambda: {"lines": texts(count)}),)
    limits = {"megabytes": 500, "seconds": 65, "statuses": (200, 503), **limits}
    return Case(path, name, json_body(body), before=before, **limits)


def long_lines(count: int) -> list[str]:
    """Lines that nearly fill a body, of all words that the model knows."""
    words = noppa.load("similarity").words.words
    return [
        " ".join(words[(number * 160 + at) % len(words)] for at in range(160))
        for number in range(count)
    ]


#: Of 2²⁵ numbers in all, how many times the dimensions of the model's words 20,000 lines may have, and how many lines may
#: have them 64 times, which is the most for a method.
DIM = noppa.load("similarity").words.dim
TIMES, WIDEST_LINES = (1 << 25) // (20_000 * DIM), (1 << 25) // (64 * DIM)
WIDEST_TOKENS = EXPLAINED_VALUES // (64 * DIM)
MANY_LINES: list[Case] = [
    Case("/lines", "30 MB of lines", lambda: json_body({"lines": long_lines(20_000)})(), 400, 10),
    Case(
        "/similarity",
        "4,000,000 cosines",
        lambda: json_body({"a": lines(2000), "b": lines(2000)})(),
        400,
        20,
    ),
    Case("/explain", "256 tokens", json_body({"text": "girl " * 256, "full": True}), 200, 10),
    Case(
        "/explain",
        "as many tokens as the widest method takes",
        json_body({"text": "girl " * WIDEST_TOKENS, "full": True, **wide(64)}),
        500,
        10,
    ),
    over_lines(
        "/lines/vectors", "csv of the widest method", {"format": "csv", **wide(64)}, statuses=(413,)
    ),
    over_lines(
        "/lines/vectors",
        "csv of all that is allowed",
        {"format": "csv", **wide(TIMES)},
        megabytes=100,
    ),
    over_lines("/lines/map", "all that is allowed", wide(TIMES)),
    over_lines("/lines/map", "the widest method", wide(64), WIDEST_LINES),
    over_lines(
        "/lines/map",
        "within 2 seconds",
        wide(TIMES),
        seconds=5,
        statuses=(503,),
        options=("--request-seconds", "2"),
    ),
    over_lines("/lines/map", "8 at a time", wide(TIMES), at_once=8, megabytes=800),
    over_lines("/lines/clusters", "50 of all that is allowed", {"count": 50, **wide(TIMES)}),
    over_lines("/lines/duplicates", "different lines", {"threshold": 0.5}),
    over_lines(
        "/lines/duplicates", "equal lines", {"threshold": 0.5}, texts=lambda count: ["a"] * count
    ),
    over_lines("/search", "all that is allowed", {"query": "a girl", "count": 1000, **wide(TIMES)}),
    over_lines("/explain", "fit of k-means", fitted("vlawe", 64), texts=long_lines),
    over_lines("/explain", "fit of moments", fitted("noppa", 64), texts=long_lines),
]


def long_documents(count: int) -> list[str]:
    """Documents that nearly fill a body."""
    line = " ".join(noppa.load("similarity").words.words[:600])
    return [f"{line} {number}" for number in range(count)]


def reranked(documents: Callable[[int], list[str]], field: str, flag: str) -> Callable[[], bytes]:
    """A query and all the documents that a request may have, which are sent back."""
    return lambda: json_body({"query": WORDS, field: documents(8192), flag: True})()


RANKS: list[Case] = [
    Case("/rerank", "8,192 documents", reranked(lines, "documents", "return_documents"), 200, 10),
    Case("/rerank", "8,192 long ones", reranked(long_documents, "documents", "return_documents"), 400, 20),
    Case("/rerank", "8,192 texts, as TEI takes them", reranked(lines, "texts", "return_text"), 200, 10),
    Case(
        "/similarity",
        "8,192 sentences, as TEI takes them",
        lambda: json_body({"inputs": {"source_sentence": WORDS, "sentences": lines(8192)}})(),
        200,
        10,
    ),
    Case("/api/embed", "8,192 texts", lambda: json_body({"input": lines(8192)})(), 200, 10),
]  # fmt: skip


def made_classifier(folder: Path) -> tuple[str, ...]:
    """A classifier of 128 labels, the most for all texts of a request."""
    texts, labels = lines(1024), [f"label {at % 128}" for at in range(1024)]
    classifier = noppa.Classifier(l2_vectors=1.0, l2_ngrams=1.0).fit(texts, labels)
    classifier.save(folder / "labels")
    return (str(folder / "labels"),)


def made_index(folder: Path) -> tuple[str, ...]:
    """An index of 100,000 lines."""
    noppa.Index.open(folder / "texts").add(lines(100_000))
    return ("--index", str(folder / "texts"))


def searched(**fields: Any) -> Callable[[], bytes]:
    return json_body({"query": WORDS, **fields})


CLASSIFIED: list[Case] = [
    Case("/predict", "8,192 texts with 128 labels", lambda: json_body({"inputs": lines(8192)})(), 300, 20, made=made_classifier),
    Case("/predict/explain", "256 tokens with 128 labels", json_body({"inputs": "girl " * 256}), 200, 10, made=made_classifier),
]  # fmt: skip
INDEXED: list[Case] = [
    Case("/index/search", "1,000 hits of 100,000 texts", searched(count=1000), 200, 10, made=made_index),
    Case("/index/search", "8 at a time", searched(count=1000), 400, 20, made=made_index, at_once=8),
    Case("/index/search", "20 hits with reasons", searched(count=20, explain=True), 200, 10, made=made_index),
    Case("/index/add", "8,192 texts", lambda: json_body({"texts": lines(8192)})(), 300, 20, made=made_index),
]  # fmt: skip


CASES: list[Case] = [
    Case("/embed", "8,192 texts", lambda: json_body({"inputs": lines(8192)})(), 200, 10),
    Case(
        "/v1/embeddings",
        "8,192 texts as numbers",
        lambda: json_body({"input": lines(8192)})(),
        200,
        10,
    ),
    Case(
        "/v1/embeddings",
        "28 MB of empty arrays",
        lambda: b'{"input":[' + b"[]," * (28 * MB // 3) + b"[]]}",
        150,
        10,
        statuses=(400, 413),
    ),
    Case(
        "/v1/embeddings",
        "28 MB in an unknown field",
        lambda: b'{"input":"a","other":[' + b"[]," * (28 * MB // 3) + b"[]]}",
        150,
        10,
        statuses=(200, 413),
    ),
    Case(
        "/v1/embeddings",
        "50 bodies of 31 MB at a time",
        lambda: b'{"input":"a","user":"' + b"x" * (31 * MB) + b'"}',
        600,
        60,
        health_seconds=2.0,  # beside uploads of 1.5 GB
        statuses=(200, 503),
        at_once=50,
    ),
    Case(
        "/v1/embeddings",
        "50 bodies of 31 MB that never end",
        lambda: b'{"input":"' + b"x" * (31 * MB) + b'"}',
        400,
        60,
        health_seconds=0.5,
        statuses=(408, 503),
        options=("--body-seconds", "10"),
        at_once=50,
        unfinished=True,
    ),
    Case(
        "/v1/embeddings",
        "one wide character in 31 MB",
        lambda: b'{"input":"' + b"x " * (15 * MB) + '\N{WAVING HAND SIGN}"}'.encode(),
        700,
        30,
        health_seconds=0.5,
        statuses=(413,),
    ),
    Case(
        "/embed",
        "250,000 arrays in 1 MB",
        lambda: b'{"inputs":[' + b"[]," * 249_000 + b"[]]}",
        80,
        10,
        statuses=(413,),
    ),
    Case(
        "/embed",
        "1,500 texts of 4,096 tokens within 0.2 seconds",
        lambda: json.dumps({"inputs": ["the girl eats a cake " * 819] * 1500}).encode(),
        300,
        15,
        statuses=(503,),
        options=("--request-seconds", "0.2"),
    ),
    *RANKS,
    *CLASSIFIED,
    *INDEXED,
    *MANY_LINES,
]


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
