"""LangChain: `NoppaEmbeddings`, for every vector store that takes `Embeddings`.

>>> from noppa.integrations.langchain import NoppaEmbeddings
>>> len(NoppaEmbeddings().embed_query("a cake"))
320
"""

from __future__ import annotations

from typing import Any

from noppa.encoder.models import resolve_model
from noppa.extras import needs
from noppa.integrations import unit_row, unit_rows

with needs("langchain", "noppa.integrations.langchain"):
    from langchain_core.embeddings import Embeddings


class NoppaEmbeddings(Embeddings):
    """Texts to vectors of length one; the asynchronous methods are LangChain's, which call these in a thread.

    model: an encoder, a path or a preset's name; the preset for cosines where it is left out.
    """

    def __init__(self, model: Any = None) -> None:
        self.encoder = resolve_model(model)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """A vector for each text; one without a known word is zeros."""
        return unit_rows(self.encoder, texts).tolist()  # type: ignore[no-any-return]

    def embed_query(self, text: str) -> list[float]:
        """The vector that `embed_documents` gives the same text."""
        return unit_row(self.encoder, text)
