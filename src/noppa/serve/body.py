"""From bytes to checked fields: the body within its limits, and errors that name the field, what was found and what to do."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, NoReturn

from starlette.requests import Request

from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.settings import Settings
from noppa.serve.turns import Left

#: A body over the limit is read to its end, up to this much, and thrown away: a client that still writes when the
#: connection closes may never see why.
DISCARDED = 256 << 20

KINDS = {
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}

TOKENS = (
    "{param} holds token numbers, and this server takes text: with LangChain's OpenAIEmbeddings set "
    "check_embedding_ctx_length=False, elsewhere send strings"
)


async def read(request: Request, settings: Settings) -> bytes:
    """The whole body; 413 beyond the limit, 408 from a client that is too slow."""
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else 0
    limit = settings.max_body
    if size > limit and ("expect" in request.headers or size > DISCARDED):
        raise _too_long(size, limit, close=True)
    arrived = _Arrived(limit, size)
    # As asyncio.wait_for, which would start a task for every request.
    task = asyncio.current_task()
    assert task is not None
    timer = task.get_loop().call_later(settings.body_seconds, arrived.stop, task)
    try:
        await arrived.read(request)
    except asyncio.CancelledError:
        if not arrived.stopped:
            raise
        if sys.version_info >= (3, 11):
            task.uncancel()
        if max(size, arrived.received) > limit:
            raise _too_long(max(size, arrived.received), limit, close=True) from None
        raise Problem(
            408,
            f"the body did not arrive within {settings.body_seconds:g} seconds: send it faster or in smaller requests",
            code="request_timeout",
            headers={"connection": "close"},
        ) from None
    finally:
        timer.cancel()
    return b"".join(arrived.pieces)


class _Arrived:
    """What has come of a body: its pieces, or beyond the limit their size alone."""

    def __init__(self, limit: int, declared: int) -> None:
        self.limit, self.declared = limit, declared
        self.pieces: list[bytes] = []
        self.received = 0
        self.stopped = False

    def stop(self, task: asyncio.Task[Any]) -> None:
        self.stopped = True
        task.cancel()

    async def read(self, request: Request) -> None:
        more = True
        while more:
            message = await request.receive()
            if message["type"] == "http.disconnect":
                raise Left
            piece = message.get("body", b"")
            self.received += len(piece)
            if max(self.received, self.declared) <= self.limit:
                self.pieces.append(piece)
            else:
                self.pieces.clear()
            if self.received > DISCARDED:
                raise _too_long(self.received, self.limit, close=True)
            more = message.get("more_body", False)
        if self.received > self.limit:
            raise _too_long(self.received, self.limit)


def _too_long(received: int, limit: int, close: bool = False) -> Problem:
    problem = too_large(
        f"the body has {received} bytes and this server takes up to {limit}: send fewer texts at a time"
    )
    if close:
        problem.headers["connection"] = "close"
    return problem


def parsed(data: bytes) -> dict[str, Any]:
    """A JSON object, or 400."""
    try:
        value = json.loads(data, parse_constant=_refused)
    except UnicodeDecodeError as error:
        raise invalid(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    except RecursionError:
        raise invalid("the body is nested too deeply: a request is one flat object") from None
    except ValueError as error:
        raise invalid(f"the body is not JSON: {_short(str(error))}") from None
    if not isinstance(value, dict):
        raise invalid(f"the body is {kind_of(value)}: send a JSON object")
    return value


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _short(message: str) -> str:
    # Python's messages say where, and never quote the text.
    return message if len(message) < 200 else message[:200] + "…"


def kind_of(value: Any) -> str:
    return KINDS.get(type(value), type(value).__name__)


def texts(fields: dict[str, Any], name: str, settings: Settings) -> list[str]:
    """One text or a list of texts, as a list."""
    if name not in fields:
        raise invalid(f"{name} is missing: send a string or an array of strings", name)
    value = fields[name]
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise invalid(f"{name} is {kind_of(value)}: send a string or an array of strings", name)
    if not value:
        raise invalid(f"{name} is an empty array: send at least one text", name)
    if len(value) > settings.max_inputs:
        raise too_large(
            f"{name} has {len(value)} texts and this server takes up to {settings.max_inputs} a request", name
        )  # fmt: skip
    for at, item in enumerate(value):
        if isinstance(item, str):
            if not item and settings.empty_input == "error":
                raise invalid(
                    f"{name}[{at}] is an empty string: leave it out, or start the server with --empty-input zero",
                    name,
                )
        elif _is_whole(item) or (isinstance(item, list) and all(map(_is_whole, item))):
            raise invalid(TOKENS.format(param=name), name, "token_input_unsupported")
        else:
            raise invalid(f"{name}[{at}] is {kind_of(item)}: every text must be a string", name)
    return value


def text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        found = kind_of(value) if name in fields else "missing"
        raise invalid(f"{name} is {found}: send a string", name)
    return value


def whole(fields: dict[str, Any], name: str, most: int | None = None, least: int = 1) -> int | None:
    """A whole number, None where absent or null."""
    value = fields.get(name)
    if value is None:
        return None
    if not _is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        found = value if _is_whole(value) and abs(value) < 10**9 else kind_of(value)
        if _is_whole(value) and abs(value) >= 10**9:
            found = "larger than any limit" if value > 0 else "below every limit"
        raise invalid(f"{name} is {found}: send a whole number {bounds}", name)
    return int(value)


def number(fields: dict[str, Any], name: str, low: float, high: float) -> float | None:
    """A number within bounds, None where absent or null."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        found = f"{value:g}" if type(value) is float else kind_of(value)
        raise invalid(f"{name} is {found}: send a number from {low:g} to {high:g}", name)
    return float(value)


def flag(fields: dict[str, Any], name: str, default: bool) -> bool:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise invalid(f"{name} is {kind_of(value)}: send true or false", name)
    return value


def one_of(fields: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in choices:
        found = repr(value[:50]) if isinstance(value, str) else kind_of(value)
        raise invalid(f"{name} is {found}: send {' or '.join(map(repr, choices))}", name)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
