"""Our own routes: POST /explain, /similarity, /search; GET /methods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Raw, Struct
from starlette.requests import Request
from starlette.responses import Response

from noppa import Encoder
from noppa import _native as kernels
from noppa.constants import PART
from noppa.explain import Explanation
from noppa.search.vectors import nearest
from noppa.serve.errors import invalid, too_large
from noppa.serve.methods import MethodField, about, offered, summary
from noppa.serve.models import Counts
from noppa.serve.routing import Body, Operation, json_response
from noppa.serve.service import Task
from noppa.words.coverage import KnownShare

if TYPE_CHECKING:
    from noppa.serve.app import Application

#: Most tokens of an explanation, which has several tables of tokens × tokens.
MAX_TOKENS = 256
#: Most numbers in its tables of tokens × dimensions.
MAX_VALUES = 1 << 19
#: Most cosines of a request.
MAX_PAIRS = 4_000_000
MAX_HITS = 1000
#: Most lines of a request over lines.
MAX_LINES = 20_000

HitCount = Annotated[int, Meta(ge=1, le=MAX_HITS)]


class ExplainRequest(Body):
    text: str
    full: bool = False
    model: str | None = None
    method: MethodField | None = None


class SimilarityInputs(Struct):
    source_sentence: str
    sentences: list[str]


class SimilarityParameters(Struct):
    truncate: bool | None = None
    truncation_direction: Literal["Right"] | None = None
    prompt_name: None = None


class SimilarityRequest(Body):
    """`a` and `b`, or, as in text-embeddings-inference, `inputs` and `parameters`."""

    a: str | list[str] | None = None
    b: str | list[str] | None = None
    explain: bool = False
    model: str | None = None
    method: MethodField | None = None
    inputs: SimilarityInputs | None = None
    parameters: SimilarityParameters | None = None


class SearchRequest(Body):
    query: str
    lines: list[str]
    count: HitCount = 10
    model: str | None = None
    method: MethodField | None = None


class Hit(Struct):
    index: int
    similarity: float
    text: str


def operations(app: Application) -> list[Operation]:
    models, methods, service = app.models, app.methods, app.service

    async def explain(request: Request, body: ExplainRequest) -> Response:
        def job(task: Task) -> dict[str, Any]:
            encoder = methods.encoder(body.model, body.method, task)
            share = encoder.known_share()
            check_explainable(encoder, body.text, "text", share)
            explanation = explanation_facts(encoder.explain(body.text), body.full)
            return {
                **explanation,
                **about(encoder, body.method),
                "warning": share.message,
            }

        return json_response(await service.run(request, job))

    async def similarity(request: Request, body: SimilarityRequest) -> Response:
        if body.inputs is not None:
            return await tei_similarity(request, body.inputs, body.parameters)
        if body.a is None or body.b is None:
            missing = "a" if body.a is None else "b"
            raise invalid(f"{missing} is missing: send a and b", missing)
        a, b = models.texts(body.a, "a"), models.texts(body.b, "b")
        single = isinstance(body.a, str) and isinstance(body.b, str)
        if len(a) * len(b) > MAX_PAIRS:
            raise too_large(f"a and b make {len(a) * len(b)} pairs and this server allows {MAX_PAIRS}", "a")  # fmt: skip
        if body.explain and not single:
            raise invalid("explain needs two single texts, not arrays", "explain")

        def job(task: Task) -> tuple[dict[str, Any], Counts]:
            encoder = methods.encoder(body.model, body.method, task)
            rows, counts = models.encode(encoder, a + b, task, "a and b")
            cosines = np.clip(rows[: len(a)] @ rows[len(a) :].T, -1, 1)
            notes = {**about(encoder, body.method), "warning": counts.warning}
            if not single:
                lines = kernels.format_rows(np.ascontiguousarray(cosines), ",", task.threads)
                return {"similarity": [Raw(b"[%b]" % line) for line in lines], **notes}, counts
            answer: dict[str, Any] = {"similarity": float(cosines[0, 0]), **notes}
            if body.explain:
                check_explainable(encoder, a[0], "a")
                check_explainable(encoder, b[0], "b")
                pair = encoder.explain_pair(a[0], b[0])
                answer |= {
                    "a": _token_facts(pair.a),
                    "b": _token_facts(pair.b),
                    "pairs": pair.pairs,
                    "remainders": dict(pair.remainders),
                }
            return answer, counts

        return await service.answer(request, job)

    async def tei_similarity(
        request: Request, inputs: SimilarityInputs, parameters: SimilarityParameters | None
    ) -> Response:
        source = models.texts(inputs.source_sentence, "inputs")[0]
        sentences = models.texts(inputs.sentences, "inputs")
        truncate = bool(parameters and parameters.truncate)

        def job(task: Task) -> tuple[Any, Counts]:
            encoder = models.encoders[models.default]
            return models.similarities(encoder, source, sentences, task, "inputs", truncate)

        return await service.answer(request, job, [source, *sentences])

    async def search(request: Request, body: SearchRequest) -> Response:
        lines = models.texts(body.lines, "lines", MAX_LINES)

        def job(task: Task) -> tuple[dict[str, Any], Counts]:
            encoder = methods.encoder(body.model, body.method, task, lines)
            query, counts = models.encode(encoder, [body.query], task, "query")
            rows, line_counts = models.encode(encoder, lines, task, "lines", truncate=True)
            found, cosines = nearest(rows, query, body.count, task.threads)
            results = [
                Hit(index, round(cosine, 9), lines[index])
                for index, cosine in zip(found[0].tolist(), cosines[0].tolist(), strict=True)
            ]
            counts = line_counts + counts
            notes = {**about(encoder, body.method, lines), "warning": counts.warning}
            return {"results": results, **notes}, counts

        return await service.answer(request, job)

    async def list_methods(request: Request) -> Response:
        return json_response(
            {
                "models": [
                    {"name": name, "attention": encoder.method.attends}
                    for name, encoder in models.encoders.items()
                ],
                "classifier": app.classifier and app.classifier.facts(),
                "methods": [
                    {"name": name, "parameters": defaults, "summary": summary(name)}
                    for name, defaults in offered().items()
                ],
                "parts": [*PART, "dct1", "dct2", "dct3"],
                "index": app.index and app.index.name,
            }
        )

    facts = dict[str, Any]
    return [
        Operation(
            "POST", "/explain", "The contribution of each token to the vector of a text.", explain, facts,
            body=ExplainRequest, example={"text": "a girl is eating"},
        ),
        Operation(
            "POST", "/similarity", "Cosines of a with b; or of source_sentence with sentences, as in text-embeddings-inference.",
            similarity, facts | list[float],
            body=SimilarityRequest, example={"a": "a girl is eating", "b": "a child eats", "explain": True},
        ),
        Operation(
            "POST", "/search", "The lines nearest to a query.", search, facts,
            body=SearchRequest, example={"query": "a child eats", "lines": ["a girl is eating", "the bank sells shares"], "count": 1},
        ),
        Operation("GET", "/methods", "The methods and their parameters.", list_methods, facts),
    ]  # fmt: skip


def check_explainable(
    encoder: Encoder, text: str, param: str, share: KnownShare | None = None
) -> None:
    """Raise 413 if a text is too long for an explanation."""
    ids, _ = encoder.look_up([text], 1, share or encoder.known_share())
    width = encoder.method.width(encoder.words)
    limit = min(MAX_TOKENS, MAX_VALUES // width)
    if len(ids) > limit:
        raise too_large(
            f"{param} has {len(ids)} tokens and an explanation of {width} dimensions allows {limit}: explain a part of it",
            param,
        )


def explanation_facts(explanation: Explanation, full: bool) -> dict[str, Any]:
    """Return an explanation as plain data; the long vectors only if `full`."""
    pooled = explanation.pooled
    square = float(pooled @ pooled) or 1.0
    facts: dict[str, Any] = {
        "text": explanation.text,
        "method": explanation.method,
        **_token_facts(explanation),
        "positions": explanation.positions,
        "attention": explanation.attention,
        "weighted_attention": explanation.weighted_attention,
        "pairs": explanation.pairs,
        "cosines": explanation.cosines,
        "remainders": {
            name: float(row @ pooled) / square for name, row in explanation.remainders.items()
        },
        "steps": [{"name": step.name, "share_removed": step.share} for step in explanation.steps],
        "dim": len(explanation.vector),
        "length": float(np.linalg.norm(explanation.vector)),
    }
    if full:
        facts |= {
            "contributions": explanation.contributions,
            "pooled": pooled,
            "vector": explanation.vector,
        }
    return facts


def _token_facts(explanation: Explanation) -> dict[str, Any]:
    return {
        "tokens": list(explanation.tokens),
        "known": explanation.known,
        "sources": explanation.sources,
        "weights": explanation.weights,
        "shares": explanation.shares,
    }
