"""Connections with bounds: how many, how long a head, and how long each step may take; errors below HTTP in the usual shape.

One timer watches the client's next step, whatever bytes arrive meanwhile:

    connected -> head -> body -> (the application answers) -> idle -> head ...
    header_seconds      body_seconds                          keep_alive_seconds

and a second one, `send_seconds`, a client that does not read its answer.

This file alone relies on uvicorn's internals, as of uvicorn 0.30 to 0.54: the class `HttpToolsProtocol`, its methods
`on_response_complete` and `send_400_response`, and `cycle.response_started`; the other overrides are callbacks of asyncio
and httptools. tests/test_serve_uvicorn.py fails where they change. uvicorn has no public option for any of these bounds:
`limit_concurrency` counts requests, not idle connections, `timeout_keep_alive` ends with the next byte, and
`h11_max_incomplete_event_size` is for the slower parser.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noppa.serve.metrics import Metrics
from noppa.serve.problems import Problem, busy
from noppa.serve.settings import Settings

#: The application answers a slow body itself, with 408; this much later the connection is closed anyway.
GRACE_SECONDS = 2.0
#: A connection that ends between two requests is first closed for writing, and read for this long: a request that is on its
#: way would else be answered with a reset.
LINGER_SECONDS = 0.5
#: Requests of one connection that wait for the one before them: each takes some kilobytes, however short it is.
MOST_PIPELINED = 64


def bounded(settings: Settings, metrics: Metrics) -> type[Connection]:
    """uvicorn's connection with the limits of these settings."""
    shared = {"settings": settings, "metrics": metrics, "open": set(), "refusals": _refusals(settings)}  # fmt: skip
    return type("BoundedConnection", (Connection,), shared)


def _refusals(settings: Settings) -> dict[int, Problem]:
    """Answers to clients that never reach the application, by status."""
    return {
        400: Problem(400, "this is not HTTP: send a request of HTTP/1.1", code="bad_request"),
        408: Problem(
            408,
            f"the head of the request did not arrive within {settings.header_seconds:g} seconds",
            code="bad_request",
        ),
        431: Problem(
            431,
            f"the head of the request is longer than the {settings.max_header} bytes that this server takes",
            code="bad_request",
        ),
        429: busy(
            f"{MOST_PIPELINED} requests wait on this connection: read the answers first",
            429,
            "too_many_pipelined",
        ),
        503: busy(
            f"{settings.connections} connections are open, which is all that this server takes: try again later",
            code="too_many_connections",
        ),
    }


class Connection(HttpToolsProtocol):
    """One client; `bounded` makes the class for a server."""

    settings: ClassVar[Settings]
    metrics: ClassVar[Metrics]
    open: ClassVar[set[Connection]]
    refusals: ClassVar[dict[int, Problem]]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        #: Requests whose head is read and whose answer is not complete, uvicorn's objects, the oldest first.
        self.unanswered: deque[Any] = deque()
        self.step: asyncio.TimerHandle | None = None
        self.sending: asyncio.TimerHandle | None = None
        self.write_paused = False
        self.in_message = False
        self.lingering = False
        self.head_bytes = 0
        self.silent_bytes = 0
        self.status = 400

    # Steps of the client

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.open.add(self)
        self.metrics.gauge("connections", len(self.open))
        if len(self.open) > self.settings.connections:
            self._refuse(503)
        else:
            self._expect(self.settings.header_seconds, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self.open.discard(self)
        self.metrics.gauge("connections", len(self.open))
        for timer in (self.step, self.sending):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.in_message, self.head_bytes = True, 0
        self._expect(self.settings.header_seconds, self._too_slow)

    def on_headers_complete(self) -> None:
        self.silent_bytes = 0
        if len(self.unanswered) > MOST_PIPELINED:
            self._stop_parsing(429)
        super().on_headers_complete()
        self.unanswered.append(self.cycle)
        # A request that waits for the one before it is not read on: no fault of the client.
        if len(self.unanswered) > 1:
            self._expect_nothing()
        else:
            self._expect(self.settings.body_seconds + GRACE_SECONDS, self._end)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self.in_message = False
        if self.unanswered:
            self._expect_nothing()
        else:  # it was answered before it was read
            self._expect(self.settings.keep_alive_seconds, self._linger)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.unanswered.popleft()
        if self.transport.is_closing():
            self._expect(self.settings.send_seconds, self.transport.abort)
        elif self.unanswered and self.in_message:
            self._expect(self.settings.body_seconds + GRACE_SECONDS, self._end)
        elif not self.unanswered and not self.in_message:
            self._expect(self.settings.keep_alive_seconds, self._linger)
        self._stop_sending_timer()

    def _expect(self, seconds: float, late: Callable[[], None]) -> None:
        self._expect_nothing()
        self.step = asyncio.get_running_loop().call_later(seconds, late)

    def _expect_nothing(self) -> None:
        if self.step is not None:
            self.step.cancel()

    def _too_slow(self) -> None:
        if self.unanswered:  # another answer would be taken for that of an earlier request
            self._end()
        else:
            self._refuse(408)

    def _end(self) -> None:
        # Closing waits for what is still to be sent, for ever if nobody reads it.
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _linger(self) -> None:
        """End a connection without a request; who is just sending one sees the end of the stream, and no reset."""
        if not self.transport.is_closing():
            self.lingering = True
            self.transport.write_eof()
            self._expect(LINGER_SECONDS, self._end)

    def shutdown(self) -> None:
        """The server stops: a request that is here is answered, and its answer ends the connection."""
        if self.unanswered:
            super().shutdown()
        elif not self.in_message:
            # What has arrived and is not yet read is read first, and answered.
            self._expect(LINGER_SECONDS / 10, self._linger)

    # Slow readers

    def pause_writing(self) -> None:
        super().pause_writing()
        self.write_paused = True
        if self.sending is None:
            seconds = self.settings.send_seconds
            self.sending = asyncio.get_running_loop().call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.write_paused = False
        self._stop_sending_timer()

    def _stop_sending_timer(self) -> None:
        """Once all of an answer is on its way."""
        if self.sending is not None and not self.unanswered and not self.write_paused:
            self.sending.cancel()
            self.sending = None

    # Size of the head

    def data_received(self, data: bytes) -> None:
        if self.lingering:
            return
        # `on_url` and `on_header` count what the parser hands out; this counts what it holds back: half a header, the
        # extension of a chunk, a trailer, blank lines between requests.
        self.silent_bytes += len(data)
        super().data_received(data)
        if not self.transport.is_closing() and self.silent_bytes > self.settings.max_header:
            self._refuse(431)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        self._count(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._count(len(name) + len(value) + 4)

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self.silent_bytes = 0

    def _count(self, size: int) -> None:
        self.head_bytes += size
        if self.head_bytes > self.settings.max_header:
            self._stop_parsing(431)

    # Errors

    def _stop_parsing(self, status: int) -> None:
        """Raise in a callback of the parser, upon which uvicorn calls `send_400_response`."""
        self.status = status
        raise ValueError(self.refusals[status].message)

    def send_400_response(self, msg: str) -> None:
        self._refuse(self.status)

    def _refuse(self, status: int) -> None:
        """Answer below the application, unless that would end up inside another answer; and close."""
        if not self.unanswered or not self.unanswered[0].response_started:
            self.transport.write(self.refusals[status].response())
        self.transport.close()
        self._expect(GRACE_SECONDS, self.transport.abort)
