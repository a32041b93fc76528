"""OpenAI's contract: POST /v1/embeddings, GET /v1/models and /v1/models/{id}."""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from noppa import Encoder
from noppa.kernels.backend import kernels
from noppa.serve import body
from noppa.serve.problems import invalid
from noppa.serve.served_models import BLOCK_TEXTS, Counts, Watch
from noppa.serve.service import Service

FORMATS = ("float", "base64")


def routes(service: Service) -> list[Route]:
    models, settings = service.models, service.settings

    async def embeddings(request: Request) -> Response:
        fields = await service.fields(request)
        name, encoder = models.named(fields.get("model"))
        texts = body.texts(fields, "input", settings)
        form = body.one_of(fields, "encoding_format", FORMATS, "float")
        dim = dimensions(fields, encoder)

        def job(watch: Watch, threads: int) -> tuple[memoryview, Counts]:
            rows, counts = models.encode(
                encoder, texts, watch, threads, "input", dim=dim, normalize=settings.normalize
            )
            return answer(name, rows, form, counts.tokens, watch, threads), counts

        found, counts = await service.work(request, job, texts)
        service.count(request, counts)
        return Response(found, media_type="application/json")

    async def listed(request: Request) -> Response:
        return JSONResponse(
            {"object": "list", "data": [described(name) for name in models.encoders]}
        )

    async def one(request: Request) -> Response:
        return JSONResponse(described(models.named(request.path_params["id"])[0]))

    def described(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": models.created, "owned_by": "noppa"}

    return [
        Route("/v1/embeddings", embeddings, methods=["POST"]),
        Route("/embeddings", embeddings, methods=["POST"]),
        Route("/v1/models", listed),
        Route("/models", listed),
        Route("/v1/models/{id:path}", one),
    ]


def dimensions(fields: dict[str, Any], encoder: Encoder) -> int | None:
    """How many of the first dimensions are wanted, None for all; 400 where a prefix means nothing."""
    wanted = body.whole(fields, "dimensions", encoder.dim)
    if wanted is None or wanted == encoder.dim:
        return None
    if not encoder.ordered:
        raise invalid(
            f"dimensions is {wanted}, but the first dimensions of this model's vectors mean nothing by themselves: ask "
            f"for all {encoder.dim}, or serve an encoder that was fitted with a Whitening",
            "dimensions",
        )
    return wanted


def answer(
    name: str, rows: NDArray[np.float32], form: str, tokens: int, watch: Watch, threads: int
) -> memoryview:
    """The JSON of an answer, written block by block; numbers as short as they can be read back exactly."""
    made = bytearray(b'{"object":"list","data":[')
    for start in range(0, len(rows), BLOCK_TEXTS):
        watch.check()
        block = rows[start : start + BLOCK_TEXTS]
        made += b"," if start else b""
        made += b",".join(
            b'{"object":"embedding","index":%d,"embedding":%b}' % pair
            for pair in enumerate(vectors(block, form, threads), start)
        )
    made += b'],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (
        json.dumps(name).encode(),
        tokens,
        tokens,
    )
    return memoryview(made)


def vectors(rows: NDArray[np.float32], form: str, threads: int) -> Iterator[bytes]:
    """Each row as JSON."""
    if form == "base64":
        for row in rows.astype("<f4", copy=False):
            yield b'"%b"' % binascii.b2a_base64(row, newline=False)
    else:
        for line in kernels.format_rows(rows, ",", threads):
            yield b"[%b]" % line
