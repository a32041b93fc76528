"""The contract of text-embeddings-inference: POST /embed, which is POST / too, POST /similarity, and GET /info."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

import noppa
from noppa.serve import fields
from noppa.serve.answers import dumped, written
from noppa.serve.openai import prefix_of
from noppa.serve.operations import NUMBERS, TABLE, TEXT, Operation, at_least
from noppa.serve.relevance import relevance
from noppa.serve.served_models import Counts, Watch
from noppa.serve.service import Service


def operations(service: Service) -> list[Operation]:
    models, settings, classifier = service.models, service.settings, service.classifier
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

        return await service.answer(request, job, texts)

    async def info(request: Request) -> Response:
        described = {
            "model_id": name if classifier is None else classifier.name,
            "model_type": kind,
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
        "dimensions": models.dimensions(name),
    }
    kind: dict[str, Any] = {"embedding": {"pooling": repr(encoder.method)}}
    if classifier is not None:
        numbers = {label: at for at, label in enumerate(classifier.labels)}
        names = {str(at): label for label, at in numbers.items()}
        kind = {"classifier": {"id2label": names, "label2id": numbers}}
    summary = "Vectors, as text-embeddings-inference gives them."
    facts = at_least({"model_id": TEXT}, "model_id")
    # Where huggingface_hub's client posts: the one task of a server, and that of a classifier is to predict.
    root = Operation("POST", "/", summary, embed, body=body, foreign=True, listed=False)
    return [
        Operation("POST", "/embed", summary, embed, TABLE, body=body, foreign=True),
        *([root] if classifier is None else []),
        Operation("GET", "/info", "The model and the limits.", info, facts),
    ]


def similarity(service: Service) -> Operation:
    """POST /similarity in TEI's shape: one text beside many."""
    models, settings = service.models, service.settings
    encoder = models.encoders[models.default]

    async def compare(
        request: Request, inputs: dict[str, Any], parameters: dict[str, Any]
    ) -> Response:
        source, sentences = inputs["source_sentence"], inputs["sentences"]
        truncate = parameters.get("truncate", False)

        def job(watch: Watch, threads: int) -> tuple[bytes, Counts]:
            cosines, counts = relevance(
                models, encoder, source, sentences, watch, threads, "inputs", truncate=truncate
            )
            return dumped(cosines), counts

        return await service.answer(request, job, [source, *sentences])

    inputs = {"source_sentence": fields.text(least=1), "sentences": fields.text_list(settings)}
    parameters = {
        "truncate": fields.flag(False),
        "truncation_direction": fields.one_of(["Right"]).optional("Right"),
        "prompt_name": fields.unsupported("names a prompt, and this model has none"),
    }
    body = {"inputs": fields.record(inputs), "parameters": fields.record(parameters).optional({})}
    return Operation(
        "POST", "/similarity", "", compare, NUMBERS, body=body, mark="inputs", foreign=True
    )
