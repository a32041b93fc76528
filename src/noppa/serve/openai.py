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

from noppa import Encoder
from noppa import _native as kernels
from noppa.serve import fields
from noppa.serve.operations import NUMBERS, TEXT, WHOLE, Operation, at_least, exactly, hidden
from noppa.serve.problems import invalid
from noppa.serve.served_models import BLOCK_TEXTS, Counts, Watch
from noppa.serve.service import Service

FORMATS = ("float", "base64")

MODEL = exactly({"id": TEXT, "object": {"const": "model"}, "created": WHOLE, "owned_by": TEXT})
MODELS = exactly({"object": {"const": "list"}, "data": {"type": "array", "items": MODEL}})
VECTOR = {"anyOf": [NUMBERS, {"type": "string", "contentEncoding": "base64"}]}
#: `empty` stands in items without a known word alone, whose vectors are zeros.
ITEM = {
    **at_least(
        {"object": {"const": "embedding"}, "index": WHOLE, "embedding": VECTOR, "empty": {"const": True}},
        "object", "index", "embedding",
    ),
    "additionalProperties": False,
}  # fmt: skip
EMBEDDINGS = exactly(
    {
        "object": {"const": "list"},
        "data": {"type": "array", "items": ITEM},
        "model": TEXT,
        "usage": exactly({"prompt_tokens": WHOLE, "total_tokens": WHOLE}),
    }
)


def operations(service: Service) -> list[Operation]:
    models, settings = service.models, service.settings

    async def embeddings(
        request: Request,
        model: str,
        input: str | list[str],
        encoding_format: str,
        dimensions: int | None,
        user: None,
    ) -> Response:
        encoder, texts = models.encoders[model], fields.as_list(input)
        dim = prefix_of(encoder, dimensions)

        def job(watch: Watch, threads: int) -> tuple[memoryview, Counts]:
            rows, counts = models.encode(
                encoder, texts, watch, threads, "input", dim=dim, normalize=settings.normalize
            )
            return answer(model, rows, encoding_format, counts, watch, threads), counts

        return await service.answer(request, job, texts)

    async def listed(request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [to_dict(name) for name in models.encoders]})

    async def one(request: Request) -> Response:
        return JSONResponse(to_dict(models.named(request.path_params["id"])))

    def to_dict(name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": models.created, "owned_by": "noppa"}

    body = {
        "model": models.field(),
        "input": fields.texts(settings),
        "encoding_format": fields.one_of(FORMATS).optional("float"),
        "dimensions": models.dimensions(*models.encoders),
        "user": fields.ignored(),
    }  # fmt: skip
    contract: dict[str, Any] = {"body": body, "conditions": models.conditions(), "foreign": True}
    summary = "Vectors, as OpenAI's API gives them."
    return [
        Operation("POST", "/v1/embeddings", summary, embeddings, EMBEDDINGS, **contract),
        Operation("POST", "/embeddings", "The same.", embeddings, EMBEDDINGS, **contract),
        Operation("GET", "/v1/models", "The served models.", listed, MODELS),
        hidden("/models", listed),
        Operation("GET", "/v1/models/{id:path}", "One of them.", one, MODEL),
    ]


def prefix_of(encoder: Encoder, dimensions: int | None) -> int | None:
    """How many of the first dimensions to send, None for all; 400 where there are fewer, or a prefix means nothing."""
    if dimensions is None or dimensions == encoder.dim:
        return None
    if dimensions > encoder.dim:
        raise invalid(
            f"dimensions is {dimensions} and this model has {encoder.dim}: send a whole number from 1 to {encoder.dim}",
            "dimensions",
        )
    if not encoder.ordered:
        raise invalid(
            f"dimensions is {dimensions}, but the first dimensions of this model's vectors mean nothing by themselves: "
            f"ask for all {encoder.dim}, or serve an encoder that was fitted with a Whitening",
            "dimensions",
        )
    return dimensions


def answer(
    name: str, rows: NDArray[np.float32], form: str, counts: Counts, watch: Watch, threads: int
) -> memoryview:
    """The JSON of an answer, written in blocks; numbers in the shortest form that reads back exactly."""
    content = bytearray(b'{"object":"list","data":[')
    marks = dict.fromkeys(counts.empty, b',"empty":true')
    for start in range(0, len(rows), BLOCK_TEXTS):
        watch.check()
        block = rows[start : start + BLOCK_TEXTS]
        content += b"," if start else b""
        content += b",".join(
            b'{"object":"embedding","index":%d,"embedding":%b%b}' % (at, vector, marks.get(at, b""))
            for at, vector in enumerate(vectors(block, form, threads), start)
        )
    content += b'],"model":%b,"usage":{"prompt_tokens":%d,"total_tokens":%d}}' % (
        json.dumps(name).encode(),
        counts.tokens,
        counts.tokens,
    )
    return memoryview(content)


def vectors(rows: NDArray[np.float32], form: str, threads: int) -> Iterator[bytes]:
    """Each row as JSON."""
    if form == "base64":
        for row in rows.astype("<f4", copy=False):
            yield b'"%b"' % binascii.b2a_base64(row, newline=False)
    else:
        for line in kernels.format_rows(rows, ",", threads):
            yield b"[%b]" % line
