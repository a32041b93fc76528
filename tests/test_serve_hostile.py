"""What nobody should send: the right status each time, and the next request is fine. And stopping in the middle."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import numpy as np
import pytest

import noppa
from tests.runs import wait_until
from tests.serving import Running, made_encoder, serving

EMBEDDINGS = "/v1/embeddings"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("hostile") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--max-body", "1000000") as running:
        yield running


@pytest.fixture(autouse=True)
def the_next_request_is_fine(server: Running, encoder: noppa.Encoder) -> Iterator[None]:
    yield
    with server.client() as client:
        assert client.get("/health").status_code == 200
        row = client.post(EMBEDDINGS, json={"input": "the girl"}).json()["data"][0]["embedding"]
    expected = encoder.encode("the girl", normalize=True)
    assert np.array(row, np.float32).tobytes() == expected.tobytes()


BODIES = [
    (b"", 400),
    (b"{", 400),
    (b"[]", 400),
    (b'"text"', 400),
    (b"null", 400),
    (b'{"input": NaN}', 400),
    (b'{"input": "a", "dimensions": Infinity}', 400),
    (b'{"input": "\xff\xfe"}', 400),
    (b"\xff\xfe{\x00}\x00", 400),
    (b'{"input": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 400),
    (b'{"a": ' * 50_000 + b"1" + b"}" * 50_000, 400),
    (b'{"input": "a", "dimensions": ' + b"9" * 5000 + b"}", 400),
    (b'{"input": "\\ud83d the girl \\u0000"}', 200),
    (b'{"input": "\\ud83d\\ude00"}', 200),
    (b'{"input": "' + b"x" * 900_000 + b'"}', 200),
    (b'{"input": "' + b"girl " * 150_000 + b'"}', 413),
    (b'{"input": ["' + b"x" * 1_000_000 + b'"]}', 413),
]


@pytest.mark.parametrize(("body", "status"), BODIES, ids=lambda value: str(value)[:40])
def test_bodies(server: Running, body: bytes, status: int) -> None:
    with server.client() as client:
        answer = client.post(EMBEDDINGS, content=body)
    assert answer.status_code == status
    if status != 200:
        assert answer.json()["error"]["message"]
    else:
        assert np.isfinite(answer.json()["data"][0]["embedding"]).all()


def test_a_body_of_100_megabytes(server: Running) -> None:
    """Declared or not, it is never held in memory; one that is announced is refused before it is sent."""

    def pieces() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * (1 << 20)

    with server.client() as client:
        before = _resident(client)
        for body in (b" " * (100 << 20), pieces()):
            answer = client.post(EMBEDDINGS, content=body)
            assert answer.status_code == 413
            assert "1000000" in answer.json()["error"]["message"]
        assert _resident(client) - before < 60 << 20
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 104857600\r\nExpect: 100-continue\r\n\r\n"
    assert server.exchange(head).startswith(b"HTTP/1.1 413")


def _resident(client: httpx.Client) -> float:
    lines = client.get("/metrics").text.splitlines()
    (line,) = [line for line in lines if line.startswith("noppa_resident_memory_bytes ")]
    return float(line.split()[1])


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", 400),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 200_000, 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 40_000 + b"\r\n\r\n", 431),
        (b"GET /" + b"y" * 40_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n{", 400),
    ],
    ids=lambda value: str(value)[:40],
)
def test_raw_bytes(server: Running, sent: bytes, status: int) -> None:
    """Broken heads, and heads too long."""
    refused(server, sent, status)


def refused(server: Running, sent: bytes, status: int) -> None:
    head, _, body = server.exchange(sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d" % status)
    assert json.loads(body)["error"]["message"]


def test_clients_that_stop_sending(encoder: noppa.Encoder) -> None:
    begun = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{"
    with (
        serving(str(encoder.path), "--header-seconds", "1", "--body-seconds", "1") as running,
        ThreadPoolExecutor(3) as clients,
    ):
        for done in [
            clients.submit(refused, running, sent, 408) for sent in (b"GET / HT", b"", begun)
        ]:
            done.result()


def test_clients_that_leave(server: Running) -> None:
    """A client that closes after sending leaves nothing behind."""
    body = json.dumps({"input": ["the girl eats " * 100] * 200}).encode()
    head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body)
    for sent in (head, head + body[:50], head + body):
        for _ in range(5):
            with server.connect() as connection:
                connection.sendall(sent)

    def is_idle() -> bool:
        with server.client() as client:
            lines = client.get("/metrics").text.splitlines()
        return {"noppa_running 0.0", "noppa_queue_depth 0.0"} <= {*lines}

    wait_until(is_idle)  # what was asked for is done or dropped


def test_a_full_queue(tmp_path: Path) -> None:
    """One at a time and nobody waiting: the others get 429 with Retry-After, and the first its answer."""
    model = made_encoder(tmp_path / "small")
    body = {"inputs": ["the girl eats w1 " * 200] * 80}
    statuses: Counter[int] = Counter()
    with serving(str(model.path), "--at-once", "1", "--queue", "1") as running:

        def ask() -> None:
            with running.client() as client:
                answer = client.post("/embed", json=body)
            statuses[answer.status_code] += 1
            if answer.status_code == 429:
                assert int(answer.headers["retry-after"]) >= 1
                assert answer.json()["error"]["code"] == "queue_full"

        for _ in range(20):
            threads = [threading.Thread(target=ask) for _ in range(12)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if statuses[429]:
                break
    assert set(statuses) == {200, 429}


def test_a_request_that_takes_too_long(tmp_path: Path) -> None:
    model = made_encoder(tmp_path / "small")
    # Many times what is allowed, and the next one a small part of it, however busy the machine is.
    body = {"inputs": ["the girl eats w1 " * 500] * 800}
    with (
        serving(str(model.path), "--request-seconds", "1") as running,
        running.client() as client,
    ):
        answer = client.post("/embed", json=body)
        assert answer.status_code == 503
        assert answer.json()["error"]["code"] == "request_timeout"
        small = {"inputs": "the girl"}  # on a busy machine even this may take a second, once
        wait_until(lambda: client.post("/embed", json=small).status_code == 200)
