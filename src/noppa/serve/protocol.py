"""Connections with bounds: a head of limited size that arrives in time, and errors below HTTP in the usual shape."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from noppa.serve.problems import Problem
from noppa.serve.settings import Settings

REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


def bounded(settings: Settings) -> type[asyncio.Protocol]:
    """uvicorn's connection with the limits of these settings."""

    class Bounded(HttpToolsProtocol):
        limit, seconds = settings.max_header, settings.header_seconds

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.in_head, self.head_bytes, self.seen, self.wrong = True, 0, 0, 400
            self.timer = self.loop.call_later(self.seconds, self.too_slow)

        def connection_lost(self, exc: Exception | None) -> None:
            self.timer.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.in_head:
                self.head_bytes += len(data)
            super().data_received(data)
            if self.transport.is_closing():
                return
            if self.in_head and self.head_bytes > self.limit:
                self.wrong = 431
                self.send_400_response("")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.in_head, self.seen = True, 0
            if self.timer.cancelled():
                self.timer = self.loop.call_later(self.seconds, self.too_slow)

        def on_url(self, url: bytes) -> None:
            super().on_url(url)
            self._count(len(url))

        def on_header(self, name: bytes, value: bytes) -> None:
            super().on_header(name, value)
            self._count(len(name) + len(value) + 4)

        def on_headers_complete(self) -> None:
            self.in_head, self.head_bytes = False, 0
            self.timer.cancel()
            super().on_headers_complete()

        def _count(self, size: int) -> None:
            # What the parser gave out; `data_received` counts what it still holds back.
            self.seen += size
            if self.seen > self.limit:
                self.wrong = 431
                raise ValueError("the head is too long")  # the parser stops, and 431 is sent

        def too_slow(self) -> None:
            if self.transport.is_closing():
                return
            self.wrong = 408
            self.send_400_response("")

        def send_400_response(self, msg: str) -> None:
            messages = {
                400: "this is not HTTP: send a request of HTTP/1.1",
                408: f"the head of the request did not arrive within {self.seconds:g} seconds",
                431: f"the head of the request is longer than the {self.limit} bytes that this server takes",
            }
            body = Problem(self.wrong, messages[self.wrong], code="bad_request").body()
            head = (
                f"HTTP/1.1 {self.wrong} {REASONS[self.wrong]}\r\ncontent-type: application/json\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

    return Bounded
