"""Haystack: `NoppaTextEmbedder` for queries and `NoppaDocumentEmbedder` for documents, in any pipeline.

>>> from noppa.integrations.haystack import NoppaTextEmbedder
>>> len(NoppaTextEmbedder().run("a cake")["embedding"])
320
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from noppa.encoder.models import resolve_model
from noppa.errors import InputError
from noppa.extras import needs
from noppa.integrations import name_of, unit_row, unit_rows

with needs("haystack", "noppa.integrations.haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict


class _Embedder:
    """The model of both components, loaded in `warm_up` as Haystack requires."""

    def __init__(self, model: Any = None, **parameters: Any) -> None:
        self.model = model
        self.encoder: Any = None
        self._parameters = parameters

    def warm_up(self) -> None:
        """Load the model."""
        if self.encoder is None:
            self.encoder = resolve_model(self.model)

    def to_dict(self) -> dict[str, Any]:
        """The configuration that `from_dict` and a pipeline's `loads` read."""
        configuration: dict[str, Any] = default_to_dict(
            self, model=name_of(self.model), **self._parameters
        )
        return configuration

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """The component of a configuration that `to_dict` wrote."""
        return default_from_dict(cls, data)


@component
class NoppaTextEmbedder(_Embedder):
    """A text to its vector of length one.

    model: an encoder, a path or a preset's name; the preset for cosines where it is left out.
    """

    def __init__(self, model: Any = None) -> None:
        # Not super(): the decorator replaces the class that it would refer to.
        _Embedder.__init__(self, model)

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """`embedding`: the vector of the text."""
        self.warm_up()
        return {"embedding": unit_row(self.encoder, text)}


@component
class NoppaDocumentEmbedder(_Embedder):
    """Documents to copies of them with vectors of length one.

    model: an encoder, a path or a preset's name; the preset for cosines where it is left out.
    meta_fields_to_embed: names of metadata that are put before the content, with `embedding_separator` between.
    """

    def __init__(
        self,
        model: Any = None,
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
        """`documents`: the same, each with its vector; one without content or a known word has zeros."""
        if not isinstance(documents, list) or not all(isinstance(d, Document) for d in documents):
            raise InputError(
                "documents must be a list of Haystack's Document: a single text goes to NoppaTextEmbedder"
            )
        self.warm_up()
        rows = unit_rows(self.encoder, [self._text_of(document) for document in documents]).tolist()
        return {
            "documents": [
                replace(document, embedding=row)
                for document, row in zip(documents, rows, strict=True)
            ]
        }

    def _text_of(self, document: Document) -> str:
        fields = [document.meta.get(name) for name in self.meta_fields_to_embed]
        texts = [str(field) for field in fields if field is not None]
        return self.embedding_separator.join([*texts, document.content or ""])
