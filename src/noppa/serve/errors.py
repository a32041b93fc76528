"""Errors as HTTP answers, in OpenAI's shape: {"error": {"message", "type", "param", "code"}}."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starlette.responses import Response

TYPES = {401: "authentication_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """An error that is answered with this status; `param` is the wrong field, `code` identifies the error to programs."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.param, self.code = status, message, param, code
        self.headers = dict(headers or {})

    def response(self) -> Response:
        kind = TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")  # fmt: skip
        error = {"message": self.message, "type": kind, "param": self.param, "code": self.code}
        content = json.dumps({"error": error})
        return Response(content, self.status, self.headers, media_type="application/json")


class ClientDisconnected(Exception):
    """The client closed its connection before its answer was ready."""


def invalid(message: str, param: str | None = None, code: str | None = None) -> ApiError:
    return ApiError(400, message, param=param, code=code)


def too_large(message: str, param: str | None = None) -> ApiError:
    return ApiError(413, message, param=param, code="too_large")


def busy(message: str, status: int = 503, code: str = "unavailable") -> ApiError:
    """Return an error after which the client should try again."""
    return ApiError(status, message, code=code, headers={"retry-after": "1"})
