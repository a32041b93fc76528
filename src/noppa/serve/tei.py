"""The contract of text-embeddings-inference: POST /embed, which is POST / too, and GET /info."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import noppa
from noppa.kernels.backend import kernels
from noppa.serve import fields
from noppa.serve.openai import prefix_of
from noppa.serve.operations import TABLE, TEXT, Operation, at_least
from noppa.serve.served_models import BLOCK_TEXTS, Counts, Watch
from noppa.serve.service import Service


def operations(service: Service) -> list[Operation]:
    models, settings = service.models, service.settings
    name, encoder = models.default, models.encoders[models.default]

    async def embed(
        request: Request,
        inputs: str | list[str],
        normalize: bool,
        truncate: bool,
        truncation_direction: str,
        prompt_name: None,
        dimensions: int | None,
    ) -> Response:
        texts, dim = fields.as_list(inputs), prefix_of(encoder, dimensions)

        def job(watch: Watch, threads: int) -> tuple[memoryview, Counts]:
            rows, counts = models.encode(
                encoder,
                texts,
                watch,
                threads,
                "inputs",
                dim=dim,
                normalize=normalize,
                truncate=truncate,
            )
            return written(rows, watch, threads), counts

        content, counts = await service.work(request, job, texts)
        service.count(request, counts)
        return Response(content, media_type="application/json")

    async def info(request: Request) -> Response:
        described = {
            "model_id": name,
            "model_type": {"embedding": {"pooling": repr(encoder.method)}},
            "model_dtype": "float32",
            "dimensions": encoder.dim,
            "max_concurrent_requests": settings.running + settings.queue,
            "max_input_length": settings.max_tokens,
            "max_batch_tokens": settings.max_tokens * settings.max_inputs,
            "max_client_batch_size": min(settings.max_inputs, settings.max_values // encoder.dim),
            "max_body_bytes": settings.max_body,
            "max_values": settings.max_values,
            "request_seconds": settings.request_seconds,
            "auto_truncate": False,
            "tokenization_workers": service.threads,
            "version": noppa.__version__,
        }
        return JSONResponse(described)

    body = {
        "inputs": fields.texts(settings),
        "normalize": fields.flag(True),
        "truncate": fields.flag(False),
        "truncation_direction": fields.one_of(["Right"]).optional("Right"),
        "prompt_name": fields.unsupported("names a prompt, and this model has none"),
        "dimensions": fields.whole(1, encoder.dim).optional(),
    }
    summary = "Vectors, as text-embeddings-inference gives them."
    facts = at_least({"model_id": TEXT}, "model_id")
    return [
        Operation("POST", "/embed", summary, embed, TABLE, body=body),
        # Where huggingface_hub's client posts.
        Operation("POST", "/", summary, embed, body=body, listed=False),
        Operation("GET", "/info", "The model and the limits.", info, facts),
    ]


def written(rows: NDArray[np.float32], watch: Watch, threads: int) -> memoryview:
    """The JSON of an answer, written in blocks."""
    answer = bytearray(b"[")
    for start in range(0, len(rows), BLOCK_TEXTS):
        watch.check()
        lines = kernels.format_rows(rows[start : start + BLOCK_TEXTS], ",", threads)
        answer += b"," if start else b""
        answer += b"[%b]" % b"],[".join(lines)
    answer += b"]"
    return memoryview(answer)
