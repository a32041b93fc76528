"""Our own routes: POST /explain, /similarity, /search; GET /methods."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from noppa import METHODS, Encoder, NoPPA
from noppa.explain.explanation import Explanation
from noppa.kernels.backend import kernels
from noppa.kernels.formulas import PARTS
from noppa.search.index import Index
from noppa.serve import body
from noppa.serve.problems import invalid, too_large
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service
from noppa.serve.variants import NAMES, SETTABLE, note

#: An explanation holds tokens × tokens numbers, several times.
EXPLAINED = 256
#: And tokens × dimensions, several times; as JSON, which holds the interpreter, some tenths of a second.
EXPLAINED_VALUES = 1 << 19
MOST_CELLS = 4_000_000
MOST_FOUND = 1000


def routes(service: Service) -> list[Route]:
    models, variants, settings = service.models, service.variants, service.settings

    async def explain(request: Request) -> Response:
        fields = await service.fields(request)
        text, full = body.text(fields, "text"), body.flag(fields, "full", False)
        key, session = variants.check(fields), service.sessions.of(request)

        def job(watch: Watch, threads: int) -> bytes:
            encoder = variants.encoder(key, session, 1, watch, threads)
            told = encoder.explain(_short(encoder, text, "text"))
            told_note = note(encoder, key, session.own)
            return dumped({**explained(told, full), "note": told_note})

        return Response(await service.work(request, job), media_type="application/json")

    async def similarity(request: Request) -> Response:
        fields = await service.fields(request)
        left, right = body.texts(fields, "a", settings), body.texts(fields, "b", settings)
        single = isinstance(fields["a"], str) and isinstance(fields["b"], str)
        if len(left) * len(right) > MOST_CELLS:
            raise too_large(
                f"a and b make {len(left) * len(right)} pairs and this server takes up to {MOST_CELLS}",
                "a",
            )
        align = body.flag(fields, "explain", False)
        if align and not single:
            raise invalid("explain takes two single texts, not arrays", "explain")
        key, session = variants.check(fields), service.sessions.of(request)

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            encoder = variants.encoder(key, session, len(left) + len(right), watch, threads)
            rows, counts = models.encode(encoder, left + right, watch, threads, "a and b")
            cosines = np.clip(rows[: len(left)] @ rows[len(left) :].T, -1, 1)
            answer: dict[str, Any] = {"similarity": float(cosines[0, 0])} if single else {}
            if align:
                pair = encoder.explain_pair(
                    _short(encoder, left[0], "a"), _short(encoder, right[0], "b")
                )
                answer |= {
                    "a": _side(pair.a),
                    "b": _side(pair.b),
                    "pairs": pair.pairs,
                    "remainders": dict(pair.remainders),
                }
            if single:
                return dumped({**answer, "note": note(encoder, key, session.own)}), counts
            lines = kernels.format_rows(np.ascontiguousarray(cosines), ",", threads)
            return b'{"similarity":[[%b]]}' % b"],[".join(lines), counts

        found, counts = await service.work(request, job)
        service.count(request, counts)
        return Response(found, media_type="application/json")

    async def search(request: Request) -> Response:
        fields = await service.fields(request)
        query = body.text(fields, "query")
        count = body.whole(fields, "count", MOST_FOUND) or 10
        key, session = variants.check(fields), service.sessions.of(request)
        given = body.texts(fields, "lines", settings) if fields.get("lines") is not None else None
        if given is None:
            session.needed()

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            lines = session.lines if given is None else given
            with service.sessions.large(watch):
                encoder = variants.encoder(key, session, len(lines), watch, threads)
                wanted, counts = models.encode(encoder, [query], watch, threads, "query")
                if given is None:
                    rows = session.vectors(service.models, encoder, key, watch, threads)
                else:
                    rows, counts = models.encode(encoder, given, watch, threads, "lines")
                numbers, cosines = Index(lines, rows, exact=True).search(wanted, count)
            results = [
                {"index": number, "similarity": cosine, "text": lines[number]}
                for number, cosine in zip(numbers[0].tolist(), cosines[0].tolist(), strict=True)
            ]
            return dumped({"results": results, "note": note(encoder, key, session.own)}), counts

        found, counts = await service.work(request, job)
        service.count(request, counts)
        return Response(found, media_type="application/json")

    async def methods(request: Request) -> Response:
        listed = []
        for name in NAMES:
            kind = METHODS[name]
            defaults = {
                field: getattr(kind, field, None)
                for field in SETTABLE
                if field in kind.__dataclass_fields__
            }
            listed.append({"name": name, "parameters": defaults})
        served = [
            {"name": name, "attention": isinstance(encoder.method, NoPPA)}
            for name, encoder in models.encoders.items()
        ]
        return JSONResponse(
            {
                "models": served,
                "methods": listed,
                "parts": [*PARTS, "dct1", "dct2", "dct3"],
            }
        )

    return [
        Route("/explain", explain, methods=["POST"]),
        Route("/similarity", similarity, methods=["POST"]),
        Route("/search", search, methods=["POST"]),
        Route("/methods", methods),
    ]


def explained(told: Explanation, full: bool) -> dict[str, Any]:
    """An explanation as JSON; the long vectors only where they are wanted."""
    answer: dict[str, Any] = {
        "text": told.text,
        "method": told.method,
        **_side(told),
        "positions": told.positions,
        "attention": told.attention,
        "weighted_attention": told.weighted_attention,
        "pairs": told.pairs,
        "cosines": told.cosines,
        "remainders": {name: _share(row, told.pooled) for name, row in told.remainders.items()},
        "steps": [{"name": step.name, "share_removed": step.share} for step in told.steps],
        "dim": len(told.vector),
        "length": float(np.linalg.norm(told.vector)),
    }
    if full:
        answer |= {
            "contributions": told.contributions,
            "pooled": told.pooled,
            "vector": told.vector,
        }
    return answer


def _side(told: Explanation) -> dict[str, Any]:
    return {
        "tokens": list(told.tokens),
        "known": told.known.tolist(),
        "weights": told.weights,
        "shares": told.shares,
    }


def _share(row: NDArray[np.float64], pooled: NDArray[np.float64]) -> float:
    square = float(pooled @ pooled)
    return float(row @ pooled) / square if square > 0 else 0.0


def _short(encoder: Encoder, text: str, param: str) -> str:
    ids, _ = encoder.look_up([text], 1)
    width = encoder.method.width(encoder.words)
    most = min(EXPLAINED, EXPLAINED_VALUES // width)
    if len(ids) > most:
        raise too_large(
            f"{param} has {len(ids)} tokens and an explanation of {width} dimensions takes up to {most}: explain a "
            "part of it",
            param,
        )
    return text


def dumped(answer: dict[str, Any]) -> bytes:
    """JSON, the numbers of arrays to nine places, which is more than a float32 has."""

    def plain(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return np.round(value, 9).tolist()
        raise TypeError(type(value).__name__)

    return json.dumps(answer, default=plain, allow_nan=False, separators=(",", ":")).encode()
