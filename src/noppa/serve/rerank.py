"""Reranking: POST /rerank, /v1/rerank and /v2/rerank in the shape that Jina and Cohere share, /rerank in TEI's too."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from noppa.serve import fields
from noppa.serve.answers import dumped, listed
from noppa.serve.operations import NUMBER, TEXT, WHOLE, Operation, at_least, exactly
from noppa.serve.relevance import ranked, relevance, score
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service
from noppa.serve.settings import Settings

DOCUMENT = exactly({"text": TEXT})
RESULT = at_least(
    {"index": WHOLE, "relevance_score": NUMBER, "document": DOCUMENT}, "index", "relevance_score"
)
RESULTS = exactly(
    {
        "id": TEXT,
        "object": {"const": "list"},
        "model": TEXT,
        "results": {"type": "array", "items": RESULT},
        "usage": exactly({"total_tokens": WHOLE}),
        "meta": exactly({"tokens": exactly({"input_tokens": WHOLE})}),
    }
)
RANK = at_least({"index": WHOLE, "score": NUMBER, "text": TEXT}, "index", "score")


def operations(service: Service) -> list[Operation]:
    models, settings = service.models, service.settings

    async def rerank(
        request: Request,
        model: str,
        query: str,
        documents: list[str],
        top_n: int | None,
        return_documents: bool,
        rank_fields: None,
    ) -> Response:
        encoder = models.encoders[model]

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            cosines, counts = relevance(
                models, encoder, query, documents, watch, threads, "documents", truncate=True
            )
            results = (
                {"index": at, "relevance_score": score(cosines[at])}
                | ({"document": {"text": documents[at]}} if return_documents else {})
                for at in ranked(cosines, top_n)
            )
            head = {"id": request.scope["noppa.id"], "object": "list", "model": model}
            tail = {
                "usage": {"total_tokens": counts.tokens},
                "meta": {"tokens": {"input_tokens": counts.tokens}},
            }
            ends = dumped(head)[:-1] + b',"results":[', b"]," + dumped(tail)[1:]
            return listed(results, watch, *ends), counts

        return await service.answer(request, job, [query, *documents])

    async def tei_rerank(
        request: Request,
        query: str,
        texts: list[str],
        raw_scores: bool,
        return_text: bool,
        truncate: bool,
        truncation_direction: str,
    ) -> Response:
        encoder = models.encoders[models.default]

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            cosines, counts = relevance(
                models, encoder, query, texts, watch, threads, "texts", truncate=truncate
            )
            ranks = (
                {"index": at, "score": score(cosines[at], raw_scores)}
                | ({"text": texts[at]} if return_text else {})
                for at in ranked(cosines)
            )
            return listed(ranks, watch), counts

        return await service.answer(request, job, [query, *texts])

    body = {
        "model": models.field(),
        "query": fields.text(least=1),
        "documents": _documents(settings),
        "top_n": fields.whole(1, settings.max_inputs).optional(),
        "return_documents": fields.flag(False),
        "rank_fields": fields.unsupported("names parts of documents, which are ranked whole here"),
    }
    tei_body = {
        "query": fields.text(least=1),
        "texts": fields.text_list(settings),
        "raw_scores": fields.flag(False),
        "return_text": fields.flag(False),
        "truncate": fields.flag(False),
        "truncation_direction": fields.one_of(["Right"]).optional("Right"),
    }
    ranks = {"type": "array", "items": RANK}
    tei = Operation("POST", "/rerank", "", tei_rerank, ranks, body=tei_body, mark="texts", foreign=True)  # fmt: skip
    summary = "Documents in the order of their relevance to a query, as Jina's and Cohere's APIs give them."
    both = f"{summary[:-1]}; or texts, as text-embeddings-inference gives them."
    return [
        Operation("POST", "/rerank", both, rerank, RESULTS, body=body, other=tei, foreign=True),
        Operation("POST", "/v1/rerank", summary, rerank, RESULTS, body=body, foreign=True),
        Operation("POST", "/v2/rerank", summary, rerank, RESULTS, body=body, foreign=True),
    ]


def _documents(settings: Settings) -> fields.Field:
    """A list of strings, or of objects with a text."""
    texts = fields.text_list(settings)
    assert not callable(texts.schema)
    one = texts.schema["items"]

    def check(value: Any, name: str) -> list[str]:
        items = value if isinstance(value, list) else []
        bare = [
            item["text"] if isinstance(item, dict) and "text" in item else item for item in items
        ]
        return list(texts.check(bare if items else value, name))

    items = {"anyOf": [one, at_least({"text": one}, "text")]}
    return fields.Field({**texts.schema, "items": items}, check)
