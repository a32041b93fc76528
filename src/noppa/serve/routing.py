"""Routes: the typed class of a request validates its body, and describes it in the OpenAPI document."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import anyio
import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import noppa
from noppa.serve.errors import ApiError, ClientDisconnected, invalid, too_large
from noppa.serve.settings import Settings

#: Most strings in a body: each takes some 60 bytes of memory, however short it is.
MAX_STRINGS = 250_000
#: A body over the limit is read and discarded up to this size: a client that is still writing when the connection closes
#: may never see the 413.
MAX_DISCARDED = 256 << 20
#: Parts of a name that a header can hold.
UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")
MAX_NAME = 40
TOKEN_IDS = (
    "the texts are token ids of another model: with LangChain's OpenAIEmbeddings set "
    "check_embedding_ctx_length=False, otherwise send strings"
)

#: JSON that is written already, such as the numbers of a vector.
Vector = Annotated[
    msgspec.Raw,
    msgspec.Meta(extra_json_schema={"type": "array", "items": {"type": "number"}}),
]
Count = Annotated[int, msgspec.Meta(ge=1)]


class Contract(msgspec.Struct, kw_only=True):
    """A request of another server's API: unknown fields are ignored, and listed in a header."""


class Body(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A request of our own API: unknown fields are an error."""


@dataclass(frozen=True)
class Operation:
    """One method of one path.

    Args:
        handler: Called with the request and, if `body` is given, the decoded body.
        body: The class of the request body.
        answer: The type of the JSON answer; None for an answer of another kind.
        media_types: Media types of an answer that is not JSON.
        example: A request body for the documentation.
        listed: Whether the OpenAPI document has it.
    """

    method: str
    path: str
    summary: str
    handler: Callable[..., Awaitable[Response]]
    answer: Any = None
    body: type[msgspec.Struct] | None = None
    example: dict[str, Any] | None = None
    media_types: Sequence[str] = ()
    listed: bool = True

    def route(self, settings: Settings) -> Route:
        async def endpoint(request: Request) -> Response:
            context = request.scope["noppa"]
            context.route = self.path
            if self.body is None:
                return await self.handler(request)
            # The bytes of the body are free again once they are decoded.
            body = self.decode(await read_body(request, settings), context.warnings)
            return await self.handler(request, body)

        return Route(self.path, endpoint, methods=[self.method])

    def decode(self, data: bytes, warnings: list[str]) -> Any:
        """Decode and validate a body; a null field counts as absent."""
        assert self.body is not None
        # Each `\"` is an escaped quote, except behind an escaped backslash: this is at least half the number of strings.
        if (data.count(b'"') - data.count(b'\\"')) // 2 > MAX_STRINGS:
            raise too_large(f"the body has more than {MAX_STRINGS} strings: send fewer texts at a time")  # fmt: skip
        try:
            fields = _fields.decode(data)
            # Compares the length first: `bytes` copies a value.
            nulls = [key for key, raw in fields.items() if len(memoryview(raw)) == 4 and bytes(raw) == b"null"]  # fmt: skip
            if nulls:
                data = msgspec.json.encode({k: raw for k, raw in fields.items() if k not in nulls})
            names = self.body.__struct_fields__
            unknown = [UNSAFE.sub("?", name[:MAX_NAME]) for name in fields if name not in names]
            if unknown and issubclass(self.body, Body):
                raise invalid(
                    f"{unknown[0]} is not a field of {self.path}: its fields are {', '.join(names)}",
                    unknown[0],
                    "unknown_field",
                )
            if unknown:
                warnings.append(f"ignored fields: {', '.join(unknown)}")
            return msgspec.json.decode(data, type=self.body)
        except msgspec.ValidationError as error:
            raise _invalid_field(str(error)) from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise invalid(f"the body is not valid JSON: {error}") from None
        except RecursionError:
            raise invalid("the body is nested too deeply") from None


_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])


def _invalid_field(message: str) -> ApiError:
    """Turn msgspec's "Expected `str`, got `int` - at `$.input[...]`" into an answer."""
    match = re.fullmatch(r"(.*?)(?: - at `\$\.?(.*)`)?", message, re.DOTALL)
    assert match is not None
    problem, path = match[1], match[2] or ""
    param = re.split(r"[.\[]", path)[0] or None
    if param is None and "required field `" in problem:
        param = problem.split("`")[1]
    if path.endswith("]") and re.search("got `(int|array)`$", problem):
        return invalid(f"{param}: {TOKEN_IDS}", param, "token_input_unsupported")
    return invalid(f"{path or 'the body'}: {problem}", param)


async def read_body(request: Request, settings: Settings) -> bytes:
    """Return the whole body; 413 beyond the limit, 408 if it takes too long, 503 if there is no memory for it."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "compressed bodies are not supported", code="encoded_body")
    declared = request.headers.get("content-length", "")
    size = int(declared) if declared.isdecimal() else 0
    if size > MAX_DISCARDED:
        raise _too_long(size, settings.max_body)
    if size <= settings.max_body:
        request.scope["noppa"].reserve(size)
    try:
        with anyio.fail_after(settings.body_seconds):
            return await _receive(request, settings.max_body)
    except TimeoutError:
        raise ApiError(
            408,
            f"the body did not arrive within {settings.body_seconds:g} seconds",
            code="request_timeout",
            headers={"connection": "close"},
        ) from None


async def _receive(request: Request, limit: int) -> bytes:
    parts, received, more, context = [], 0, True, request.scope["noppa"]
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        part = message.get("body", b"")
        received += len(part)
        if received <= limit:
            context.reserve(received)
            parts.append(part)
        else:
            parts.clear()
        if received > MAX_DISCARDED:
            raise _too_long(received, limit)
        more = message.get("more_body", False)
    if received > limit:
        raise _too_long(received, limit)
    return b"".join(parts)


def _too_long(size: int, limit: int) -> ApiError:
    return too_large(f"the body has {size} bytes and this server allows {limit}: send fewer texts at a time")  # fmt: skip


def encode_json(value: Any) -> bytes:
    """Return a value as JSON; the numbers of arrays are rounded to nine places, more than a float32 has."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.round(value, 9).tolist() if value.dtype.kind == "f" else value.tolist()
    raise TypeError(type(value).__name__)


def json_response(value: Any) -> Response:
    return Response(encode_json(value), media_type="application/json")


class ErrorFacts(msgspec.Struct):
    message: str
    type: str
    param: str | None
    code: str | None


class ErrorAnswer(msgspec.Struct):
    error: ErrorFacts


def openapi(operations: Sequence[Operation], settings: Settings) -> dict[str, Any]:
    """Return the OpenAPI document."""
    listed = [operation for operation in operations if operation.listed]
    types = [operation.body for operation in listed if operation.body is not None]
    types += [operation.answer for operation in listed if operation.answer is not None]
    schemas, components = msgspec.json.schema_components(
        [*types, ErrorAnswer], ref_template="#/components/schemas/{name}"
    )
    by_type = dict(zip(map(repr, [*types, ErrorAnswer]), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for operation in listed:
        path = operation.path.replace(":path}", "}")
        paths.setdefault(path, {})[operation.method.lower()] = _documented(operation, path, by_type)
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "noppa",
            "version": noppa.__version__,
            "description": "Sentence vectors without a neural network, over HTTP.",
        },
        "servers": [{"url": "./"}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }
    return {**document, "security": [{"key": []}]} if settings.keys else document


def _documented(operation: Operation, path: str, schemas: dict[str, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {media_type: {"schema": {}} for media_type in operation.media_types}
    if operation.answer is not None:
        content["application/json"] = {"schema": schemas[repr(operation.answer)]}
    error = {"application/json": {"schema": schemas[repr(ErrorAnswer)]}}
    documented: dict[str, Any] = {
        "summary": operation.summary,
        "operationId": f"{operation.method.lower()} {path}",
        "responses": {
            "200": {"description": "Success.", "content": content},
            "default": {"description": "An error.", "content": error},
        },
    }
    if operation.body is not None:
        body: dict[str, Any] = {"schema": schemas[repr(operation.body)]}
        if operation.example is not None:
            body["example"] = operation.example
        documented["requestBody"] = {"required": True, "content": {"application/json": body}}
    if "{id}" in path:
        documented["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    return documented
