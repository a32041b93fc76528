"""Ollama's contract: POST /api/embed and /api/embeddings, GET /api/tags and /api/version."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import noppa
from noppa.serve import fields
from noppa.serve.answers import written
from noppa.serve.openai import prefix_of
from noppa.serve.operations import NUMBERS, TABLE, TEXT, WHOLE, Operation, at_least, exactly
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service

#: Ollama's models have tags; clients send the names that /api/tags lists.
TAG = ":latest"
EMBEDDED = exactly(
    {
        "model": TEXT,
        "embeddings": TABLE,
        "total_duration": WHOLE,
        "load_duration": WHOLE,
        "prompt_eval_count": WHOLE,
    }
)


def operations(service: Service) -> list[Operation]:
    models, settings = service.models, service.settings

    async def embed(
        request: Request,
        model: str,
        input: str | list[str],
        truncate: bool,
        dimensions: int | None,
    ) -> Response:
        encoder, texts = models.encoders[model], fields.as_list(input)
        dim, began = prefix_of(encoder, dimensions), time.perf_counter_ns()

        def job(watch: Watch, threads: int) -> tuple[memoryview, Counts]:
            rows, counts = models.encode(
                encoder, texts, watch, threads, "input", dim=dim, truncate=truncate
            )
            head = b'{"model":%b,"embeddings":[' % json.dumps(model).encode()
            tail = b'],"total_duration":%d,"load_duration":0,"prompt_eval_count":%d}' % (
                time.perf_counter_ns() - began,
                counts.tokens,
            )
            return written(rows, watch, threads, head, tail), counts

        return await service.answer(request, job, texts)

    async def embedding(request: Request, model: str, prompt: str) -> Response:
        encoder = models.encoders[model]

        def job(watch: Watch, threads: int) -> tuple[memoryview, Counts]:
            rows, counts = models.encode(encoder, [prompt], watch, threads, "prompt", truncate=True)
            return written(rows, watch, threads, b'{"embedding":', b"}"), counts

        return await service.answer(request, job, [prompt])

    async def tags(request: Request) -> Response:
        return JSONResponse({"models": [to_dict(name) for name in models.encoders]})

    async def version(request: Request) -> Response:
        return JSONResponse({"version": noppa.__version__})

    def to_dict(name: str) -> dict[str, Any]:
        encoder = models.encoders[name]
        return {
            "name": name + TAG,
            "model": name + TAG,
            "modified_at": datetime.fromtimestamp(models.created, timezone.utc).isoformat(),
            "size": encoder.words.matrix.nbytes,
            "digest": encoder.identity.fingerprint,
            "details": {
                "format": "noppa",
                "family": type(encoder.method).__name__.lower(),
                "parameter_size": str(len(encoder.words)),
                "quantization_level": str(encoder.words.matrix.dtype),
            },
        }

    model = replace(models.field(), check=lambda name, field: models.named(_bare(name)))
    body = {
        "model": model,
        "input": fields.texts(settings),
        "truncate": fields.flag(True),
        "dimensions": models.dimensions(*models.encoders),
    }
    least = int(settings.empty_input != "zero")
    return [
        Operation("POST", "/api/embed", "Vectors, as Ollama gives them.", embed, EMBEDDED, body=body, foreign=True),
        Operation(
            "POST", "/api/embeddings", "One vector, as Ollama gave it before /api/embed.", embedding,
            exactly({"embedding": NUMBERS}), body={"model": model, "prompt": fields.text(least)},
            foreign=True,
        ),
        Operation(
            "GET", "/api/tags", "The served models, as Ollama lists them.", tags,
            exactly({"models": {"type": "array", "items": at_least({"name": TEXT, "model": TEXT}, "name", "model")}}),
        ),
        Operation("GET", "/api/version", "The version of this server.", version, exactly({"version": TEXT})),
    ]  # fmt: skip


def _bare(name: Any) -> Any:
    return name.removesuffix(TAG) if isinstance(name, str) else name
