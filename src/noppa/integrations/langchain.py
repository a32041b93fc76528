"""LangChain: `NoppaEmbeddings`, for every vector store that takes `Embeddings`.

>>> from noppa.integrations.langchain import NoppaEmbeddings
>>> len(NoppaEmbeddings().embed_query("a cake"))
320
"""

from __future__ import annotations

from noppa.encoder.models import Model, resolve_model
from noppa.extras import needs
from noppa.integrations import unit_row, unit_rows

with needs("langchain", "noppa.integrations.langchain"):
    from langchain_core.embeddings import Embeddings


class NoppaEmbeddings(Embeddings):
    """Embeds texts as vectors of length one; LangChain's asynchronous methods call these in a thread."""

    def __init__(self, model: Model | None = None) -> None:
        self.encoder = resolve_model(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text; a text without a known word gets zeros."""
        return unit_rows(self.encoder, texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """Return the vector that `embed_documents` returns for the same text."""
        return unit_row(self.encoder, text)
