"""Connections: how many, how long each step may take, and bytes that are hardly HTTP."""

from __future__ import annotations

import json
import resource
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

import noppa
from tests.runs import PATIENCE, wait_until
from tests.serving import Running, made_encoder, serving

HOST = b"Host: 127.0.0.1\r\n"
POST = b"POST /embed HTTP/1.1\r\n" + HOST
GET = b"GET /health HTTP/1.1\r\n" + HOST


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("connections") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path)) as running:
        yield running


@pytest.fixture(scope="module")
def impatient(encoder: noppa.Encoder) -> Iterator[Running]:
    """A server that waits for nobody, but long enough for a client that means well on a busy machine."""
    seconds = [f"--{name}-seconds=4" for name in ("header", "body", "keep-alive", "send")]
    with serving(str(encoder.path), *seconds) as running:
        yield running


def drip(connection: socket.socket, piece: bytes) -> bytes:
    """What comes back while `piece` is sent again and again, until the server ends the connection."""
    connection.settimeout(0.2)
    answer, end = b"", time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            connection.sendall(piece)
            while received := connection.recv(1 << 16):
                answer += received
            return answer
        except TimeoutError:
            continue
        except OSError:
            return answer
    pytest.fail("the connection is held for as long as the client likes")


SLOW = {
    "an unread body": (
        b"POST /nothing HTTP/1.1\r\n" + HOST + b"Content-Length: 100000\r\n\r\n",
        b"x",
        [404],
    ),
    "blank lines after a request": (GET + b"\r\n", b"\r\n", [200]),
    "blank lines before a request": (b"", b"\r\n", [408]),
    "a head": (GET, b"A: b\r\n", [408]),
    "a body": (POST + b"Content-Length: 100000\r\n\r\n", b"x", [408]),
    "a chunked body": (POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n", [408]),
    "a second head": (GET + b"\r\n" + GET, b"A: b\r\n", [200, 408]),
}


@pytest.mark.found(
    "outside review", "a byte every few seconds held a connection past every timeout"
)
def test_clients_that_drip(impatient: Running) -> None:
    """Bytes that arrive do not start a timeout again; all clients at once, as each takes seconds."""

    def statuses(first: bytes, piece: bytes, wanted: list[int]) -> list[int]:
        with impatient.connect() as connection:
            connection.sendall(first)
            answer = drip(connection, piece)
        heads = [line for line in answer.split(b"\r\n") if b"HTTP/1.1 " in line]
        return [int(line.partition(b"HTTP/1.1 ")[2][:3]) for line in heads]

    with ThreadPoolExecutor(len(SLOW)) as clients:
        found = clients.map(lambda row: statuses(*row), SLOW.values())
        assert dict(zip(SLOW, found, strict=True)) == {name: row[2] for name, row in SLOW.items()}


@pytest.mark.found(
    "outside review", "a client that never read its answer kept it in memory for ever"
)
def test_a_client_that_does_not_read(impatient: Running) -> None:
    """Its connection ends in the middle of the answer."""
    texts = ["the girl eats a cake w1"] * 1500
    body = json.dumps({"a": texts, "b": texts}).encode()
    head = b"POST /similarity HTTP/1.1\r\n" + HOST + b"X-Request-Id: slow-reader\r\n"
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(PATIENCE)
        host, port = impatient.url.removeprefix("http://").split(":")
        connection.connect((host, int(port)))
        connection.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        wait_until(lambda: [e for e in impatient.events("request") if e["id"] == "slow-reader"])
        answer = b""
        with suppress(ConnectionError):
            while piece := connection.recv(1 << 16):
                answer += piece
    head, _, rest = answer.partition(b"\r\n\r\n")
    (length,) = [line for line in head.split(b"\r\n") if line.startswith(b"content-length")]
    assert len(rest) < int(length.split()[1])


def serves(server: Running) -> bool:
    """Whether a request is answered; a connection that is one too many may end with a reset before its 503 is read."""
    with server.client() as client, suppress(httpx.TransportError):
        return client.post("/embed", json={"inputs": "the girl"}).status_code == 200
    return False


def test_more_connections_than_the_server_takes(encoder: noppa.Encoder) -> None:
    with serving(str(encoder.path), "--max-connections", "3") as running:
        idle = [running.connect() for _ in range(3)]
        for connection in idle:  # all of them are taken once the last one is answered
            connection.sendall(GET + b"\r\n")
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        with running.connect() as refused:
            answer = b"".join(iter(lambda: refused.recv(1 << 16), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"retry-after: 1" in head
        assert json.loads(body)["error"]["code"] == "too_many_connections"
        for connection in idle:
            connection.close()
        wait_until(lambda: serves(running))


def test_few_file_descriptors(encoder: noppa.Encoder) -> None:
    """More clients than files that the process may open: it goes on, and serves when they have left."""
    limits = {resource.RLIMIT_NOFILE: 64}
    with serving(str(encoder.path), limits=limits) as running:
        many = [running.connect() for _ in range(100)]
        for connection in many:
            connection.close()
        wait_until(lambda: serves(running))
        assert running.stop() == 0


CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ODD: dict[str, tuple[bytes, int]] = {
    "HTTP/1.0": (b"GET /health HTTP/1.0\r\n\r\n", 200),
    "an absolute address": (b"GET http://127.0.0.1/health HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "the preface of HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "NUL in a header": (GET + b"X: a\x00b\r\n\r\n", 400),
    "NUL in a path": (b"GET /\x00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a folded header": (GET + b" folded: a\r\n\r\n", 400),
    "no UTF-8 in a query": (b"GET /health?\xff HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "escaped bytes in a query": (b"GET /health?%ff=%zz HTTP/1.1\r\n" + HOST + b"\r\n", 200),
    "a method of a megabyte": (b"A" * (1 << 20) + b" / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "a method nobody knows": (b"FOO / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "CONNECT": (b"CONNECT a:80 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    "*": (b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "..": (b"GET /page/../app.py HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "escaped slashes": (b"GET /page/..%2f..%2fapp.py HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "NUL, escaped": (b"GET /page/%00 HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "surrogates, escaped": (b"GET /v1/models/%ed%a0%80 HTTP/1.1\r\n" + HOST + b"\r\n", 404),
    "20,000 headers": (GET + b"A: b\r\n" * 20_000 + b"\r\n", 431),
    "two lengths": (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", 400),
    "a length beyond 64 bits": (POST + b"Content-Length: %d\r\n\r\n" % 10**30, 400),
    "a length of 2**63 - 1": (POST + b"Content-Length: %d\r\n\r\n" % (2**63 - 1), 413),
    "a length in hexadecimal": (POST + b"Content-Length: 0x5\r\n\r\nabcde", 400),
    "a length and chunks": (POST + b"Content-Length: 5\r\n" + CHUNKED[len(POST) :], 400),
    "a chunk of 2**72 bytes": (CHUNKED + b"f" * 18 + b"\r\n\r\n", 400),
    "a chunk of -1 bytes": (CHUNKED + b"-1\r\n\r\n", 400),
    "a chunk with a long extension": (CHUNKED + b"1;" + b"x" * 200_000, 431),
    "a long trailer": (CHUNKED + b"0\r\nX: " + b"x" * 200_000, 431),
    "many trailers": (CHUNKED + b"0\r\n" + b"X: y\r\n" * 20_000, 431),
    "many blank lines": (b"\r\n" * 100_000, 431),
    "an odd cookie": (GET + b'Cookie: noppa_lines=\xff"; =;;=,\r\n\r\n', 200),
    "an upgrade with a body": (
        POST + b"Connection: upgrade\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\n{}",
        400,
    ),
    "a broken origin": (POST + b"Origin: http://[\r\nContent-Length: 2\r\n\r\n{}", 403),
    "an odd key and id": (GET + b"Authorization: \xff\r\nX-Request-Id: \xff\r\n\r\n", 200),
}


@pytest.mark.found("fuzz: heads of requests", "an origin that is no address was answered with 500")
@pytest.mark.parametrize("name", ODD)
def test_odd_requests(server: Running, name: str) -> None:
    """A status and, for an error, its one shape."""
    sent, status = ODD[name]
    head, _, body = server.exchange(sent).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status)
    if status != 200:
        assert set(json.loads(body)["error"]) == {"message", "type", "param", "code"}


def test_pipelined_requests_are_answered_in_order(server: Running) -> None:
    with server.connect() as connection:
        connection.sendall(b"".join(GET + b"X-Request-Id: n%d\r\n\r\n" % n for n in range(20)))
        answer = b""
        while answer.count(b"}") < 20 and (piece := connection.recv(1 << 16)):
            answer += piece
    ids = [line for line in answer.split(b"\r\n") if line.startswith(b"x-request-id")]
    assert ids == [b"x-request-id: n%d" % number for number in range(20)]


@pytest.mark.found(
    "hostile requests", "pipelined requests of one connection took memory without a bound"
)
def test_too_many_pipelined_requests(server: Running) -> None:
    answer = b""
    with server.connect() as connection, suppress(ConnectionError):
        connection.sendall((GET + b"\r\n") * 3000)
        while piece := connection.recv(1 << 16):
            answer += piece
    assert answer.count(b"HTTP/1.1 200") < 3000
