"""Reranking in the contract that Cohere and Jina share, and in that of text-embeddings-inference (TEI)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from msgspec import UNSET, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from noppa.serve.errors import invalid
from noppa.serve.models import Counts
from noppa.serve.routing import Contract, Count, Operation
from noppa.serve.service import Task

if TYPE_CHECKING:
    from noppa.serve.app import Application

EXAMPLE = {
    "query": "a child eats",
    "documents": ["a girl is eating", "the bank sells shares"],
    "top_n": 2,
}


class Document(Struct):
    text: str


class RerankRequest(Contract):
    """Cohere and Jina send `documents`, TEI sends `texts`."""

    query: str
    documents: list[str | Document] | None = None
    model: str | None = None
    top_n: Count | None = None
    return_documents: bool = False
    texts: list[str] | None = None
    raw_scores: bool = False
    return_text: bool = False
    truncate: bool = False
    truncation_direction: Literal["Right"] = "Right"


class Result(Struct):
    index: int
    relevance_score: float
    document: Document | UnsetType = UNSET


class Usage(Struct):
    total_tokens: int


class Tokens(Struct):
    input_tokens: int


class Meta(Struct):
    tokens: Tokens


class Results(Struct):
    id: str
    model: str
    results: list[Result]
    usage: Usage
    meta: Meta
    object: Literal["list"] = "list"


class Rank(Struct):
    """A result of TEI."""

    index: int
    score: float
    text: str | UnsetType = UNSET


def operations(app: Application) -> list[Operation]:
    models, service = app.models, app.service

    async def rerank(request: Request, body: RerankRequest) -> Response:
        if not body.query:
            raise invalid("query is an empty string", "query")
        if body.texts is not None:
            return await tei_rerank(request, body, models.texts(body.texts, "texts"))
        if body.documents is None:
            raise invalid("documents is missing", "documents")
        name = models.name(body.model)
        documents = models.texts(
            [item if isinstance(item, str) else item.text for item in body.documents], "documents"
        )

        def job(task: Task) -> tuple[Results, Counts]:
            scores, counts = models.similarities(
                models.encoders[name], body.query, documents, task, "documents", truncate=True
            )
            results = [
                Result(
                    index,
                    _score(scores[index]),
                    Document(documents[index]) if body.return_documents else UNSET,
                )
                for index in np.argsort(-scores, kind="stable")[: body.top_n].tolist()
            ]
            tokens = counts.tokens
            usage, meta = Usage(tokens), Meta(Tokens(tokens))
            return Results(task.context.id, name, results, usage, meta), counts

        return await service.answer(request, job, [body.query, *documents])

    async def tei_rerank(request: Request, body: RerankRequest, texts: list[str]) -> Response:
        def job(task: Task) -> tuple[list[Rank], Counts]:
            encoder = models.encoders[models.default]
            scores, counts = models.similarities(
                encoder, body.query, texts, task, "texts", body.truncate
            )
            ranks = [
                Rank(
                    index,
                    _score(scores[index], body.raw_scores),
                    texts[index] if body.return_text else UNSET,
                )
                for index in np.argsort(-scores, kind="stable").tolist()
            ]
            return ranks, counts

        return await service.answer(request, job, [body.query, *texts])

    summary = "Documents ordered by their relevance to a query, as in Cohere's and Jina's API"
    both = f"{summary}; or texts, as in text-embeddings-inference."
    contract: dict[str, Any] = {"body": RerankRequest, "example": EXAMPLE}
    return [
        Operation("POST", "/rerank", both, rerank, Results | list[Rank], **contract),
        Operation("POST", "/v1/rerank", f"{summary}.", rerank, Results, **contract),
        Operation("POST", "/v2/rerank", f"{summary}.", rerank, Results, **contract),
    ]


def _score(cosine: float, raw: bool = False) -> float:
    """Return a score from 0 to 1, as rerankers give: the cosine, or 0 if it is negative and not `raw`."""
    return round(float(cosine) if raw else max(0.0, float(cosine)), 9)
