"""Send the most expensive request that each route accepts, and measure memory, time and the slowest /health meanwhile.

python reliability/worst_requests.py                       # every case
python reliability/worst_requests.py /embed /lines/map     # the cases of some routes

Each case gets its own server. Other work on the machine can only increase the figures, so a case above a limit is measured again, up to
ATTEMPTS times, and the smallest figure counts. The exit status is 1 if a case stays above a limit.
"""

from __future__ import annotations

import argparse
import json
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
import psutil  # noqa: E402

import noppa  # noqa: E402
from tests.serving import Running, serving  # noqa: E402

RESULTS = HERE / "results" / "worst_requests.jsonl"
ATTEMPTS = 3
MB = 1 << 20
#: Every server has a key: an index can be changed only with one.
KEYS, KEY = {"NOPPA_API_KEYS": "secret"}, {"Authorization": "Bearer secret"}
WORDS = "the girl eats a cake and two small children play in front of the old house"


@dataclass(frozen=True)
class Case:
    """A request and its limits.

    Args:
        body: Returns the JSON value of the body, or its bytes.
        statuses: Acceptable answers; a refusal can be one of them.
        prepare: Writes folders into a folder and returns the options that name them.
        clients: How many clients send the request at the same time.
        unfinished: Do not send the last byte of the body.
    """

    route: str
    request: str
    body: Callable[[], Any]
    most_megabytes: float
    most_seconds: float
    most_health_seconds: float = 1.0
    statuses: tuple[int, ...] = (200,)
    options: tuple[str, ...] = ()
    prepare: Callable[[Path], tuple[str, ...]] = lambda folder: ()
    clients: int = 1
    unfinished: bool = False


def lines(count: int) -> list[str]:
    """Return different lines of a dozen words."""
    words = WORDS.split()
    return [
        " ".join(words[(number * step) % len(words)] for step in range(3, 15)) + f" {number}"
        for number in range(count)
    ]


def long_texts(count: int) -> list[str]:
    """Return texts that nearly fill a body."""
    line = " ".join(noppa.load("similarity").words.words[:600])
    return [f"{line} {number}" for number in range(count)]


def with_classifier(folder: Path) -> tuple[str, ...]:
    labels = [f"label {number % 128}" for number in range(1024)]
    noppa.Classifier(l2_vectors=1.0, l2_ngrams=1.0).fit(lines(1024), labels).save(folder / "labels")
    return (str(folder / "labels"),)


def with_index(folder: Path) -> tuple[str, ...]:
    noppa.Index.open(folder / "texts").add(lines(100_000))
    return ("--index", str(folder / "texts"))


def wide(times: int) -> dict[str, Any]:
    """Return a method whose vectors are `times` as long as those of words."""
    return {"method": {"name": "dct", "k": times}}


