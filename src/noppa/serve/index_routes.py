"""Where an index is served: GET /index, POST /index/search, and, for holders of a key, POST /index/add and /index/delete."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from noppa.errors import ParameterError
from noppa.search.hits import Hit
from noppa.search.query import HYBRID, MODES
from noppa.search.rows import MOST_DEPTH
from noppa.search.where import parse_where
from noppa.serve import fields
from noppa.serve.answers import dumped
from noppa.serve.explore import EXPLAINED, MOST_FOUND
from noppa.serve.fields import Field, Schema, kind_of
from noppa.serve.operations import NOTE, NUMBER, TEXT, WHOLE, Operation, at_least, exactly
from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service
from noppa.serve.settings import Settings

#: Hits that are explained at a time.
MOST_EXPLAINED = 20
TEXTS: Schema = {"type": "array", "items": TEXT}
HIT = at_least(
    {
        "id": TEXT,
        "score": NUMBER,
        "cosine": NUMBER,
        "bm25": NUMBER,
        "overlap": NUMBER,
        "text": TEXT,
        "metadata": {"type": "object"},
        "why": {"type": ["object", "null"]},
    },
    "id", "score", "text", "metadata",
)  # fmt: skip


def operations(service: Service) -> list[Operation]:
    served, models, settings = service.index, service.models, service.settings
    if served is None:
        return []

    async def info(request: Request) -> Response:
        facts = await service.work(request, lambda watch, threads: served.to_dict())
        return JSONResponse({**facts, "writable": bool(settings.keys)})

    async def search(
        request: Request,
        query: str,
        count: int,
        where: dict[str, Any] | None,
        mode: str,
        explain: bool,
    ) -> Response:
        if explain and count > MOST_EXPLAINED:
            raise invalid(
                f"count is {count}, and up to {MOST_EXPLAINED} hits are explained at a time",
                "count",
            )

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            hits, counts = served.search(models, query, count, where, mode, watch, threads)
            size = sum(len(hit.text) for hit in hits)
            if size > settings.max_body:
                raise too_large(
                    f"the {len(hits)} hits have {size} characters and this server sends up to {settings.max_body}: ask for "
                    "fewer",
                    "count",
                )
            results = [to_dict(hit, explain, watch) for hit in hits]
            notes = {"note": hits.note or None, "warning": counts.warning}
            return dumped({"results": results, **notes}), counts

        return await service.answer(request, job)

    def to_dict(hit: Hit, explain: bool, watch: Watch) -> dict[str, Any]:
        watch.check()
        answer = hit.to_dict()
        if explain:
            ids, _ = served.encoder.look_up([hit.text], 1, served.encoder.known_share())
            answer["why"] = hit.explain().to_dict() if len(ids) <= EXPLAINED else None
        return answer

    async def add(
        request: Request, texts: list[str], ids: list[Any] | None, metadata: list[Any] | None
    ) -> Response:
        _check_keys(settings)

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            named, counts = served.add(models, texts, ids, metadata, watch, threads)
            return dumped({"ids": named, "texts": len(served.index)}), counts

        return await service.answer(request, job)

    async def delete(request: Request, ids: list[Any]) -> Response:
        _check_keys(settings)

        def job(watch: Watch, threads: int) -> dict[str, Any]:
            served.delete(ids)
            return {"deleted": len(ids), "texts": len(served.index)}

        return JSONResponse(await service.work(request, job))

    facts = at_least(
        {"name": TEXT, "texts": WHOLE, "writable": {"type": "boolean"}}, "name", "texts"
    )
    ids = _ids(settings.max_inputs)
    return [
        Operation("GET", "/index", "What the index holds.", info, facts),
        Operation(
            "POST", "/index/search", "The texts of the index that answer a query, by meaning, by words, or by both.", search,
            exactly({"results": {"type": "array", "items": HIT}, "note": NOTE, "warning": NOTE}),
            body={
                "query": fields.text(least=1),
                "count": fields.whole(1, MOST_FOUND).optional(10),
                "where": _where(),
                "mode": fields.one_of(MODES).optional(HYBRID),
                "explain": fields.flag(False),
            },
        ),
        Operation(
            "POST", "/index/add", "Texts into the index; on disk when this is answered.", add,
            exactly({"ids": TEXTS, "texts": WHOLE}), json_only=True,
            body={
                "texts": fields.text_list(settings), "ids": ids.optional(), "metadata": _metadata(settings.max_inputs),
            },
        ),
        Operation(
            "POST", "/index/delete", "Texts out of the index, by their ids; all of them or none.", delete,
            exactly({"deleted": WHOLE, "texts": WHOLE}), body={"ids": ids}, json_only=True,
        ),
    ]  # fmt: skip


def _check_keys(settings: Settings) -> None:
    """403 where everybody could write."""
    if not settings.keys:
        raise Problem(
            403,
            "an index is changed by holders of a key alone: start the server with --keys or NOPPA_API_KEYS",
            code="keys_needed",
        )


def _ids(most: int) -> Field:
    def check(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list) or not value or {*map(type, value)} - {str, int}:
            raise invalid(f"{name} must be an array of at least one string or whole number", name)
        if len(value) > most:
            raise too_large(f"{name} has {len(value)} ids and this server takes up to {most}", name)
        return value

    one = {"anyOf": [{"type": "string", "minLength": 1}, WHOLE]}
    return Field({"type": "array", "items": one, "minItems": 1, "maxItems": most}, check)


def _metadata(most: int) -> Field:
    def check(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list) or not all(
            isinstance(one, (dict, type(None))) for one in value
        ):
            raise invalid(f"{name} must be an array of objects, one a text", name)
        return list(_storable(value, name))

    one = {"type": ["object", "null"]}
    return Field({"type": "array", "items": one, "maxItems": most}, check).optional()


def _where() -> Field:
    def check(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise invalid(f"{name} is {kind_of(value)}: send an object", name)
        try:
            parse_where(_storable(value, name))
        except ParameterError as error:
            raise invalid(str(error), name) from None
        return value

    example = {"lang": "en", "year": {">": 2020}}
    schema = {"type": "object", "description": f"What metadata must be, as {json.dumps(example)}."}
    return Field(schema, check).optional()


def _storable(value: Any, name: str) -> Any:
    """The value, if all of it can be stored: no infinite numbers, no half characters, not too deep."""
    if _is_deep(value):
        raise invalid(f"{name} is nested too deeply: up to {MOST_DEPTH} levels are stored", name)
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise invalid(f"{name} has half a character, a lone surrogate: send whole ones", name) from None  # fmt: skip
    except ValueError:
        raise invalid(f"{name} has a number beyond all limits: send finite ones", name) from None
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, (dict, list))]  # fmt: skip
        level = [item for items in inner for item in items]
    return bool(level)
