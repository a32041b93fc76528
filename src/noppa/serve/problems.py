"""Errors as answers, in the shape that OpenAI's clients read: {"error": {message, type, param, code}}."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

INVALID = "invalid_request_error"
SERVER = "server_error"
OUT_OF_MEMORY = "out_of_memory"


class Problem(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.headers = dict(headers or {})

    @property
    def kind(self) -> str:
        if self.status == 401:
            return "authentication_error"
        if self.status == 429:
            return "rate_limit_error"
        return SERVER if self.status >= 500 else INVALID

    def body(self) -> bytes:
        error = {
            "message": self.message,
            "type": self.kind,
            "param": self.param,
            "code": self.code,
        }
        return json.dumps({"error": error}).encode()

    def response(self) -> bytes:
        """The bytes of a whole response, after which the connection ends."""
        body = self.body()
        headers = {
            "content-type": "application/json",
            "content-length": str(len(body)),
            "connection": "close",
            **self.headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        phrase = HTTPStatus(self.status).phrase
        return f"HTTP/1.1 {self.status} {phrase}\r\n{lines}\r\n".encode() + body


def invalid(message: str, param: str | None = None, code: str | None = None) -> Problem:
    """400: a wrong value."""
    return Problem(400, message, param=param, code=code)


def too_large(message: str, param: str | None = None) -> Problem:
    """413: the message names the limit and what was received."""
    return Problem(413, message, param=param, code="too_large")


def busy(message: str, status: int = 503, code: str = "unavailable", seconds: int = 1) -> Problem:
    """429 or 503, with Retry-After."""
    return Problem(status, message, code=code, headers={"retry-after": str(seconds)})
