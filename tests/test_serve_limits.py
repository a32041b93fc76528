"""What a server withstands: bad bodies, slow and idle clients, full queues, killed workers, and SIGTERM."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.serve import middleware, routing, service
from noppa.serve.app import Application
from noppa.serve.errors import ClientDisconnected
from noppa.serve.models import Models
from noppa.serve.service import RequestContext, Task
from noppa.serve.settings import Settings
from noppa.topics.groups import group_rows, linked_groups, principal_plane
from tests.runs import wait_until
from tests.serving import Running, ask, children, error_of, made_encoder, serving

EMBEDDINGS = "/v1/embeddings"
TEXT = "the girl eats a cake"
LONG = {"inputs": ["the girl eats w1 " * 400] * 200}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("limits") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--max-body", "1000000") as running:
        yield running


@pytest.fixture
def the_next_request_works(server: Running, encoder: noppa.Encoder) -> Iterator[None]:
    yield
    with server.client() as client:
        row = client.post(EMBEDDINGS, json={"input": "the girl"}).json()["data"][0]["embedding"]
    expected = encoder.encode("the girl", normalize=True)
    assert np.array(row, np.float32).tobytes() == expected.tobytes()


@pytest.mark.usefixtures("the_next_request_works")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b"null", 400),
        (b'{"input": NaN}', 400),
        (b'{"input": "a", "dimensions": 1e999}', 400),
        (b'{"input": "\xff\xfe"}', 400),
        (b"\xff\xfe{\x00}\x00", 400),
        (b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
        (b'{"x": ' * 50_000 + b"1" + b"}" * 50_000, 400),
        (b'{"input": "a", "dimensions": ' + b"9" * 5000 + b"}", 400),
        (b'{"input": "\\ud83d the girl"}', 400),
        (b'{"input": "\\ud83d\\ude00 \\u0000"}', 200),
        (b'{"input": "' + b"x" * 900_000 + b'"}', 200),
        (b'{"input": "' + b"girl " * 150_000 + b'"}', 413),
        (b'{"input": ["' + b"x" * 1_000_000 + b'"]}', 413),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bodies(server: Running, body: bytes, status: int) -> None:
    with server.client() as client:
        answer = client.post(EMBEDDINGS, content=body)
    assert answer.status_code == status
    if status == 200:
        assert np.isfinite(answer.json()["data"][0]["embedding"]).all()
    else:
        error_of(answer)


def test_a_body_of_100_megabytes(server: Running) -> None:
    """With a length or without, it is refused and never held in memory."""

    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * (1 << 20)

    (worker,) = children(server.process.pid)
    before = resident_bytes(worker)
    with server.client() as client:
        for body in (b" " * (100 << 20), parts()):
            answer = client.post(EMBEDDINGS, content=body)
            assert answer.status_code == 413
            assert "1000000" in error_of(answer)["message"]
    assert resident_bytes(worker) - before < 60 << 20


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.usefixtures("the_next_request_works")
@pytest.mark.parametrize(
    "sent",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 2_000_000,
        b"GET /" + b"y" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n{",
    ],
    ids=lambda value: str(value)[:40],
)
def test_broken_and_long_headers(server: Running, sent: bytes) -> None:
    answer = server.exchange(sent)
    assert answer == b"" or answer[9:12] in (b"400", b"414", b"431")


def test_idle_and_slow_clients_do_not_block_others(server: Running) -> None:
    """A thousand connections: silent ones, and ones that stop within the headers or the body."""
    started = (b"", b"POST /embed HTT", b"POST /embed HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")  # fmt: skip
    clients = [server.connect() for _ in range(1002)]
    try:
        for number, client in enumerate(clients):
            client.sendall(started[number % 3])
        with server.client() as other:
            assert other.post(EMBEDDINGS, json={"input": TEXT}).status_code == 200
        silent = clients[0]  # its headers never come
        silent.settimeout(60)
        assert silent.recv(100) == b""
    finally:
        for client in clients:
            client.close()


def test_a_client_that_does_not_read_its_answer(encoder: noppa.Encoder) -> None:
    """Its answer is sent in parts, the next of which waits; others are answered meanwhile."""
    body = json.dumps({"input": [TEXT] * 8000}).encode()
    head = b"POST /v1/embeddings HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
    with serving(str(encoder.path)) as running:
        with running.connect() as lazy:
            lazy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            lazy.sendall(head % len(body) + body)
            lazy.recv(100)
            with running.client() as client:
                assert client.post(EMBEDDINGS, json={"input": TEXT}).status_code == 200

        def is_idle() -> bool:
            with running.client() as client:
                lines = client.get("/metrics").text.splitlines()
            return {"noppa_running 0.0", "noppa_held_bytes 0.0"} <= {*lines}

        wait_until(is_idle)


def test_clients_that_disconnect(server: Running) -> None:
    body = json.dumps(LONG).encode()
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    for sent in (head, head + body[:50], head + body):
        for _ in range(5):
            with server.connect() as connection:
                connection.sendall(sent)

    def is_idle() -> bool:
        with server.client() as client:
            lines = client.get("/metrics").text.splitlines()
        return {"noppa_running 0.0", "noppa_queue_depth 0.0", "noppa_held_bytes 0.0"} <= {*lines}

    wait_until(is_idle)  # the work was finished or dropped


def test_a_request_that_takes_too_long(encoder: noppa.Encoder) -> None:
    body = {"inputs": ["the girl eats w1 " * 500] * 800}
    with (
        serving(str(encoder.path), "--request-seconds", "1") as running,
        running.client() as client,
    ):
        answer = client.post("/embed", json=body)
        assert answer.status_code == 503
        assert error_of(answer)["code"] == "request_timeout"
        small = {"inputs": "the girl"}  # on a busy machine even this may take a second, once
        wait_until(lambda: client.post("/embed", json=small).status_code == 200)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_sigterm_finishes_running_requests(encoder: noppa.Encoder, workers: str) -> None:
    with serving(str(encoder.path), "--workers", workers) as running:

        def embed() -> int:
            with running.client() as client:
                return client.post("/embed", json=LONG).status_code

        def is_running() -> bool:
            with running.client() as client:
                return "noppa_running 1.0" in client.get("/metrics").text

        idle = running.connect()
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(embed)
            wait_until(lambda: is_running() or answered.done())
            running.process.send_signal(signal.SIGTERM)
            assert answered.result() == 200
        assert running.stop() == 0
        idle.close()
    assert running.events("stopped")


def test_killed_workers_are_replaced(encoder: noppa.Encoder) -> None:
    with serving(str(encoder.path), "--workers", "2") as running:
        before = wait_until(lambda: pids if len(pids := children(running.process.pid)) == 2 else [])
        os.kill(before[0], signal.SIGKILL)
        wait_until(lambda: len({*children(running.process.pid)} - {before[0]}) == 2)
        wait_until(running.is_healthy)
        with running.client() as client:
            assert client.get("/metrics").status_code == 200


# Without a socket


class Apps:
    """Applications around one encoder."""

    def __init__(self, encoder: noppa.Encoder) -> None:
        self.encoder = encoder
        self.made: list[Application] = []

    def __call__(self, **options: Any) -> Application:
        settings = Settings(**options)
        self.made.append(Application(settings, Models({"small": self.encoder}, settings)))
        return self.made[-1]


@pytest.fixture
def make(encoder: noppa.Encoder) -> Iterator[Apps]:
    apps = Apps(encoder)
    yield apps
    for app in apps.made:
        assert app.service.memory.held == 0
        app.service.close()


def padded(size: int) -> bytes:
    body = json.dumps({"inputs": TEXT}).encode()
    return body + b" " * (size - len(body))


def test_bodies_share_a_memory_budget(make: Apps) -> None:
    """Beyond it, 503 before a byte is read; and room again when others are done."""
    app = make(max_memory=1000, max_body=1000)
    go_on = asyncio.Event()
    started: list[str] = []

    async def slow(name: str) -> AsyncIterator[bytes]:
        started.append(name)
        await go_on.wait()
        yield padded(800)

    async def run() -> None:
        declared = {"content-length": "800"}
        first = asyncio.ensure_future(ask(app, "/embed", slow("first"), declared))
        while app.service.memory.held == 0:
            await asyncio.sleep(0)
        second = await ask(app, "/embed", slow("second"), declared)
        assert second.status == 503
        assert second.error["code"] == "out_of_memory"
        assert (await ask(app, "/embed", padded(200))).status == 200
        go_on.set()
        assert (await first).status == 200
        assert (await ask(app, "/embed", padded(800))).status == 200
        assert started == ["first"]

    asyncio.run(run())


def test_a_body_of_unknown_length_is_counted_as_it_arrives(make: Apps) -> None:
    app = make(max_memory=1000, max_body=1000)

    async def parts() -> AsyncIterator[bytes]:
        for _ in range(9):
            yield b" " * 100

    app.service.memory.reserve(500)
    assert asyncio.run(ask(app, "/embed", parts())).status == 503
    app.service.memory.release(500)
    assert asyncio.run(ask(app, "/embed", parts())).status == 400


def test_texts_times_dimensions_are_bounded(make: Apps) -> None:
    app = make(max_memory=100_000, max_body=10_000)
    lines, wide = [TEXT] * 20, {"name": "dct", "k": 64}  # 512 dimensions
    for path, body in (
        ("/lines/vectors", {"lines": lines}),
        ("/lines/map", {"lines": lines}),
        ("/search", {"query": TEXT, "lines": lines}),
        ("/similarity", {"a": lines, "b": TEXT}),
    ):
        assert asyncio.run(ask(app, path, json.dumps(body).encode())).status == 200
        refused = asyncio.run(ask(app, path, json.dumps({**body, "method": wide}).encode()))
        assert refused.status == 413
        assert "bytes of memory" in refused.error["message"]


def test_a_slow_body(make: Apps) -> None:
    async def never() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(60)

    answer = asyncio.run(ask(make(body_seconds=0.05), "/embed", never()))
    assert answer.status == 408


@pytest.mark.parametrize("strings", [b'"ab",', b'"a\\\\",'])
def test_a_body_of_many_strings(
    make: Apps, monkeypatch: pytest.MonkeyPatch, strings: bytes
) -> None:
    monkeypatch.setattr(routing, "MAX_STRINGS", 100)
    body = b'{"inputs": [' + strings * 300 + b'"a"]}'
    assert asyncio.run(ask(make(), "/embed", body)).status == 413
    few = json.dumps({"inputs": ['"quoted" and [bracketed], with commas' * 50] * 60}).encode()
    assert asyncio.run(ask(make(), "/embed", few)).status == 200


def test_compressed_bodies_are_refused(make: Apps) -> None:
    answer = asyncio.run(ask(make(), "/embed", padded(50), {"content-encoding": "gzip"}))
    assert (answer.status, answer.error["code"]) == (415, "encoded_body")


def test_a_large_answer_is_sent_in_parts(make: Apps, encoder: noppa.Encoder, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.setattr(middleware, "PART", 1000)
    texts = [f"the girl w{number}" for number in range(40)]
    answer = asyncio.run(ask(make(), "/embed", json.dumps({"inputs": texts}).encode()))
    sizes = [len(message["body"]) for message in answer.messages[1:]]
    assert len(sizes) > 3
    assert max(sizes) == 1000
    rows = np.array(json.loads(answer.body), np.float32)
    assert rows.tobytes() == encoder.encode(texts, normalize=True).tobytes()


def test_a_full_queue(make: Apps, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one thread and one place in the queue, a third request gets 429."""
    monkeypatch.setenv("NOPPA_THREADS", "1")
    monkeypatch.setattr(service, "SMALL_TEXTS", 0)
    app, release = make(max_queue=1), threading.Event()
    encode = app.models.encode
    monkeypatch.setattr(app.models, "encode", lambda *args, **options: (release.wait(60), encode(*args, **options))[1])  # fmt: skip

    async def run() -> list[int]:
        waiting = [asyncio.ensure_future(ask(app, "/embed", padded(50))) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = await ask(app, "/embed", padded(50))
        assert third.error["code"] == "queue_full"
        assert third.headers[b"retry-after"] == b"1"
        release.set()
        return [answer.status for answer in await asyncio.gather(*waiting)] + [third.status]

    assert asyncio.run(run()) == [200, 200, 429]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [(MemoryError(), 503, "out_of_memory"), (RuntimeError("secret"), 500, "internal_error")],
)
def test_internal_errors(make: Apps, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int, code: str) -> None:  # fmt: skip
    app = make()

    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(app.models, "encode", fail)
    answer = asyncio.run(ask(app, "/embed", padded(50)))
    assert (answer.status, answer.error["code"]) == (status, code)
    assert b"secret" not in answer.body


@pytest.mark.parametrize(
    "job",
    [
        lambda rows, check: linked_groups(rows, 0.9, check),
        lambda rows, check: group_rows(rows, 5, check),
        lambda rows, check: principal_plane(rows, check),
    ],
    ids=["duplicates", "clusters", "map"],
)
def test_long_work_stops_when_the_client_disconnects(make: Apps, job: Any) -> None:
    rows = np.random.default_rng(1).normal(size=(2000, 16)).astype(np.float32)
    for checks in (0, 1):
        with pytest.raises(ClientDisconnected):
            job(rows, disconnecting_task(make(), checks).check)
    with pytest.raises(ClientDisconnected):  # within k-means
        make().methods.encoder(None, {"name": "vlawe"}, disconnecting_task(make(), 4))


def disconnecting_task(app: Application, checks: int) -> Task:
    """Return a task whose client disconnects after so many checks."""
    left = iter(range(checks))
    context = RequestContext("id", app.service.memory)
    return Task(context, 1, float("inf"), lambda: next(left, None) is None)
