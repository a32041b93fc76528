"""Our own routes: POST /explain, /similarity, /search; GET /methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from noppa import Encoder
from noppa import _native as kernels
from noppa.explain import Explanation
from noppa.methods.noppa import PARTS
from noppa.search.vectors import nearest
from noppa.serve import fields, tei
from noppa.serve.answers import dumped
from noppa.serve.method_field import Choice, method_field, offered, summary_of
from noppa.serve.operations import (
    NOTE,
    NUMBER,
    NUMBERS,
    TABLE,
    TEXT,
    WHOLE,
    WHOLES,
    Operation,
    at_least,
    exactly,
)
from noppa.serve.overview import layouts
from noppa.serve.problems import invalid, too_large
from noppa.serve.served_classifier import ServedClassifier
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service
from noppa.serve.variants import about
from noppa.words.coverage import KnownShare

#: Tokens of an explanation, which holds several tables of tokens × tokens.
EXPLAINED = 256
#: Numbers in its tables of tokens × dimensions: writing them as JSON holds the GIL for some tenths of a second.
EXPLAINED_VALUES = 1 << 19
MOST_CELLS = 4_000_000
MOST_FOUND = 1000
#: Labels that GET /methods names.
MOST_LABELS = 1000


#: What explains one text, beside its vector.
SIDE: fields.Schema = {
    "tokens": {"type": "array", "items": TEXT},
    "known": {"type": "array"},
    "sources": WHOLES,
    "weights": NUMBERS,
    "shares": NUMBERS,
}
HIT = exactly({"index": WHOLE, "similarity": NUMBER, "text": TEXT})


def operations(service: Service) -> list[Operation]:
    models, variants, settings = service.models, service.variants, service.settings

    async def explain(
        request: Request, text: str, full: bool, model: str, method: Choice
    ) -> Response:
        key, session = (model, *method), await service.sessions.of(request)

        def job(watch: Watch, threads: int) -> bytes:
            encoder = variants.encoder(key, session, 1, watch, threads)
            share = encoder.known_share()
            explanation = encoder.explain(explicable(encoder, text, "text", share))
            notes = {**about(encoder, key, session.own), "warning": share.message}
            return dumped({**explained(explanation, full), **notes})

        return Response(await service.work(request, job), media_type="application/json")

    async def similarity(
        request: Request,
        a: str | list[str],
        b: str | list[str],
        explain: bool,
        model: str,
        method: Choice,
    ) -> Response:
        left, right = fields.as_list(a), fields.as_list(b)
        single = isinstance(a, str) and isinstance(b, str)
        if len(left) * len(right) > MOST_CELLS:
            raise too_large(
                f"a and b make {len(left) * len(right)} pairs and this server takes up to {MOST_CELLS}",
                "a",
            )
        if explain and not single:
            raise invalid("explain takes two single texts, not arrays", "explain")
        key, session = (model, *method), await service.sessions.of(request)

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            encoder = variants.encoder(key, session, len(left) + len(right), watch, threads)
            rows, counts = models.encode(encoder, left + right, watch, threads, "a and b")
            cosines = np.clip(rows[: len(left)] @ rows[len(left) :].T, -1, 1)
            answer: dict[str, Any] = {"similarity": float(cosines[0, 0])} if single else {}
            if explain:
                pair = encoder.explain_pair(
                    explicable(encoder, left[0], "a"), explicable(encoder, right[0], "b")
                )
                answer |= {
                    "a": _side(pair.a),
                    "b": _side(pair.b),
                    "pairs": pair.pairs,
                    "remainders": dict(pair.remainders),
                }
            if single:
                notes = {**about(encoder, key, session.own), "warning": counts.warning}
                return dumped({**answer, **notes}), counts
            lines = kernels.format_rows(np.ascontiguousarray(cosines), ",", threads)
            rest = b"],[".join(lines), dumped(counts.warning)
            return b'{"similarity":[[%b]],"warning":%b}' % rest, counts

        return await service.answer(request, job)

    async def search(
        request: Request,
        query: str,
        lines: str | list[str] | None,
        count: int,
        model: str,
        method: Choice,
    ) -> Response:
        key, session = (model, *method), await service.sessions.of(request)
        searched = session.needed().lines if lines is None else fields.as_list(lines)

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            with service.sessions.large(watch):
                encoder = variants.encoder(key, session, len(searched), watch, threads)
                query_rows, counts = models.encode(encoder, [query], watch, threads, "query")
                if lines is None:
                    rows = session.vectors(models, encoder, key, watch, threads)
                else:
                    rows, line_counts = models.encode(encoder, searched, watch, threads, "lines")
                    counts = line_counts + counts
                numbers, cosines = nearest(rows, query_rows, count, threads)
            results = [
                {"index": number, "similarity": cosine, "text": searched[number]}
                for number, cosine in zip(numbers[0].tolist(), cosines[0].tolist(), strict=True)
            ]
            notes = {**about(encoder, key, session.own), "warning": counts.warning}
            return dumped({"results": results, **notes}), counts

        return await service.answer(request, job)

    async def methods(request: Request) -> Response:
        listed = [
            {"name": name, "parameters": defaults, "summary": summary_of(name)}
            for name, defaults in offered().items()
        ]
        served = [
            {"name": name, "attention": encoder.method.attends}
            for name, encoder in models.encoders.items()
        ]
        return JSONResponse(
            {
                "models": served,
                "classifier": _described(service.classifier),
                "methods": listed,
                "parts": [*PARTS, "dct1", "dct2", "dct3"],
                "layouts": layouts(),
                "index": service.index.name if service.index else None,
            }
        )

    encoder_fields = {"model": models.field(), "method": method_field()}
    texts = fields.texts(settings)
    attention = {"anyOf": [TABLE, {"type": "null"}]}
    return [
        Operation(
            "POST", "/explain", "What each token gave to the vector of a text.", explain,
            at_least({**SIDE, "attention": attention, "pairs": TABLE, "note": NOTE, "warning": NOTE}, "tokens", "pairs"),
            body={"text": fields.text(), "full": fields.flag(False), **encoder_fields},
        ),
        Operation(
            "POST", "/similarity", "Cosines of two texts, of all of a with all of b, or of a source_sentence with sentences.", similarity,
            at_least({"similarity": {"anyOf": [NUMBER, TABLE]}, "warning": NOTE}, "similarity"),
            body={"a": texts, "b": texts, "explain": fields.flag(False), **encoder_fields}, other=tei.similarity(service),
        ),
        Operation(
            "POST", "/search", "The lines nearest to a query: those given, else those kept for the browser.", search,
            at_least({"results": {"type": "array", "items": HIT}, "warning": NOTE}, "results"),
            body={
                "query": fields.text(),
                "lines": texts.optional(),
                "count": fields.whole(1, MOST_FOUND).optional(10),
                **encoder_fields,
            },
        ),
        Operation("GET", "/methods", "The methods and their parameters.", methods, {"type": "object"}),
    ]  # fmt: skip


def _described(classifier: ServedClassifier | None) -> dict[str, Any] | None:
    if classifier is None:
        return None
    return {
        "name": classifier.name,
        "labels": classifier.labels[:MOST_LABELS],
        "count": len(classifier.labels),
        "pairs": classifier.paired,
        "exclusive": classifier.exclusive,
    }


def explained(explanation: Explanation, full: bool) -> dict[str, Any]:
    """An explanation as JSON; the long vectors only if `full`."""
    answer: dict[str, Any] = {
        "text": explanation.text,
        "method": explanation.method,
        **_side(explanation),
        "positions": explanation.positions,
        "attention": explanation.attention,
        "weighted_attention": explanation.weighted_attention,
        "pairs": explanation.pairs,
        "cosines": explanation.cosines,
        "remainders": {
            name: _share(row, explanation.pooled) for name, row in explanation.remainders.items()
        },
        "steps": [{"name": step.name, "share_removed": step.share} for step in explanation.steps],
        "dim": len(explanation.vector),
        "length": float(np.linalg.norm(explanation.vector)),
    }
    if full:
        answer |= {
            "contributions": explanation.contributions,
            "pooled": explanation.pooled,
            "vector": explanation.vector,
        }
    return answer


def _side(explanation: Explanation) -> dict[str, Any]:
    return {
        "tokens": list(explanation.tokens),
        "known": explanation.known.tolist(),
        "sources": explanation.sources.tolist(),
        "weights": explanation.weights,
        "shares": explanation.shares,
    }


def _share(row: NDArray[np.float64], pooled: NDArray[np.float64]) -> float:
    square = float(pooled @ pooled)
    return float(row @ pooled) / square if square > 0 else 0.0


def explicable(encoder: Encoder, text: str, param: str, share: KnownShare | None = None) -> str:
    """The text, if it is short enough for an explanation; else 413."""
    ids, _ = encoder.look_up([text], 1, share or encoder.known_share())
    width = encoder.method.width(encoder.words)
    most = min(EXPLAINED, EXPLAINED_VALUES // width)
    if len(ids) > most:
        raise too_large(
            f"{param} has {len(ids)} tokens and an explanation of {width} dimensions takes up to {most}: explain a "
            "part of it",
            param,
        )
    return text
