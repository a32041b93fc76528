"""The OpenAPI document, made of the operations that are served; GET /openapi.json."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import noppa
from noppa.serve.examples import example_of
from noppa.serve.fields import Schema, documented
from noppa.serve.gate import WATCHED
from noppa.serve.operations import NOTE, TEXT, Operation, exactly, hidden
from noppa.serve.settings import Settings


def operation(operations: Sequence[Operation], settings: Settings) -> Operation:
    # Written when it is read: methods may be registered while the server runs.
    async def openapi(request: Request) -> Response:
        return JSONResponse(document(operations, settings))

    return hidden("/openapi.json", openapi)


def document(operations: Sequence[Operation], settings: Settings) -> Schema:
    paths: dict[str, Schema] = {}
    for served in operations:
        if served.listed:
            path = served.path.replace(":path}", "}")
            paths.setdefault(path, {})[served.method.lower()] = _described(served, path)
    error = {"message": TEXT, "type": TEXT, "param": NOTE, "code": NOTE}
    described: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "noppa",
            "version": noppa.__version__,
            "description": "Sentence vectors without a neural network, over HTTP.",
        },
        "servers": [{"url": settings.prefix or "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Error": exactly({"error": exactly(error)})},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }
    if settings.keys:
        described["security"] = [{"key": []}]
    return described


def _described(served: Operation, path: str) -> Schema:
    content: Schema = {kind: {"schema": {}} for kind in served.kinds}
    if served.answer is not None:
        answers = [contract.answer for contract in served.contracts if contract.answer is not None]
        content["application/json"] = {"schema": _any_of(answers)}
    done = {"200": {"description": "Done.", "content": content}} if content else {"204": {"description": "Done."}}  # fmt: skip
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    described: Schema = {
        "summary": served.summary,
        "operationId": f"{served.method.lower()} {path}",
        "responses": {**done, "default": {"description": "An error.", "content": error}},
    }
    if served.body is not None:
        schema = _any_of([_body(contract) for contract in served.contracts])
        example = example_of(path, served.body)
        content = {"schema": schema} if example is None else {"schema": schema, "example": example}
        described["requestBody"] = {"required": True, "content": {"application/json": content}}
    if "{id}" in path:
        described["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": TEXT}]
    if path in WATCHED:
        described["security"] = []
    return described


def _body(contract: Operation) -> Schema:
    schema = documented(contract.body or {}, closed=not contract.foreign)
    return {**schema, "allOf": [*contract.conditions]} if contract.conditions else schema


def _any_of(schemas: list[Schema]) -> Schema:
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}
