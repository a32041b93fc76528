"""The outermost middleware: request ids, API keys, 503 while the server stops, and one shape for every error."""

from __future__ import annotations

import hmac
import re
import time
import uuid
from collections.abc import Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import Match, Route, Router
from starlette.types import Message, Receive, Scope, Send

from noppa.errors import NoppaError
from noppa.serve import logs
from noppa.serve.metrics import OTHER
from noppa.serve.origins import Origins
from noppa.serve.problems import OUT_OF_MEMORY, Problem, busy
from noppa.serve.service import Service
from noppa.serve.turns import Left

OPEN = frozenset(("/", "/health", "/ready", "/metrics", "/openapi.json", "/docs"))
WATCHED = frozenset(("/health", "/ready", "/metrics"))
STATIC = "/page/"
IDS = re.compile(r"[A-Za-z0-9._-]{1,64}")
LEFT = 499
PIECE = 256 << 10


class Gate:
    """The outermost application."""

    def __init__(self, router: Router, service: Service) -> None:
        self.app, self.service = router, service
        self.keys = [key.encode() for key in service.settings.keys]
        self.origins = Origins(service.settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        client_id = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = client_id if IDS.fullmatch(client_id) else uuid.uuid4().hex
        path = self._path(scope)
        scope["noppa.id"] = request_id
        # With an app in the scope the router raises 404 and 405 in place of answering itself.
        scope["app"] = self
        lease = scope["noppa.lease"] = self.service.budget.lease()
        request, status = Incoming(receive), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += [
                    (b"x-request-id", request_id.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
                if self.service.draining:
                    message["headers"].append((b"connection", b"close"))
                    if b"expect" not in headers:
                        await request.discard()
                await send(message)
                return
            body = message.get("body", b"")
            if len(body) > PIECE:
                # The texts are encoded: from here on the request holds its answer alone.
                lease.resize(len(body))
            for piece in pieces(message, body):
                await send(piece)

        try:
            self._admit(scope["method"], path, headers)
            await self.app(scope, request, answer)
        except Left:
            status = LEFT
            self.service.metrics.dropped()
        except Exception as error:
            problem = self._problem(error, scope, request_id)
            if status:  # the answer has begun: uvicorn closes the connection on this error
                raise RuntimeError("an answer broke off") from None
            await _send(problem, answer)
        finally:
            lease.resize(0)
        self._note(scope, request_id, status, time.perf_counter() - began)

    def _path(self, scope: Scope) -> str:
        """The path without the proxy's prefix; requests without the prefix are served, too."""
        prefix, path = self.service.settings.prefix, str(scope["path"])
        if prefix and (path == prefix or path.startswith(prefix + "/")):
            path = path.removeprefix(prefix) or "/"
            scope["path"] = path
            scope["raw_path"] = path.encode()
        return path

    def _admit(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        if self.service.draining and path not in WATCHED:
            raise busy("this server is stopping: send the request again elsewhere", code="draining")
        if not self.keys and path not in WATCHED:
            self.origins.check(method, headers)
        is_open = method in ("GET", "HEAD") and (path in OPEN or path.startswith(STATIC))
        if is_open or not self.keys:
            return
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        # All keys are compared, each in constant time, so that timing reveals nothing.
        matches = [hmac.compare_digest(key.strip(), known) for known in self.keys]
        if scheme.lower() != b"bearer" or not any(matches):
            state = "not one of this server's" if key else "missing"
            raise Problem(
                401,
                f"the API key is {state}: send it as Authorization: Bearer KEY",
                code="invalid_api_key",
                headers={"www-authenticate": "Bearer"},
            )

    def _matching(self, scope: Scope) -> Iterator[Route]:
        """The routes of a path, of any method: also of requests that were refused before they were routed."""
        for route in self.app.routes:
            if isinstance(route, Route) and route.matches(scope)[0] != Match.NONE:
                yield route

    def _problem(self, error: Exception, scope: Scope, request_id: str) -> Problem:
        """Any exception as an answer to the client."""
        if isinstance(error, HTTPException) and error.status_code == 405:
            methods = {method for route in self._matching(scope) for method in route.methods or ()}
            offered = " or ".join(sorted(methods - {"HEAD"}))
            return Problem(
                405,
                f"this path does not take {scope['method'][:20]}: use {offered}",
                code="method_not_allowed",
                headers={"allow": ", ".join(sorted(methods))},
            )
        return _problem(error, request_id)

    def _note(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = scope.get("noppa.route") or next((one.path for one in self._matching(scope)), OTHER)
        self.service.metrics.request(route, status, seconds)
        if not self.service.settings.log_requests:
            return
        counts = scope.get("noppa.counts")
        facts = {"inputs": counts.inputs, "tokens": counts.tokens} if counts is not None else {}
        logged = logs.write(
            "request",
            id=request_id,
            method=scope["method"],
            route=route,
            status=status,
            ms=round(seconds * 1000, 3),
            **facts,
        )
        if not logged:
            self.service.metrics.dropped("dropped_log_lines")


class Incoming:
    """The messages of a request."""

    def __init__(self, receive: Receive) -> None:
        self.receive, self.unread = receive, True

    async def __call__(self) -> Message:
        message = await self.receive()
        self.unread = bool(message.get("more_body", False))
        return message

    async def discard(self) -> None:
        """Read what is left of the body: a connection that closes before that is reset, and its answer may be lost."""
        while self.unread:
            await self()


def pieces(message: Message, body: Any) -> Iterator[Message]:
    """A body in pieces, so that backpressure bounds the write buffer of the connection."""
    view = memoryview(body)
    for start in range(0, len(view) or 1, PIECE):
        more = start + PIECE < len(view) or message.get("more_body", False)
        yield {**message, "body": bytes(view[start : start + PIECE]), "more_body": more}


def _problem(error: Exception, request_id: str) -> Problem:
    """An exception that has nothing to do with the method, as an answer."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, HTTPException):
        missing = error.status_code == 404
        return Problem(
            error.status_code,
            "there is no such path here: see /docs" if missing else error.detail,
            code="not_found" if missing else None,
            headers=error.headers,
        )
    if isinstance(error, NoppaError):
        return Problem(400, str(error))
    if isinstance(error, MemoryError):
        return busy("this server has no memory left for that: try again later", code=OUT_OF_MEMORY)
    logs.write("error", id=request_id, error=type(error).__name__, places=logs.places_of(error))
    return Problem(
        500,
        f"this server made a mistake: report it with the request id {request_id}",
        code="internal_error",
    )


async def _send(problem: Problem, send: Send) -> None:
    body = problem.body()
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **problem.headers,
    }
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": problem.status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
