"""Vectors in the contracts of OpenAI, text-embeddings-inference (TEI) and Ollama."""

from __future__ import annotations

import binascii
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType
from starlette.requests import Request
from starlette.responses import Response

import noppa
from noppa import _native as kernels
from noppa.serve.models import Counts, Vectors, check_dimensions
from noppa.serve.routing import Contract, Count, Operation, Vector, json_response
from noppa.serve.service import Task

if TYPE_CHECKING:
    from noppa.serve.app import Application

TEXTS = ["a girl is eating", "the bank sells shares"]
#: Ollama's models have tags; clients send the names that /api/tags lists.
TAG = ":latest"


class EmbeddingsRequest(Contract):
    input: str | list[str]
    model: str | None = None
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Count | None = None
    user: Any = None


class Embedding(Struct):
    index: int
    embedding: Vector | str
    object: Literal["embedding"] = "embedding"
    #: Set if the text has no known word, so that its vector is zeros.
    empty: bool | UnsetType = UNSET


class Usage(Struct):
    prompt_tokens: int
    total_tokens: int


class Embeddings(Struct):
    data: list[Embedding]
    model: str
    usage: Usage
    object: Literal["list"] = "list"


class ModelFacts(Struct):
    id: str
    created: int
    object: Literal["model"] = "model"
    owned_by: str = "noppa"


class ModelList(Struct):
    data: list[ModelFacts]
    object: Literal["list"] = "list"


class EmbedRequest(Contract):
    inputs: str | list[str]
    normalize: bool = True
    truncate: bool = False
    truncation_direction: Literal["Right"] = "Right"
    prompt_name: None = None
    dimensions: Count | None = None


class OllamaRequest(Contract):
    input: str | list[str]
    model: str | None = None
    truncate: bool = True
    dimensions: Count | None = None


class OllamaEmbeddings(Struct):
    model: str
    embeddings: list[Vector]
    total_duration: int
    load_duration: int
    prompt_eval_count: int


class OllamaPrompt(Contract):
    prompt: str
    model: str | None = None


class OllamaEmbedding(Struct):
    embedding: Vector


