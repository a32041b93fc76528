"""The OpenAPI document, written by hand beside the routes and held against them by a test; GET /openapi.json."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import noppa
from noppa.serve.explore import MOST_FOUND
from noppa.serve.line_routes import FORMATS, MOST_CLUSTERS
from noppa.serve.service import Service
from noppa.serve.settings import Settings
from noppa.serve.variants import MOST_K, MOST_PARTS, NAMES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
NUMBERS: Schema = {"type": "array", "items": NUMBER}
TABLE: Schema = {"type": "array", "items": NUMBERS}
WHOLE: Schema = {"type": "integer"}
WHOLES: Schema = {"type": "array", "items": WHOLE}
OBJECT: Schema = {"type": "object"}
NOTE: Schema = {"type": ["string", "null"]}
MODEL: Schema = {"type": ["string", "null"], "description": "One of GET /v1/models."}


def routes(service: Service) -> list[Route]:
    document = documented(service.settings, service.models.encoders[service.models.default].dim)

    async def openapi(request: Request) -> Response:
        return JSONResponse(document)

    return [Route("/openapi.json", openapi)]


def documented(settings: Settings, dim: int) -> Schema:
    """The document of a server with these limits."""
    paths: dict[str, Schema] = {}
    for path, method, told, body, answer in _operations(settings, dim):
        paths.setdefault(path, {})[method] = _operation(method, path, told, body, answer)
    error = {"message": TEXT, "type": TEXT, "param": NOTE, "code": NOTE}
    document: Schema = {
        "openapi": "3.1.0",
        "info": {
            "title": "noppa",
            "version": noppa.__version__,
            "description": "Sentence vectors without a neural network, over HTTP.",
        },
        "servers": [{"url": settings.prefix or "/"}],
        "paths": paths,
        "components": {
            "schemas": {"Error": _closed({"error": _closed(error)})},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }
    if settings.keys:
        document["security"] = [{"key": []}]
    return document


def body_fields(settings: Settings) -> dict[str, frozenset[str]]:
    """The fields that a body may have, by route; what else is in it need not be kept."""
    return {
        path: frozenset(body["properties"])
        for path, _, _, body, _ in _operations(settings, 1)
        if body is not None
    }


def _operations(
    settings: Settings, dim: int
) -> list[tuple[str, str, str, Schema | None, Schema | str]]:
    """Path, method, what it does, the body's schema, and the answer's schema or media type."""
    # Of a text that may be empty, only a server told so takes an empty one.
    some: Schema = TEXT if settings.empty_input == "zero" else {"type": "string", "minLength": 1}
    texts: Schema = {
        "anyOf": [
            some,
            {"type": "array", "items": some, "minItems": 1, "maxItems": settings.max_inputs},
        ]
    }
    dimensions: Schema = {"type": ["integer", "null"], "minimum": 1, "maximum": dim}
    boolean: Schema = {"type": ["boolean", "null"]}
    method: Schema = {
        "type": ["object", "null"],
        "description": "Another method over the served words; the served encoder where absent.",
        "properties": {
            "name": {"enum": [*NAMES]},
            "a": {"type": ["number", "null"], "exclusiveMinimum": 0},
            "k": {"type": "integer", "minimum": 0, "maximum": MOST_K},
            "parts": {"type": "array", "items": TEXT, "minItems": 1, "maxItems": MOST_PARTS},
            "position": {"enum": ["paper", "reference", None]},
            "kernel": {"enum": ["log2", "abs", "square"]},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    how = {"model": MODEL, "method": method}
    model = _closed({"id": TEXT, "object": {"const": "model"}, "created": WHOLE, "owned_by": TEXT})
    vectors = {"anyOf": [NUMBERS, {"type": "string", "contentEncoding": "base64"}]}
    item = _closed({"object": {"const": "embedding"}, "index": WHOLE, "embedding": vectors})
    side = {"tokens": {"type": "array", "items": TEXT}, "known": {"type": "array"}}
    side |= {"weights": NUMBERS, "shares": NUMBERS}
    status = _closed({"status": TEXT})
    embeddings = _open(
        {
            "input": texts,
            "model": MODEL,
            "encoding_format": {"enum": ["float", "base64", None]},
            "dimensions": dimensions,
            "user": {},
        },
        "input",
    )
    embedded = _closed(
        {
            "object": {"const": "list"},
            "data": {"type": "array", "items": item},
            "model": TEXT,
            "usage": _closed({"prompt_tokens": WHOLE, "total_tokens": WHOLE}),
        }
    )
    inputs = _open(
        {
            "inputs": texts,
            "normalize": boolean,
            "truncate": boolean,
            "truncation_direction": {"enum": ["Right", None]},
            "prompt_name": {"type": "null"},
            "dimensions": dimensions,
        },
        "inputs",
    )
    attention: Schema = {"anyOf": [TABLE, {"type": "null"}]}
    lines: Schema = {"type": "array", "items": TEXT, "minItems": 1}
    return [
        ("/v1/embeddings", "post", "Vectors, as OpenAI's API gives them.", embeddings, embedded),
        ("/embeddings", "post", "The same.", embeddings, embedded),
        (
            "/v1/models", "get", "The served models.", None,
            _closed({"object": {"const": "list"}, "data": {"type": "array", "items": model}}),
        ),
        ("/v1/models/{id}", "get", "One of them.", None, model),
        ("/embed", "post", "Vectors, as text-embeddings-inference gives them.", inputs, TABLE),
        ("/info", "get", "The model and the limits.", None, _open({"model_id": TEXT}, "model_id")),
        (
            "/explain", "post", "What each token gave to the vector of a text.",
            _open({"text": TEXT, "full": boolean, **how}, "text"),
            _open({**side, "attention": attention, "pairs": TABLE, "note": NOTE}, "tokens", "pairs"),
        ),
        (
            "/similarity", "post", "Cosines of two texts, or of all of a with all of b.",
            _open({"a": texts, "b": texts, "explain": boolean, **how}, "a", "b"),
            _open({"similarity": {"anyOf": [NUMBER, TABLE]}}, "similarity"),
        ),
        (
            "/search", "post", "The lines nearest to a query: those given, else those kept for the browser.",
            _open(
                {
                    "query": TEXT,
                    "lines": {"anyOf": [*texts["anyOf"], {"type": "null"}]},
                    "count": {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_FOUND},
                    **how,
                },
                "query",
            ),
            _open(
                {
                    "results": {
                        "type": "array",
                        "items": _closed({"index": WHOLE, "similarity": NUMBER, "text": TEXT}),
                    }
                },
                "results",
            ),
        ),
        ("/methods", "get", "The methods and their parameters.", None, OBJECT),
        (
            "/lines", "post", "Keep lines for this browser, in memory.",
            _open({"lines": lines}, "lines"), _closed({"lines": WHOLE}),
        ),
        ("/lines", "delete", "Forget them.", None, "nothing"),
        (
            "/lines/duplicates", "post", "Groups of lines that say nearly the same.",
            _open({"threshold": {"type": ["number", "null"], "minimum": 0.5, "maximum": 1}, **how}),
            _open({"groups": {"type": "array", "items": _closed({"lines": WHOLES, "least": NUMBER})}}, "groups"),
        ),
        (
            "/lines/clusters", "post", "Lines in clusters.",
            _open({"count": {"type": ["integer", "null"], "minimum": 1, "maximum": MOST_CLUSTERS}, **how}),
            _open({"labels": WHOLES, "clusters": {"type": "array"}}, "labels", "clusters"),
        ),
        (
            "/lines/map", "post", "A point a line, on two principal axes.",
            _open(how), _open({"points": TABLE, "shares": NUMBERS}, "points", "shares"),
        ),
        (
            "/lines/vectors", "post", "The vectors of the lines as a file.",
            _open({"format": {"enum": [*FORMATS, None]}, **how}), "file",
        ),
        ("/health", "get", "Whether the encoder works, by encoding.", None, status),
        ("/ready", "get", "Whether to send requests here.", None, status),
        ("/metrics", "get", "Numbers for Prometheus.", None, "text/plain"),
    ]  # fmt: skip


def _operation(
    method: str, path: str, told: str, body: Schema | None, answer: Schema | str
) -> Schema:
    error = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    if isinstance(answer, str):
        kinds = [*FORMATS.values()] if answer == "file" else [answer]
        content: Schema = {kind: {"schema": {}} for kind in kinds}
    else:
        content = {"application/json": {"schema": answer}}
    done: Schema = {"200": {"description": "Done.", "content": content}}
    if answer == "nothing":
        done = {"204": {"description": "Done."}}
    operation: Schema = {
        "summary": told,
        "operationId": f"{method} {path}",
        "responses": {**done, "default": {"description": "An error.", "content": error}},
    }
    if body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": body}},
        }
    if "{id}" in path:
        operation["parameters"] = [
            {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
        ]
    if path in ("/health", "/ready", "/metrics"):
        operation["security"] = []
    return operation


def _open(properties: Schema, *required: str) -> Schema:
    """An object that may hold more."""
    return {"type": "object", "properties": properties, "required": [*required]}


def _closed(properties: Schema) -> Schema:
    """An object of exactly these fields."""
    return {**_open(properties, *properties), "additionalProperties": False}
