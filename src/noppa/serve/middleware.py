"""The outermost middleware: request ids, API keys, one shape for every error, metrics and the request log."""

from __future__ import annotations

import hmac
import re
import time
import uuid

import anyio
from starlette.exceptions import HTTPException
from starlette.routing import Router
from starlette.types import Message, Receive, Scope, Send

from noppa.errors import NoppaError
from noppa.serve import monitoring
from noppa.serve.errors import ApiError, ClientDisconnected, busy
from noppa.serve.service import RequestContext, Service

#: Paths that need no API key, with GET.
PUBLIC = frozenset(("/", "/health", "/ready", "/metrics", "/openapi.json", "/docs"))
PAGE_FILES = "/page/"
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
CLIENT_DISCONNECTED = 499
#: Answers are sent in parts of this size, so that a client that does not read holds up only its own answer.
PART = 256 << 10
WARNING_HEADER = "x-noppa-warning"
MAX_WARNING = 2000


class RequestMiddleware:
    """Wraps the router."""

    def __init__(self, router: Router, service: Service) -> None:
        self.router, self.service = router, service
        self.keys = [key.encode() for key in service.settings.keys]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.router(scope, receive, send)
            return
        began = time.perf_counter()
        headers = dict(scope["headers"])
        client_id = headers.get(b"x-request-id", b"").decode("latin-1")
        request_id = client_id if REQUEST_ID.fullmatch(client_id) else uuid.uuid4().hex
        context = scope["noppa"] = RequestContext(request_id, self.service.memory)
        # With an app in the scope the router raises 404 and 405 instead of answering itself.
        scope["app"] = self
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] += self._headers(context)
            if len(message.get("body", b"")) <= PART:
                await send(message)
                return
            body = message["body"]
            for stop in range(PART, len(body) + PART, PART):
                more = stop < len(body) or message.get("more_body", False)
                with anyio.fail_after(self.service.settings.send_seconds):
                    await send({**message, "body": body[stop - PART : stop], "more_body": more})

        try:
            self._authenticate(scope["method"], scope["path"], headers)
            await self.router(scope, receive, answer)
        except ClientDisconnected:
            status = CLIENT_DISCONNECTED
            monitoring.dropped_requests.inc()
        except Exception as error:
            if status:  # the answer has begun: the server closes the connection
                raise RuntimeError("the answer was interrupted") from None
            await _as_api_error(error, scope, request_id).response()(scope, receive, answer)
        finally:
            context.release()
            self._record(scope["method"], context, status, time.perf_counter() - began)

    def _authenticate(self, method: str, path: str, headers: dict[bytes, bytes]) -> None:
        is_public = method in ("GET", "HEAD") and (path in PUBLIC or path.startswith(PAGE_FILES))
        if is_public or not self.keys:
            return
        scheme, _, key = headers.get(b"authorization", b"").partition(b" ")
        # Compares with every key, each in constant time, so that timing reveals nothing.
        matches = [hmac.compare_digest(key.strip(), known) for known in self.keys]
        if scheme.lower() != b"bearer" or not any(matches):
            raise ApiError(
                401,
                f"the API key is {'wrong' if key else 'missing'}: send the header Authorization: Bearer KEY",
                code="invalid_api_key",
                headers={"www-authenticate": "Bearer"},
            )

    def _headers(self, context: RequestContext) -> list[tuple[bytes, bytes]]:
        headers = [(b"x-request-id", context.id.encode()), (b"x-content-type-options", b"nosniff")]
        if context.warnings:
            text = "; ".join(context.warnings)[:MAX_WARNING]
            headers.append((WARNING_HEADER.encode(), text.encode("ascii", "replace")))
        return headers

    def _record(self, method: str, context: RequestContext, status: int, seconds: float) -> None:
        monitoring.requests.labels(context.route, status).inc()
        monitoring.request_seconds.labels(context.route).observe(seconds)
        counts = context.counts
        encoded = {"inputs": counts.texts, "tokens": counts.tokens} if counts is not None else {}
        monitoring.log(
            "request",
            id=context.id,
            method=method,
            route=context.route,
            status=status,
            ms=round(seconds * 1000, 3),
            **encoded,
        )


def _as_api_error(error: Exception, scope: Scope, request_id: str) -> ApiError:
    if isinstance(error, ApiError):
        return error
    if isinstance(error, HTTPException) and error.status_code == 404:
        return ApiError(404, "this path does not exist: see /docs", code="not_found")
    if isinstance(error, HTTPException):
        methods = (error.headers or {}).get("allow", "")
        message = f"this path does not allow {scope['method'][:20]}: use {methods}"
        return ApiError(error.status_code, message, code="method_not_allowed", headers=error.headers)  # fmt: skip
    if isinstance(error, NoppaError):
        return ApiError(400, str(error))
    if isinstance(error, MemoryError):
        return busy("this server is out of memory: try again later", code="out_of_memory")
    monitoring.logger.error("error", exc_info=error, extra={"facts": {"id": request_id}})
    return ApiError(
        500,
        f"an internal error: report it with the request id {request_id}",
        code="internal_error",
    )
