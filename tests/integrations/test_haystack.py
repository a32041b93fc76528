"""Haystack: embedders in pipelines, indexing and searching, and written down."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.core.errors import DeserializationError
from haystack.document_stores.in_memory import InMemoryDocumentStore

import noppa
from noppa.errors import FileError, ParameterError
from noppa.integrations.haystack import NoppaDocumentEmbedder, NoppaTextEmbedder

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def indexing(store: InMemoryDocumentStore, **options: Any) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embedder", NoppaDocumentEmbedder(**options))
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.connect("embedder.documents", "writer.documents")
    return pipeline


def searching(store: InMemoryDocumentStore) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embedder", NoppaTextEmbedder())
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


@pytest.mark.parametrize("function", ["cosine", "dot_product"])
def test_pipelines_index_and_find(function: str) -> None:
    store = InMemoryDocumentStore(embedding_similarity_function=function)
    documents = [Document(content=text, meta={"n": n}) for n, text in enumerate(TEXTS)]
    indexing(store).run({"embedder": {"documents": documents}})
    query = "the market is down"
    found = searching(store).run({"embedder": {"text": query}})["retriever"]["documents"]
    assert found[0].content == TEXTS[2]
    assert found[0].meta == {"n": 2}
    cosines = noppa.load("similarity").similarity(query, TEXTS)
    np.testing.assert_allclose([d.score for d in found], sorted(cosines)[::-1], atol=1e-6)


def test_vectors_are_those_of_the_preset_and_documents_are_copied() -> None:
    expected = noppa.load("similarity").encode(TEXTS, normalize=True).tolist()
    documents = [Document(content=text) for text in TEXTS]
    made = NoppaDocumentEmbedder().run(documents)["documents"]
    assert [document.embedding for document in made] == expected
    assert [document.id for document in made] == [document.id for document in documents]
    assert documents[0].embedding is None
    assert NoppaTextEmbedder().run(TEXTS[1]) == {"embedding": expected[1]}


def test_metadata_goes_before_the_content() -> None:
    embedder = NoppaDocumentEmbedder(
        meta_fields_to_embed=["title", "year"], embedding_separator=" "
    )
    document = Document(content="a girl is eating", meta={"title": "lunch", "year": 1999})
    untitled = Document(content="a girl is eating", meta={"year": None})
    made = embedder.run([document, untitled])["documents"]
    texts = ["lunch 1999 a girl is eating", "a girl is eating"]
    expected = noppa.load("similarity").encode(texts, normalize=True).tolist()
    assert [document.embedding for document in made] == expected


def test_components_are_written_down(tmp_path: Path) -> None:
    words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    encoder.save(tmp_path / "encoder")
    folder = str(tmp_path / "encoder")
    for model, name in (
        (None, None),
        ("default", "default"),
        (noppa.load("default"), "default"),
        (tmp_path / "encoder", folder),
        (noppa.load(folder), folder),
    ):
        component = NoppaTextEmbedder(model)
        written = component.to_dict()
        assert written["init_parameters"] == {"model": name}
        assert NoppaTextEmbedder.from_dict(written).run("a cake") == component.run("a cake")
    written = NoppaDocumentEmbedder("default", ["title"], " | ").to_dict()
    again = NoppaDocumentEmbedder.from_dict(written)
    assert again.model == "default"
    assert again.meta_fields_to_embed == ["title"]
    assert again.embedding_separator == " | "
    assert again.to_dict() == written
    assert NoppaTextEmbedder(encoder).run("a cake")["embedding"]
    with pytest.raises(ParameterError, match="in memory has no name"):
        NoppaTextEmbedder(encoder).to_dict()


def test_a_pipeline_goes_through_yaml() -> None:
    written = indexing(InMemoryDocumentStore(), meta_fields_to_embed=["title"]).dumps()
    with pytest.raises(DeserializationError, match="allowlist"):
        Pipeline.loads(written)
    again = Pipeline.loads(written, allowed_modules=["noppa.*"])
    assert again.dumps() == written
    done = again.run({"embedder": {"documents": [Document(content=text) for text in TEXTS]}})
    assert done["writer"]["documents_written"] == 3


def test_models_are_loaded_late() -> None:
    component = NoppaTextEmbedder("no such model")
    assert component.to_dict()["init_parameters"] == {"model": "no such model"}
    with pytest.raises(FileError, match="does not exist"):
        component.warm_up()
    with pytest.raises(ParameterError, match="cannot encode"):
        NoppaDocumentEmbedder(3).run([])
