"""Reads a body within its limits and the memory budget, and parses the fields that its route declares."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Collection
from itertools import islice
from typing import Any, NamedTuple, NoReturn

from starlette.requests import Request

from noppa.serve.budget import Lease
from noppa.serve.fields import kind_of
from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.settings import Settings
from noppa.serve.turns import Left

#: A body over the limit is read and discarded up to this size: a client that is still writing when the connection closes
#: may never see the 413.
DISCARDED = 256 << 20
#: Smaller bodies are parsed on the event loop: handing them to a thread costs more.
LARGE = 64 << 10
#: Numbers, strings, arrays and objects of a body: each takes up to 70 bytes of memory, however short it is.
MOST_VALUES = 250_000
#: Names of fields that nobody declared are kept for a message, so many and so much of each.
MOST_NAMES, LONGEST_NAME = 100, 100


async def read(request: Request, settings: Settings, lease: Lease) -> bytearray:
    """The whole body; 413 beyond the limit, 408 from a client that is too slow, 503 beyond the budget."""
    encoding = request.headers.get("content-encoding", "identity")
    if encoding.lower() != "identity":
        raise Problem(
            415,
            "content-encoding is not supported here: send the body as it is",
            code="encoded_body",
        )
    if "upgrade" in request.headers:  # httptools drops the body of such a request
        raise invalid(
            "a body cannot come with an Upgrade header here: let your client speak HTTP/1.1 alone",
            code="upgrade_unsupported",
        )
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else 0
    limit = settings.max_body
    if size > limit and ("expect" in request.headers or size > DISCARDED):
        raise _too_long(size, limit, close=True)
    if size <= limit:
        lease.grow(size)
    arrived = _Arrived(limit, size, lease)
    # Not asyncio.wait_for, which on Python 3.11 and earlier starts a task for every request.
    task = asyncio.current_task()
    assert task is not None
    timer = task.get_loop().call_later(settings.body_seconds, arrived.stop, task)
    try:
        await arrived.read(request)
    except BaseException as error:
        arrived.data.clear()  # else the traceback keeps it until the answer is sent
        if not arrived.stopped or not isinstance(error, asyncio.CancelledError):
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
    return arrived.data


class _Arrived:
    """The bytes of a body so far; beyond the limit only their number."""

    def __init__(self, limit: int, declared: int, lease: Lease) -> None:
        self.limit, self.declared, self.lease = limit, declared, lease
        self.data = bytearray()
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
                self.lease.grow(self.received)
                self.data += piece
            else:
                self.data = bytearray()
                self.lease.resize(0)
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


class Parsed(NamedTuple):
    """The known fields of a body by name, and the names of others."""

    fields: dict[str, Any]
    others: list[str]


def parsed(data: bytearray, names: Collection[str]) -> Parsed:
    """The fields of a JSON object, 400 if it is none; values of those that are not in `names` are dropped to free memory."""
    # First with the marks inside of strings, which takes a fraction of the time.
    if len(data) > LARGE and _marks(data) > MOST_VALUES and value_count(data) > MOST_VALUES:
        raise too_large(
            f"the body has more than {MOST_VALUES} values: send texts as strings, and fewer at a time"
        )
    try:
        # json.loads(bytes) would also accept UTF-16 and UTF-32, which `value_count` cannot count.
        text = data.decode("utf-8-sig", "surrogatepass")
        data.clear()
        value = json.loads(text, parse_constant=_refused)
    except UnicodeDecodeError as error:
        raise invalid(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    except RecursionError:
        raise invalid("the body is nested too deeply: a request is one flat object") from None
    except ValueError as error:
        raise invalid(f"the body is not JSON: {_short(str(error))}") from None
    if not isinstance(value, dict):
        raise invalid(f"the body is {kind_of(value)}: send a JSON object")
    known = {name: one for name, one in value.items() if name in names}
    others = islice((name[:LONGEST_NAME] for name in value if name not in known), MOST_NAMES)
    return Parsed(known, [*others])


def value_count(data: bytearray) -> int:
    """An upper bound of the values in a JSON text, counted without parsing it."""
    bare = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    strings = bare.count(b'"') // 2
    # Each is a value or the name of one; splitting so many would itself take too much.
    if strings > 2 * MOST_VALUES:
        return strings
    return _marks(b"".join(bare.split(b'"')[::2]))


def _marks(data: bytes | bytearray) -> int:
    """One more than the bytes that stand before a value, in a JSON text of more than one."""
    return 1 + sum(data.count(mark) for mark in (b",", b"[", b"{"))


def size_of(value: Any) -> int:
    """Memory of a parsed value, with everything in it."""
    size, pending = 0, [value]
    while pending:  # not by recursion: a body may be nested as deeply as the parser allows
        one = pending.pop()
        size += sys.getsizeof(one)
        if isinstance(one, (list, dict)):
            pending += one.values() if isinstance(one, dict) else one
    return size


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _short(message: str) -> str:
    # Python's messages give the position and never quote the text.
    return message if len(message) < 200 else message[:200] + "…"
