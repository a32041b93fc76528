"""The contract of text-embeddings-inference: POST /embed, which is POST / too, and GET /info."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import noppa
from noppa.kernels.backend import kernels
from noppa.serve import body
from noppa.serve.openai import dimensions
from noppa.serve.problems import invalid
from noppa.serve.served_models import BLOCK_TEXTS, Counts, Watch
from noppa.serve.service import Service


def routes(service: Service) -> list[Route]:
    models, settings = service.models, service.settings
    name, encoder = models.named(None)

    async def embed(request: Request) -> Response:
        fields = await service.fields(request)
        texts = body.texts(fields, "inputs", settings)
        normalize = body.flag(fields, "normalize", True)
        truncate = body.flag(fields, "truncate", False)
        if body.one_of(fields, "truncation_direction", ("Right", "Left"), "Right") == "Left":
            raise invalid(
                "truncation_direction is 'Left', and this server cuts at the right alone: leave it out",
                "truncation_direction",
            )
        if fields.get("prompt_name") is not None:
            raise invalid(
                "prompt_name names a prompt, and this model has none: leave it out", "prompt_name"
            )
        dim = dimensions(fields, encoder)

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

        found, counts = await service.work(request, job, texts)
        service.count(request, counts)
        return Response(found, media_type="application/json")

    async def info(request: Request) -> Response:
        facts = {
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
        return JSONResponse(facts)

    return [
        Route("/embed", embed, methods=["POST"]),
        Route("/", embed, methods=["POST"]),  # where huggingface_hub's client posts
        Route("/info", info),
    ]


def written(rows: NDArray[np.float32], watch: Watch, threads: int) -> memoryview:
    """The JSON of an answer, written block by block."""
    answer = bytearray(b"[")
    for start in range(0, len(rows), BLOCK_TEXTS):
        watch.check()
        lines = kernels.format_rows(rows[start : start + BLOCK_TEXTS], ",", threads)
        answer += b"," if start else b""
        answer += b"[%b]" % b"],[".join(lines)
    answer += b"]"
    return memoryview(answer)
