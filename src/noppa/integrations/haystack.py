"""Haystack: `NoppaTextEmbedder` for queries and `NoppaDocumentEmbedder` for documents, in any pipeline.

>>> from noppa.integrations.haystack import NoppaTextEmbedder
>>> len(NoppaTextEmbedder().run("a cake")["embedding"])
320
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noppa.encoder.models import Model, resolve_model
from noppa.errors import InputError
from noppa.extras import needs
from noppa.integrations import name_of, unit_row, unit_rows

with needs("haystack", "noppa.integrations.haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


class _Embedder:
    """The model of both components, loaded in `warm_up` as Haystack requires."""

    def __init__(self, model: Model | None = None, **parameters: Any) -> None:
        self.model = model
        self.encoder: Any = None
        self._parameters = parameters

    def warm_up(self) -> None:
        """Load the model."""
        if self.encoder is None:
            self.encoder = resolve_model(self.model)

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration that `from_dict` and a pipeline's `loads` read."""
        configuration: dict[str, Any] = default_to_dict(
            self, model=name_of(self.model), **self._parameters
        )
        return configuration

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Create the component of a configuration that `to_dict` wrote."""
        return default_from_dict(cls, data)


@component
class NoppaTextEmbedder(_Embedder):
    """Embeds a text as a vector of length one."""

    def __init__(self, model: Model | None = None) -> None:
        # Not super(): the decorator replaces the class that it would refer to.
        _Embedder.__init__(self, model)

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Return the vector of a text as `embedding`."""
        self.warm_up()
        return {"embedding": unit_row(self.encoder, text)}


@component
class NoppaDocumentEmbedder(_Embedder):
    """Copies documents and adds vectors of length one; the metadata to embed is put before the content."""

    def __init__(
        self,
        model: Model | None = None,
        meta_fields_to_embed: list[str] | None = None,
        embedding_separator: str = "\n",
    ) -> None:
        self.meta_fields_to_embed = list(meta_fields_to_embed or [])
        self.embedding_separator = embedding_separator
        _Embedder.__init__(
            self,
            model,
            meta_fields_to_embed=self.meta_fields_to_embed,
            embedding_separator=embedding_separator,
        )

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Return `documents` with their vectors; a document without a known word gets zeros."""
        if not isinstance(documents, list) or not all(isinstance(d, Document) for d in documents):
            raise InputError(
                "documents must be a list of Document", "use NoppaTextEmbedder for a single text"
            )
        self.warm_up()
        rows = unit_rows(self.encoder, list(map(self._text, documents))).tolist()
        pairs = zip(documents, rows, strict=True)
        return {"documents": [replace(document, embedding=row) for document, row in pairs]}

    def _text(self, document: Document) -> str:
        fields = [document.meta.get(name) for name in self.meta_fields_to_embed]
        texts = [str(field) for field in fields if field is not None]
        return self.embedding_separator.join([*texts, document.content or ""])