EMBEDDINGS = "/v1/embeddings"
MANY = 20_000
CASES = [
    Case("/embed", "8,192 texts", lambda: {"inputs": lines(8192)}, 200, 10),
    Case("/embed", "250,000 arrays in 1 MB", lambda: b'{"inputs":[' + b"[]," * 249_000 + b"[]]}", 150, 10, statuses=(400, 413)),
    Case("/embed", "deep JSON", lambda: b'{"inputs":' + b"[" * 500_000, 150, 10, statuses=(400, 413)),
    Case(
        "/embed", "1,500 texts of 4,096 tokens within 0.2 seconds", lambda: {"inputs": ["the girl eats a cake " * 819] * 1500},
        300, 15, statuses=(503,), options=("--request-seconds", "0.2"),
    ),
    Case(EMBEDDINGS, "8,192 texts as numbers", lambda: {"input": lines(8192)}, 200, 10),
    Case(EMBEDDINGS, "28 MB of empty arrays", lambda: b'{"input":[' + b"[]," * (28 * MB // 3) + b"[]]}", 300, 10, statuses=(400, 413)),
    Case(EMBEDDINGS, "28 MB in an unknown field", lambda: b'{"input":"a","x":[' + b"[]," * (28 * MB // 3) + b"[]]}", 300, 10, statuses=(200, 400, 413)),
    Case(EMBEDDINGS, "100 MB", lambda: b'{"input":"' + b"x" * (100 * MB) + b'"}', 150, 30, statuses=(413,)),
    Case(
        EMBEDDINGS, "50 bodies of 31 MB at a time", lambda: b'{"input":"a","user":"' + b"x" * (31 * MB) + b'"}',
        600, 60, 2.0, statuses=(200, 413, 429, 503), clients=50,
    ),
    Case(
        EMBEDDINGS, "50 bodies of 31 MB that never end", lambda: b'{"input":"' + b"x" * (31 * MB) + b'"}',
        500, 60, statuses=(408, 413, 429, 503), clients=50, unfinished=True,
    ),
    Case(EMBEDDINGS, "one wide character in 31 MB", lambda: b'{"input":"' + b"x " * (15 * MB) + '\N{WAVING HAND SIGN}"}'.encode(), 700, 30, statuses=(413,)),
    Case("/rerank", "8,192 documents", lambda: {"query": WORDS, "documents": lines(8192), "return_documents": True}, 200, 10),
    Case("/rerank", "8,192 long documents", lambda: {"query": WORDS, "documents": long_texts(8192), "return_documents": True}, 500, 20),
    Case("/api/embed", "8,192 texts", lambda: {"input": lines(8192)}, 200, 10),
    Case("/predict", "8,192 texts with 128 labels", lambda: {"inputs": lines(8192)}, 300, 20, prepare=with_classifier),
    Case("/predict/explain", "256 tokens with 128 labels", lambda: {"inputs": "girl " * 256}, 200, 10, prepare=with_classifier),
    Case("/index/search", "1,000 hits of 100,000 texts, 8 clients", lambda: {"query": WORDS, "count": 1000}, 400, 20, prepare=with_index, clients=8),
    Case("/index/search", "20 explained hits", lambda: {"query": WORDS, "count": 20, "explain": True}, 200, 10, prepare=with_index),
    Case("/index/add", "8,192 texts", lambda: {"texts": lines(8192)}, 300, 20, prepare=with_index),
    Case("/similarity", "4,000,000 cosines", lambda: {"a": lines(2000), "b": lines(2000)}, 400, 20),
    Case("/explain", "256 tokens", lambda: {"text": "girl " * 256, "full": True}, 200, 10),
    Case("/search", "20,000 lines, wide vectors", lambda: {"query": "a girl", "lines": lines(MANY), "count": 1000, **wide(2)}, 500, 65, statuses=(200, 503)),
    Case("/lines/map", "20,000 lines, wide vectors", lambda: {"lines": lines(MANY), **wide(2)}, 500, 65, statuses=(200, 503)),
    Case("/lines/map", "8 clients", lambda: {"lines": lines(MANY), **wide(2)}, 900, 65, statuses=(200, 429, 503), clients=8),
    Case("/lines/clusters", "50 clusters", lambda: {"lines": lines(MANY), "count": 50}, 500, 65, statuses=(200, 503)),
    Case("/lines/duplicates", "20,000 equal lines", lambda: {"lines": ["a"] * MANY, "threshold": 0.5}, 500, 65, statuses=(200, 503)),
    Case("/lines/vectors", "CSV of the widest method", lambda: {"lines": lines(MANY), "format": "csv", **wide(64)}, 500, 65, statuses=(413, 503)),
]  # fmt: skip


@dataclass
class Figures:
    statuses: list[int] = field(default_factory=list)
    megabytes: float = 0.0
    seconds: float = 0.0
    health_seconds: float = 0.0

    def within(self, case: Case) -> bool:
        return (
            self.megabytes <= case.most_megabytes
            and self.seconds <= case.most_seconds
            and self.health_seconds <= case.most_health_seconds
        )

    def answered(self, case: Case) -> bool:
        """Check that every client got an acceptable answer; this does not depend on the load of the machine."""
        return len(self.statuses) == case.clients and set(self.statuses) <= set(case.statuses)


def resident(pid: int) -> int:
    """Return the resident memory of a process and its children."""
    total = 0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):
            total += process.memory_info().rss
    return total


@contextmanager
def watching(server: Running, figures: Figures) -> Iterator[None]:
    """Record the peak of the server's memory and its slowest answer to /health."""
    done = threading.Event()
    before = resident(server.process.pid)

    def watch_memory() -> None:
        while not done.wait(0.02):
            grown = (resident(server.process.pid) - before) / MB
            figures.megabytes = max(figures.megabytes, grown)

    def watch_health() -> None:
        with httpx.Client(base_url=server.url, timeout=600, trust_env=False) as client:
            while not done.wait(0.02):
                began = time.monotonic()
                client.get("/health")
                figures.health_seconds = max(figures.health_seconds, time.monotonic() - began)

    watchers = [threading.Thread(target=target) for target in (watch_memory, watch_health)]
    for watcher in watchers:
        watcher.start()
    try:
        yield
    finally:
        done.set()
        for watcher in watchers:
            watcher.join()


def measure(case: Case) -> Figures:
    """Send a case to a fresh server."""
    figures, value = Figures(), case.body()
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    headers = {"content-type": "application/json", **KEY}

    def send(server: Running) -> None:
        if case.unfinished:
            figures.statuses.append(send_unfinished(server, case.route, body))
            return
        with httpx.Client(timeout=600, trust_env=False) as client, suppress(httpx.WriteError):
            answer = client.post(server.url + case.route, content=body, headers=headers)
            figures.statuses.append(answer.status_code)

    with tempfile.TemporaryDirectory(prefix="noppa-requests-") as folder:
        options = (*case.options, *case.prepare(Path(folder)))
        with serving(*options, environment=KEYS) as server:
            with server.client(headers=KEY) as client:
                client.post("/embed", json={"inputs": lines(20)}).raise_for_status()
            senders = [threading.Thread(target=send, args=(server,)) for _ in range(case.clients)]
            with watching(server, figures):
                began = time.monotonic()
                for sender in senders:
                    sender.start()
                for sender in senders:
                    sender.join()
                figures.seconds = time.monotonic() - began
    return figures


def send_unfinished(server: Running, route: str, body: bytes) -> int:
    """Send a request without its last byte, and return the status of the answer."""
    head = f"POST {route} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {KEY['Authorization']}\r\n"
    with server.connect() as connection:
        with suppress(ConnectionError):  # refused before everything was sent
            connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1])
        return int(connection.recv(1 << 16).split()[1])


def measure_again(case: Case, take: Callable[[Case], Figures] = measure) -> Figures:
    """Measure until a case is within its limits, at most ATTEMPTS times; return the smallest figures."""
    best = take(case)
    for _ in range(ATTEMPTS - 1):
        if best.within(case) or not best.answered(case):
            break
        again = take(case)
        best = Figures(
            again.statuses,
            min(best.megabytes, again.megabytes),
            min(best.seconds, again.seconds),
            min(best.health_seconds, again.health_seconds),
        )
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("routes", nargs="*", help="default: all")
    parser.add_argument("--results", type=Path, help=f"JSON lines to write, such as {RESULTS}")
    options = parser.parse_args()
    records = []
    for case in CASES:
        if options.routes and case.route not in options.routes:
            continue
        figures = measure_again(case)
        record = {"route": case.route, "request": case.request}
        record["statuses"] = sorted(set(figures.statuses))
        for name in ("megabytes", "seconds", "health_seconds"):
            record[name] = round(getattr(figures, name), 3)
            record[f"most_{name}"] = getattr(case, f"most_{name}")
        record["within"] = figures.within(case) and figures.answered(case)
        records.append(record)
        print(json.dumps(record), flush=True)
    if options.results:
        options.results.write_text("".join(json.dumps(record) + "\n" for record in records))
    sys.exit(not all(record["within"] for record in records))


if __name__ == "__main__":
    main()
