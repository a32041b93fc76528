"""Connections with bounds: how many, how long a head, and how long each step may take; errors below HTTP in the usual shape.

One timer watches the client's next step, whatever bytes arrive meanwhile:

    connected -> head -> body -> (the application answers) -> idle -> head ...
    header_seconds      body_seconds                          keep_alive_seconds

and a second one, `send_seconds`, a client that does not take its answer.
"""

from __future__ import annotations

import asyncio
import http
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noppa.serve.problems import Problem, busy
from noppa.serve.settings import Settings

#: The application answers a slow body itself, with 408; this much later the connection is closed anyway.
GRACE_SECONDS = 2.0
#: Requests of one connection that wait for the one before them: each takes some kilobytes, however short it is.
MOST_PIPELINED = 64


def bounded(settings: Settings) -> type[asyncio.Protocol]:
    """uvicorn's connection with the limits of these settings."""
    limit, most = settings.max_header, settings.connections
    problems = {
        400: Problem(400, "this is not HTTP: send a request of HTTP/1.1", code="bad_request"),
        408: Problem(
            408,
            f"the head of the request did not arrive within {settings.header_seconds:g} seconds",
            code="bad_request",
        ),
        431: Problem(
            431,
            f"the head of the request is longer than the {limit} bytes that this server takes",
            code="bad_request",
        ),
        429: busy(
            f"{MOST_PIPELINED} requests wait on this connection: read the answers first",
            429,
            "too_many_pipelined",
        ),
        503: busy(
            f"{most} connections are open, which is all that this server takes: try again later",
            code="too_many_connections",
        ),
    }

    class Bounded(HttpToolsProtocol):
        step: asyncio.TimerHandle | None = None
        sending: asyncio.TimerHandle | None = None
        in_message = False
        head_bytes = 0
        silent_bytes = 0
        status = 400

        # Steps of the client

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > most:
                self._refuse(503)
            else:
                self._expect(settings.header_seconds, self._too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self.step, self.sending):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.in_message, self.head_bytes = True, 0
            self._expect(settings.header_seconds, self._too_slow)

        def on_headers_complete(self) -> None:
            self.silent_bytes = 0
            if len(self.pipeline) >= MOST_PIPELINED:
                self._stop_parsing(429)
            super().on_headers_complete()
            # A request that waits for the one before it is not read on: no fault of the client.
            if self.pipeline:
                self._expect_nothing()
            else:
                self._expect(settings.body_seconds + GRACE_SECONDS, self._end)

        def on_message_complete(self) -> None:
            super().on_message_complete()
            self.in_message = False
            if self.cycle.response_complete:  # it was answered before it was read
                self._expect(settings.keep_alive_seconds, self._end)
            else:
                self._expect_nothing()

        def on_response_complete(self) -> None:
            queued = bool(self.pipeline)
            super().on_response_complete()
            if self.transport.is_closing():
                self._expect(settings.send_seconds, self.transport.abort)
            elif queued and self.in_message:
                self._expect(settings.body_seconds + GRACE_SECONDS, self._end)
            elif not queued and not self.in_message:
                self._expect(settings.keep_alive_seconds, self._end)
            self._sent()

        def _expect(self, seconds: float, late: Callable[[], None]) -> None:
            self._expect_nothing()
            self.step = self.loop.call_later(seconds, late)

        def _expect_nothing(self) -> None:
            if self.step is not None:
                self.step.cancel()

        def _too_slow(self) -> None:
            if self.cycle is None or self.cycle.response_complete:
                self._refuse(408)
            else:  # an answer to an earlier request is under way, and another one would be taken for it
                self._end()

        def _end(self) -> None:
            # Closing waits for what is still to be sent, for ever if nobody takes it.
            if self.transport.get_write_buffer_size():
                self.transport.abort()
            else:
                self.transport.close()

        # Slow readers

        def pause_writing(self) -> None:
            super().pause_writing()
            if self.sending is None:
                self.sending = self.loop.call_later(settings.send_seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            self._sent()

        def _sent(self) -> None:
            """Stop the timer of the answer once all of it is on its way."""
            done = self.cycle is None or self.cycle.response_complete
            if self.sending is not None and done and not self.flow.write_paused:
                self.sending.cancel()
                self.sending = None

        # Size of the head

        def data_received(self, data: bytes) -> None:
            # What the parser gives out is counted there; this counts what it holds back: half a header, the
            # extension of a chunk, a trailer, blank lines between requests.
            self.silent_bytes += len(data)
            super().data_received(data)
            if not self.transport.is_closing() and self.silent_bytes > limit:
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
            if self.head_bytes > limit:
                self._stop_parsing(431)

        # Errors

        def _stop_parsing(self, status: int) -> None:
            """In a callback of the parser, which then has uvicorn send what it takes for a 400."""
            self.status = status
            raise ValueError(problems[status].message)

        def send_400_response(self, msg: str) -> None:
            self._refuse(self.status)

        def _refuse(self, status: int) -> None:
            """Answer below the application, and close."""
            answering = self.cycle is not None and not self.cycle.response_complete
            if not (answering and self.cycle.response_started):
                self.transport.write(raw_answer(problems[status]))
            self.transport.close()
            self._expect(GRACE_SECONDS, self.transport.abort)

    return Bounded


def raw_answer(problem: Problem) -> bytes:
    """An error as the bytes of a whole response, after which the connection ends."""
    body = problem.body()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **problem.headers,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    phrase = http.HTTPStatus(problem.status).phrase
    return f"HTTP/1.1 {problem.status} {phrase}\r\n{lines}\r\n".encode() + body
