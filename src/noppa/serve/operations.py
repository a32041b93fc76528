"""An operation: one method of one path, declared once for the router, the checks of its body and the OpenAPI document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from noppa.serve.fields import Body, Schema, checked, undeclared
from noppa.serve.problems import Problem, invalid
from noppa.serve.service import Service
from noppa.serve.warning_header import header_of, warn

TEXT: Schema = {"type": "string"}
NOTE: Schema = {"type": ["string", "null"]}
NUMBER: Schema = {"type": "number"}
NUMBERS: Schema = {"type": "array", "items": NUMBER}
TABLE: Schema = {"type": "array", "items": NUMBERS}
WHOLE: Schema = {"type": "integer"}
WHOLES: Schema = {"type": "array", "items": WHOLE}


def at_least(properties: Schema, *required: str) -> Schema:
    """An object that may hold more."""
    return {"type": "object", "properties": properties, "required": [*required]}


def exactly(properties: Schema) -> Schema:
    """An object of these fields alone."""
    return {**at_least(properties, *properties), "additionalProperties": False}


@dataclass(frozen=True)
class Operation:
    """What a path does for a method.

    handler: is called with the request and the checked fields of the body by name.
    answer: the schema of the JSON that it sends; None where it sends something else, or nothing.
    kinds: the media types of an answer that is not JSON.
    json_only: whether a body must be declared as JSON, which a form on another site cannot do.
    other: another contract on the same path, meant by bodies that have the field `other.mark`.
    foreign: whether clients of other servers send it, with fields of their own: these are ignored, and a header lists them.
        Where it is ours, a field that nobody declared is refused.
    conditions: of the body as a whole, JSON schemas.
    listed: whether the document names it.
    """

    method: str
    path: str
    summary: str
    handler: Callable[..., Awaitable[Response]]
    answer: Schema | None = None
    kinds: Collection[str] = ()
    body: Body | None = None
    json_only: bool = False
    other: Operation | None = None
    mark: str = ""
    foreign: bool = field(default=False, kw_only=True)
    conditions: Collection[Schema] = field(default=(), kw_only=True)
    listed: bool = field(default=True, kw_only=True)

    def route(self, service: Service) -> Route:
        """The operation as a route that is counted in /metrics by its path."""
        service.metrics.add_route(self.path)

        async def endpoint(request: Request) -> Response:
            request.scope["noppa.route"] = self.path
            if self.body is None:
                return await self.handler(request)
            if self.json_only:
                _check_json(request)
            names = {name for contract in self.contracts for name in contract.body or ()}
            fields, others = await service.fields(request, names)
            contract = self.meant(fields)
            try:
                contract.check_names(request, [*fields.items(), *((name, None) for name in others)])
                answer = await contract.handler(request, **checked(contract.body or {}, fields))
            except Problem as problem:  # a misspelt field may be why another one is missing
                problem.headers |= header_of(request)
                raise
            if warning := header_of(request):
                answer.headers.update(warning)
            return answer

        return Route(self.path, endpoint, methods=[self.method])

    def check_names(self, request: Request, fields: Iterable[tuple[str, object]]) -> None:
        """400 for a field that nobody declared, or a warning where the contract is another server's."""
        assert self.body is not None
        names = undeclared(self.body, dict(fields))
        if names and self.foreign:
            warn(request, "ignored fields", names)
        elif names:
            raise invalid(
                f"{names[0][:100]!r} is no field of {self.path or 'this'}: it takes {', '.join(self.body)}",
                names[0][:100],
                "unknown_field",
            )

    @property
    def contracts(self) -> list[Operation]:
        return [self] if self.other is None else [self, self.other]

    def meant(self, fields: Mapping[str, object]) -> Operation:
        """The contract that a body with these fields keeps."""
        is_other = self.other is not None and fields.get(self.other.mark) is not None
        return self.contracts[int(is_other)]


def hidden(path: str, handler: Callable[..., Awaitable[Response]]) -> Operation:
    """A GET that the document does not name: pages, or another path for a listed one."""
    return Operation("GET", path, "", handler, listed=False)


def _check_json(request: Request) -> None:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Problem(
            415,
            f"the body is {kind[:100] or 'of no content type'}: send application/json",
            code="unsupported_media_type",
        )
