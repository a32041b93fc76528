"""LlamaIndex: `NoppaEmbedding`, an embedding model for its indexes.

>>> from noppa.integrations.llamaindex import NoppaEmbedding
>>> len(NoppaEmbedding().get_text_embedding("a cake"))
320
"""

from __future__ import annotations

import asyncio
from typing import Any

from noppa.encoder.models import SIMILARITY, Model, resolve_model
from noppa.errors import ParameterError
from noppa.extras import needs
from noppa.integrations import name_of, unit_row, unit_rows

with needs("llamaindex", "noppa.integrations.llamaindex"):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import PrivateAttr

# LlamaIndex's maximum; its default of 10 is meant for remote services.
BATCH = 2048
IN_MEMORY = "an encoder in memory"


class NoppaEmbedding(BaseEmbedding):
    """Embeds texts as vectors of length one; the field `model_name` is the model as `to_dict` wrote it."""

    _encoder: Any = PrivateAttr()

    def __init__(
        self, model: Model | None = None, embed_batch_size: int = BATCH, **fields: Any
    ) -> None:
        if unknown := set(fields) - set(type(self).model_fields):
            raise ParameterError(f"NoppaEmbedding has no parameter {', '.join(sorted(unknown))}")
        stored = fields.pop("model_name", SIMILARITY)
        model = stored if model is None else model
        encoder = resolve_model(model)
        try:
            name = name_of(model)
        except ParameterError:
            name = IN_MEMORY
        super().__init__(model_name=name, embed_batch_size=embed_batch_size, **fields)
        self._encoder = encoder

    @classmethod
    def class_name(cls) -> str:
        return "NoppaEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return unit_rows(self._encoder, texts).tolist()  # type: ignore[no-any-return]

    def _get_text_embedding(self, text: str) -> list[float]:
        return unit_row(self._encoder, text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return unit_row(self._encoder, query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return unit_row(self._encoder, query)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)
