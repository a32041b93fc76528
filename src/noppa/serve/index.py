"""A served index: GET /index, POST /index/search, and, with an API key, POST /index/add and /index/delete."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Raw, field
from starlette.requests import Request
from starlette.responses import Response

from noppa import Encoder, Index
from noppa.errors import FileError, ParameterError
from noppa.io import storage
from noppa.search.rows import MOST_DEPTH
from noppa.search.storage import KIND
from noppa.search.where import parse_where
from noppa.serve import monitoring
from noppa.serve.errors import ApiError, busy, invalid, too_large
from noppa.serve.explore import MAX_TOKENS, HitCount
from noppa.serve.models import Counts
from noppa.serve.routing import Body, Operation, json_response
from noppa.serve.service import Task

if TYPE_CHECKING:
    from noppa.serve.app import Application

#: Most hits that are explained in one request.
MAX_EXPLAINED = 20
#: Most values in the metadata or the filter of a request; each takes some 60 bytes of memory.
MAX_VALUES = 250_000

Ids = Annotated[list[Annotated[str, Meta(min_length=1)] | int], Meta(min_length=1)]
JsonObject = Annotated[Raw, Meta(extra_json_schema={"type": "object"})]
Metadata = Annotated[
    Raw,
    Meta(extra_json_schema={"type": "array", "items": {"type": ["object", "null"]}}),
]


class IndexSearch(Body):
    query: Annotated[str, Meta(min_length=1)]
    count: HitCount = 10
    #: Conditions on the metadata, such as {"lang": "en", "year": {">": 2020}}.
    where: JsonObject = field(default_factory=Raw)
    mode: Literal["hybrid", "meaning", "words"] = "hybrid"
    explain: bool = False


class AddTexts(Body):
    texts: list[str]
    ids: Ids | None = None
    metadata: Metadata = field(default_factory=Raw)


class DeleteTexts(Body):
    ids: Ids


class ServedIndex:
    """An index and its name. Searches see every commit, also those of other processes."""

    def __init__(self, name: str, index: Index) -> None:
        self.name, self.index = name, index
        self.encoder: Encoder = index.encoder

    def check(self) -> None:
        """Raise if the folder is gone, without waiting for a writer."""
        folder = self.index.folder
        if folder is not None and storage.kind_of(folder) != KIND:
            raise FileError(f"{folder} is not an index any more")

    def facts(self) -> dict[str, Any]:
        facts = self.index.to_dict()
        return {"name": self.name, **{key: facts[key] for key in ("texts", "dim", "dtype", "fields")}}  # fmt: skip

    @contextmanager
    def available(self) -> Iterator[None]:
        """Answer 503 if the folder cannot be read or written now, because of a long write or a full disk."""
        try:
            yield
        except FileError as error:
            monitoring.logger.error("index unavailable", exc_info=error)
            raise busy(
                "the index cannot be read or written now: try again later", code="index_unavailable"
            ) from error


def operations(app: Application) -> list[Operation]:
    served, models, settings, service = app.index, app.models, app.settings, app.service
    if served is None:
        return []
    index = served.index

    async def info(request: Request) -> Response:
        facts = await service.run(request, lambda task: served.facts())
        return json_response({**facts, "writable": bool(settings.keys)})

    async def search(request: Request, body: IndexSearch) -> Response:
        where = _decode(body.where, "where")
        try:
            parse_where(where)
        except ParameterError as error:
            raise invalid(str(error), "where") from None
        if body.explain and body.count > MAX_EXPLAINED:
            raise invalid(f"count is {body.count}, and at most {MAX_EXPLAINED} hits are explained", "count")  # fmt: skip

        def job(task: Task) -> tuple[dict[str, Any], Counts]:
            _, counts = models.encode(served.encoder, [body.query], task, "query")
            with served.available(), task.interruptible():
                hits = index.search(body.query, body.count, where, body.mode)
            size = sum(len(hit.text) for hit in hits)
            if size > settings.max_body:
                raise too_large(f"the hits have {size} characters: request fewer", "count")
            results = []
            for hit in hits:
                task.check()
                facts = hit.to_dict()
                if body.explain:
                    ids, _ = served.encoder.look_up([hit.text], 1, served.encoder.known_share())
                    facts["why"] = hit.explain().to_dict() if len(ids) <= MAX_TOKENS else None
                results.append(facts)
            notes = {"note": hits.note or None, "warning": counts.warning}
            return {"results": results, **notes}, counts

        return await service.answer(request, job)

    async def add(request: Request, body: AddTexts) -> Response:
        check_writable()
        texts = models.texts(body.texts, "texts")
        metadata = _decode(body.metadata, "metadata")
        rows = [None] if metadata is None else metadata
        if type(rows) is not list or not all(isinstance(row, dict | None) for row in rows):
            raise invalid("metadata must be an array of objects, one per text", "metadata")

        def job(task: Task) -> tuple[dict[str, Any], Counts]:
            rows, counts = models.encode(served.encoder, texts, task, "texts")
            with served.available():
                ids = index.add(texts, body.ids, metadata, vectors=rows)
            return {"ids": ids, "texts": len(index)}, counts

        return await service.answer(request, job)

    async def delete(request: Request, body: DeleteTexts) -> Response:
        check_writable()

        def job(task: Task) -> dict[str, Any]:
            with served.available():
                index.delete(body.ids)
            return {"deleted": len(body.ids), "texts": len(index)}

        return json_response(await service.run(request, job))

    def check_writable() -> None:
        if not settings.keys:
            raise ApiError(
                403,
                "changing an index needs an API key, and this server has none",
                code="keys_needed",
            )

    facts = dict[str, Any]
    return [
        Operation("GET", "/index", "Facts about the index.", info, facts),
        Operation(
            "POST", "/index/search", "Texts of the index that match a query by meaning, by words, or by both.", search, facts,
            body=IndexSearch, example={"query": "a child eats", "count": 5, "mode": "hybrid"},
        ),
        Operation(
            "POST", "/index/add", "Add texts to the index; they are on disk when this is answered.", add, facts,
            body=AddTexts, example={"texts": ["the soup was cold"], "ids": ["review-7"], "metadata": [{"year": 2024}]},
        ),
        Operation(
            "POST", "/index/delete", "Delete texts from the index by their ids; all of them or none.", delete, facts,
            body=DeleteTexts, example={"ids": ["review-7"]},
        ),
    ]  # fmt: skip


def _decode(raw: Raw, param: str) -> Any:
    """Decode JSON of any shape; 413 if it has too many values, 400 if it is nested too deeply to be stored."""
    data = bytes(raw)
    if not data:
        return None
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise too_large(f"{param} has more than {MAX_VALUES} values", param)
    value = json.loads(data)
    level = [value]
    for _ in range(MOST_DEPTH + 1):
        inner = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]  # fmt: skip
        level = [item for items in inner for item in items]
    if level:
        raise invalid(f"{param} is nested too deeply: at most {MOST_DEPTH} levels are stored", param)  # fmt: skip
    return value
