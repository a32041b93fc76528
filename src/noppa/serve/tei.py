"""The contract of text-embeddings-inference: POST /embed, which is POST / too, and GET /info."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

import noppa
from noppa.backend import kernels
from noppa.serve import body
from noppa.serve.models import Counts, Watch
from noppa.serve.openai import dimensions
from noppa.serve.problems import invalid
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

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
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
            lines = kernels.format_rows(rows, ",", threads)
            return b"[[%b]]" % b"],[".join(lines), counts

        found, counts = await service.work(request, job, sum(map(len, texts)))
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
            "max_client_batch_size": settings.max_inputs,
            "max_body_bytes": settings.max_body,
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
