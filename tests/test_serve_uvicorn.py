"""What connections.py relies on in uvicorn: where its internals change, these fail before a bound is lost."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

import pytest
from uvicorn import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from noppa.serve.connections import MOST_PIPELINED, Connection, bounded
from noppa.serve.metrics import Metrics
from noppa.serve.settings import Settings

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Transport(asyncio.Transport):
    """Keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.closed = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.closed

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        """As often as it is asked to."""

    resume_reading = pause_reading


class Served:
    """A connection without a socket, in front of an application that waits for `answer` before each part."""

    def __init__(self, **settings: Any) -> None:
        self.answer = asyncio.Semaphore(0)
        self.metrics = Metrics()
        self.http = bounded(Settings(**settings), self.metrics)
        self.config = Config(
            self.app, http=self.http, interface="asgi3", ws="none", log_config=None
        )
        self.state = ServerState()
        self.connection, self.transport = self.connect()

    def connect(self) -> tuple[Connection, Transport]:
        connection = self.http(self.config, self.state, {})
        connection.connection_made(transport := Transport())
        return connection, transport

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        await self.answer.acquire()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await self.answer.acquire()
        await send({"type": "http.response.body", "body": b"ok"})

    async def go_on(self, parts: int) -> None:
        """Let the application send so many parts."""
        for _ in range(parts):
            self.answer.release()
        for _ in range(10 * parts + 10):
            await asyncio.sleep(0)

    def refused(self, status: int) -> bool:
        head, _, body = self.transport.written.rpartition(b"\r\n\r\n")
        assert self.transport.closed
        return b"HTTP/1.1 %d" % status in head and bool(json.loads(body)["error"]["message"])


def test_every_override_exists_in_uvicorn() -> None:
    """With the same parameters; what is not an override is private to us."""
    names = [name for name, value in vars(Connection).items() if inspect.isfunction(value)]
    overrides = [name for name in names if not name.startswith("_")]
    assert len(overrides) > 10
    for name in overrides:
        ours, theirs = getattr(Connection, name), getattr(HttpToolsProtocol, name)
        parameters = [[*inspect.signature(function).parameters] for function in (ours, theirs)]
        assert parameters[0] == parameters[1], name
    for name in set(names) - set(overrides) - {"__init__"}:
        assert not hasattr(HttpToolsProtocol, name), f"uvicorn has a {name} of its own now"


def test_our_state_is_not_uvicorns() -> None:
    async def run() -> None:
        served = Served()
        ours = set(vars(served.connection)) - set(
            vars(HttpToolsProtocol(served.config, served.state, {}))
        )
        assert ours == {
            "unanswered", "step", "sending", "write_paused", "in_message", "lingering", "head_bytes", "silent_bytes", "status"
        }  # fmt: skip

    asyncio.run(run())


def test_answers_are_followed_to_their_end() -> None:
    """The timers rest on it: a request is unanswered from the end of its head to the end of its answer."""

    async def run() -> None:
        served = Served()
        connection = served.connection
        connection.data_received(GET + GET)
        await served.go_on(0)
        assert [one.response_started for one in connection.unanswered] == [False, False]
        await served.go_on(1)
        assert [one.response_started for one in connection.unanswered] == [True, False]
        await served.go_on(1)
        assert len(connection.unanswered) == 1
        await served.go_on(2)
        assert not connection.unanswered
        assert served.transport.written.count(b"HTTP/1.1 200") == 2
        assert connection.step is not None
        assert not connection.step.cancelled()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (GET[:-2] + b"A: b\r\n" * 2000 + b"\r\n", 431),
        (GET[:-2] + b"A: " + b"b" * 2000, 431),
        (GET * (MOST_PIPELINED + 2), 429),
    ],
    ids=["no HTTP", "a long head", "half a long header", "many at once"],
)
def test_the_parser_stops_where_a_callback_says_so(data: bytes, status: int) -> None:
    async def run() -> None:
        served = Served(max_header=1000)
        served.connection.data_received(data)
        assert served.refused(status)

    asyncio.run(run())


@pytest.mark.found(
    "code review", "bytes that are no HTTP behind two requests were refused inside the first answer"
)
def test_a_refusal_never_ends_up_inside_an_answer() -> None:
    async def run() -> None:
        served = Served()
        served.connection.data_received(GET + GET)
        await served.go_on(1)  # the head of the first answer is out, and the second request waits
        before = served.transport.written
        served.connection.data_received(b"nonsense\r\n\r\n")
        assert served.transport.closed
        assert served.transport.written == before

    asyncio.run(run())


def test_connections_are_counted_and_bounded() -> None:
    async def run() -> None:
        served = Served(max_connections=1)
        first = served.connection
        _, served.transport = served.connect()
        assert served.refused(503)
        assert "noppa_connections 2.0\n" in served.metrics.text()
        first.connection_lost(None)
        assert "noppa_connections 1.0\n" in served.metrics.text()

    asyncio.run(run())
