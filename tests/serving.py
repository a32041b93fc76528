"""Servers for tests: a process on a free port, or the application without a socket."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

import noppa
from noppa.serve.app import Application
from noppa.serve.models import Models
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.runs import PATIENCE, wait_until

PROGRAM = "import sys; from noppa.cli import main; sys.argv[0] = 'noppa'; main()"


class Running:
    """A server process and its log."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.log: list[dict[str, Any]] = []
        self.url = ""
        self.listening = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "not JSON", "line": line}
            self.log.append(entry)
            if entry["event"] == "listening":
                self.url = entry["url"]
                self.listening.set()
        self.listening.set()  # it ended

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=PATIENCE, trust_env=False, **options)

    def events(self, event: str) -> list[dict[str, Any]]:
        """Return the log entries of an event."""
        return [entry for entry in [*self.log] if entry["event"] == event]

    def is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    def connect(self) -> socket.socket:
        """Open a bare connection."""
        host, port = self.url.removeprefix("http://").split(":")
        return socket.create_connection((host, int(port)), PATIENCE)

    def exchange(self, sent: bytes) -> bytes:
        """Send bytes, and return what comes back until the connection ends or an answer of JSON is complete."""
        answer = b""
        with self.connect() as connection:
            with suppress(ConnectionError):  # it answered and closed while we were still sending
                connection.sendall(sent)
            with suppress(ConnectionError):
                while not answer.endswith(b"}") and (piece := connection.recv(1 << 16)):
                    answer += piece
        return answer

    def stop(self) -> int:
        """Send SIGTERM, and return the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        return code


@contextmanager
def serving(
    *options: str,
    environment: dict[str, str] | None = None,
    limits: dict[int, int] | None = None,
    program: str = PROGRAM,
) -> Iterator[Running]:
    """Run `noppa serve` with these options; `limits` are arguments of `resource.setrlimit`."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, "serve", "--port", "0", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **(environment or {})},
        preexec_fn=lambda: [
            resource.setrlimit(name, (value, value)) for name, value in (limits or {}).items()
        ],
    )
    server = Running(process)
    try:
        assert server.listening.wait(PATIENCE)
        assert server.url, server.log
        wait_until(server.is_healthy)
        yield server
    finally:
        server.stop()
        assert process.stderr is not None
        process.stderr.close()


@contextmanager
def opened(
    settings: Settings, encoders: dict[str, noppa.Encoder] | None = None, **options: Any
) -> Iterator[TestClient]:
    """Open a client of an application in this process."""
    app = (
        Application(settings, Models(encoders, settings))
        if encoders
        else Application.load(settings)
    )
    with TestClient(app, base_url="http://127.0.0.1", **options) as client:
        yield client
    assert app.service.memory.held == 0
    app.service.close()


def error_of(answer: Any) -> dict[str, Any]:
    """Return the error of an answer, in its one shape."""
    assert answer.headers["content-type"] == "application/json"
    (error,) = answer.json().values()
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    return dict(error)


class Answer:
    """The messages that an ASGI application sent."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.messages[0]["headers"])

    @property
    def body(self) -> bytes:
        return b"".join(message["body"] for message in self.messages[1:])

    @property
    def error(self) -> dict[str, Any]:
        """The error, in its one shape."""
        assert self.headers[b"content-type"] == b"application/json"
        (error,) = json.loads(self.body).values()
        assert set(error) == {"message", "type", "param", "code"}
        return dict(error)


async def ask(
    app: Any,
    path: str,
    pieces: AsyncIterator[bytes] | bytes = b"",
    headers: dict[str, str] | None = None,
    method: str = "POST",
    raw_headers: Sequence[tuple[bytes, bytes]] = (),
) -> Answer:
    """Send one request to an ASGI application, without a socket."""
    answer, left = Answer(), asyncio.Event()
    if isinstance(pieces, bytes):
        length = {"content-length": str(len(pieces)), "content-type": "application/json"}
        headers = {**length, **(headers or {})}
        pieces = _once(pieces)

    async def receive() -> dict[str, Any]:
        async for piece in pieces:
            return {"type": "http.request", "body": piece, "more_body": True}
        if not left.is_set():
            left.set()
            return {"type": "http.request", "body": b"", "more_body": False}
        return await asyncio.Future()  # a client that waits

    async def send(message: dict[str, Any]) -> None:
        answer.messages.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "headers": [
            *((name.encode(), value.encode()) for name, value in (headers or {}).items()),
            *raw_headers,
        ],
    }
    await app(scope, receive, send)
    return answer


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


def children(pid: int) -> list[int]:
    """Return the ids of the running children of a process."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in listed]


def made_encoder(folder: Path, whitened: bool = True) -> noppa.Encoder:
    """Save and load a small encoder; its vectors can be shortened if `whitened`."""
    words = made_words(dim=8, extra=40)
    refine = [noppa.Whitening(dim=12)] if whitened else []
    model = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0), refine=refine)
    model.fit(made_texts(200, words)).save(folder)
    return noppa.load(folder)


def check_document(server: Running, client: httpx.Client, only: str = "/") -> set[tuple[str, str]]:
    """Check with schemathesis that requests that fit the OpenAPI document get answers that fit it.

    Returns the paths with their methods. `only`: the start of the paths to try.
    """
    import hypothesis
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    document = client.get("/openapi.json").json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.base_url = server.url
    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    tried = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        if not operation.path.startswith(only):
            continue
        strategy = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)

        @hypothesis.settings(
            max_examples=5,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        @hypothesis.given(case=strategy)
        def run(case: Any) -> None:
            nonlocal tried
            tried += 1
            cookies, headers = dict(client.cookies), dict(client.headers)
            case.call_and_validate(session=None, cookies=cookies, headers=headers, checks=wanted)

        run()
    assert tried
    return {(path, method) for path, methods in document["paths"].items() for method in methods}