def operations(app: Application) -> list[Operation]:
    models, settings, service = app.models, app.settings, app.service
    default = models.encoders[models.default]

    async def embeddings(request: Request, body: EmbeddingsRequest) -> Response:
        name, texts = models.name(body.model), models.texts(body.input, "input")
        encoder = models.encoders[name]
        dim = check_dimensions(encoder, body.dimensions)

        def job(task: Task) -> tuple[Embeddings, Counts]:
            rows, counts = models.encode(encoder, texts, task, "input", dim=dim)
            as_base64 = body.encoding_format == "base64"
            vectors: list[Any] = base64_rows(rows) if as_base64 else json_rows(rows, task)
            data = [Embedding(index, vector) for index, vector in enumerate(vectors)]
            for index in counts.empty:
                data[index].empty = True
            return Embeddings(data, name, Usage(counts.tokens, counts.tokens)), counts

        return await service.answer(request, job, texts)

    async def list_models(request: Request) -> Response:
        return json_response(
            ModelList([ModelFacts(name, models.created) for name in models.encoders])
        )

    async def get_model(request: Request) -> Response:
        return json_response(ModelFacts(models.name(request.path_params["id"]), models.created))

    async def embed(request: Request, body: EmbedRequest) -> Response:
        texts, dim = models.texts(body.inputs, "inputs"), check_dimensions(default, body.dimensions)

        def job(task: Task) -> tuple[list[Raw], Counts]:
            options: dict[str, Any] = {"dim": dim, "normalize": body.normalize}
            rows, counts = models.encode(
                default, texts, task, "inputs", truncate=body.truncate, **options
            )
            return json_rows(rows, task), counts

        return await service.answer(request, job, texts)

    async def info(request: Request) -> Response:
        values = settings.max_memory // (16 * default.dim)
        return json_response(
            {
                "model_id": models.default if app.classifier is None else app.classifier.name,
                "model_type": app.classifier.model_type
                if app.classifier
                else {"embedding": {"pooling": repr(default.method)}},
                "model_dtype": "float32",
                "dimensions": default.dim,
                "max_concurrent_requests": service.threads + settings.max_queue,
                "max_input_length": settings.max_tokens,
                "max_batch_tokens": settings.max_tokens * settings.max_inputs,
                "max_client_batch_size": min(settings.max_inputs, values),
                "max_body_bytes": settings.max_body,
                "request_seconds": settings.request_seconds,
                "auto_truncate": False,
                "tokenization_workers": service.threads,
                "version": noppa.__version__,
            }
        )

    async def ollama_embed(request: Request, body: OllamaRequest) -> Response:
        name, texts = ollama_name(body.model), models.texts(body.input, "input")
        encoder, began = models.encoders[name], time.perf_counter_ns()
        dim = check_dimensions(encoder, body.dimensions)

        def job(task: Task) -> tuple[OllamaEmbeddings, Counts]:
            rows, counts = models.encode(
                encoder, texts, task, "input", dim=dim, truncate=body.truncate
            )
            took = time.perf_counter_ns() - began
            vectors = json_rows(rows, task)
            return OllamaEmbeddings(name, vectors, took, 0, counts.tokens), counts

        return await service.answer(request, job, texts)

    async def ollama_embedding(request: Request, body: OllamaPrompt) -> Response:
        encoder = models.encoders[ollama_name(body.model)]
        texts = models.texts(body.prompt, "prompt")

        def job(task: Task) -> tuple[OllamaEmbedding, Counts]:
            rows, counts = models.encode(encoder, texts, task, "prompt", truncate=True)
            return OllamaEmbedding(*json_rows(rows, task)), counts

        return await service.answer(request, job, texts)

    def ollama_name(requested: str | None) -> str:
        return models.name(requested and requested.removesuffix(TAG))

    async def ollama_tags(request: Request) -> Response:
        modified = datetime.fromtimestamp(models.created, timezone.utc).isoformat()
        tags = [
            {
                "name": name + TAG,
                "model": name + TAG,
                "modified_at": modified,
                "size": encoder.words.matrix.nbytes,
                "digest": encoder.identity.fingerprint,
                "details": {
                    "format": "noppa",
                    "family": type(encoder.method).__name__.lower(),
                    "parameter_size": str(len(encoder.words)),
                    "quantization_level": str(encoder.words.matrix.dtype),
                },
            }
            for name, encoder in models.encoders.items()
        ]
        return json_response({"models": tags})

    async def ollama_version(request: Request) -> Response:
        return json_response({"version": noppa.__version__})

    openai: dict[str, Any] = {"body": EmbeddingsRequest, "example": {"input": TEXTS}}
    tei: dict[str, Any] = {"body": EmbedRequest, "example": {"inputs": TEXTS}}
    rows = list[list[float]]
    # huggingface_hub's client posts to /, which a classifier takes for predictions.
    root = Operation("POST", "/", "", embed, rows, listed=False, **tei)
    return [
        Operation("POST", "/v1/embeddings", "Vectors, as in OpenAI's API.", embeddings, Embeddings, **openai),
        Operation("POST", "/embeddings", "Same as /v1/embeddings.", embeddings, Embeddings, **openai),
        Operation("GET", "/v1/models", "The served models.", list_models, ModelList),
        Operation("GET", "/models", "", list_models, listed=False),
        Operation("GET", "/v1/models/{id:path}", "One served model.", get_model, ModelFacts),
        Operation("POST", "/embed", "Vectors, as in text-embeddings-inference.", embed, rows, **tei),
        *([] if app.classifier else [root]),
        Operation("GET", "/info", "The model and the limits of the server.", info, dict[str, Any]),
        Operation(
            "POST", "/api/embed", "Vectors, as in Ollama's API.", ollama_embed, OllamaEmbeddings,
            body=OllamaRequest, example={"input": TEXTS},
        ),
        Operation(
            "POST", "/api/embeddings", "One vector, as in Ollama's older API.", ollama_embedding, OllamaEmbedding,
            body=OllamaPrompt, example={"prompt": TEXTS[0]},
        ),
        Operation("GET", "/api/tags", "The served models, as in Ollama's API.", ollama_tags, dict[str, Any]),
        Operation("GET", "/api/version", "The version of this server.", ollama_version, dict[str, str]),
    ]  # fmt: skip


def json_rows(rows: Vectors, task: Task) -> list[Raw]:
    """Return each row as JSON, its numbers in the shortest form that reads back exactly."""
    return [Raw(b"[%b]" % line) for line in kernels.format_rows(rows, ",", task.threads)]


def base64_rows(rows: Vectors) -> list[str]:
    rows = rows.astype("<f4", copy=False)
    return [binascii.b2a_base64(row, newline=False).decode("ascii") for row in rows]
