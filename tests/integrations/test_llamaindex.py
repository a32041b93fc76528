"""LlamaIndex: an embedding model in a real index, without any LLM or download."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import TextNode

import noppa
from noppa.errors import FileError, InputError, ParameterError
from noppa.integrations.llamaindex import NoppaEmbedding

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def test_vectors_are_those_of_the_preset_for_cosines() -> None:
    model = NoppaEmbedding()
    expected = noppa.load("similarity").encode(TEXTS, normalize=True).tolist()
    assert model.get_text_embedding_batch(TEXTS) == expected
    assert NoppaEmbedding(embed_batch_size=2).get_text_embedding_batch(TEXTS) == expected
    assert model.get_text_embedding(TEXTS[1]) == model.get_query_embedding(TEXTS[1]) == expected[1]

    async def later() -> Any:
        return await asyncio.gather(
            model.aget_text_embedding_batch(TEXTS),
            model.aget_text_embedding(TEXTS[1]),
            model.aget_query_embedding(TEXTS[1]),
        )

    assert asyncio.run(later()) == [expected, expected[1], expected[1]]


def test_an_index_finds_what_is_meant_and_is_read_again(tmp_path: Path) -> None:
    model = NoppaEmbedding()
    index = VectorStoreIndex.from_documents([Document(text=t) for t in TEXTS], embed_model=model)
    found = index.as_retriever(similarity_top_k=3).retrieve("the market is down")
    assert found[0].text == TEXTS[2]
    cosines = noppa.load("similarity").similarity("the market is down", TEXTS)
    np.testing.assert_allclose([node.score for node in found], sorted(cosines)[::-1], atol=1e-6)
    index.storage_context.persist(tmp_path)
    again = load_index_from_storage(
        StorageContext.from_defaults(persist_dir=str(tmp_path)), embed_model=model
    )
    (best,) = again.as_retriever(similarity_top_k=1).retrieve("the market is down")
    assert best.text == TEXTS[2]


def test_a_step_of_an_ingestion_pipeline() -> None:
    nodes = IngestionPipeline(transformations=[NoppaEmbedding()]).run(
        nodes=[TextNode(text=text) for text in TEXTS]
    )
    expected = noppa.load("similarity").encode(TEXTS, normalize=True).tolist()
    assert [node.embedding for node in nodes] == expected


def test_a_model_is_written_down_by_its_name(tmp_path: Path) -> None:
    words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    encoder.save(tmp_path / "encoder")
    folder = str(tmp_path / "encoder")
    for model, name in (
        (None, "similarity"),
        ("default", "default"),
        (noppa.load("default"), "default"),
        (folder, folder),
        (noppa.load(folder), folder),
    ):
        embedding = NoppaEmbedding(model)
        written = embedding.to_dict()
        assert written["model_name"] == name
        again = NoppaEmbedding.from_dict(written)
        assert again.get_query_embedding("a cake") == embedding.get_query_embedding("a cake")
    memory = NoppaEmbedding(encoder)
    assert memory.get_query_embedding("a cake") == encoder.encode("a cake", normalize=True).tolist()
    with pytest.raises(FileError, match="an encoder in memory does not exist"):
        NoppaEmbedding.from_dict(memory.to_dict())


def test_what_is_no_text_model_or_field() -> None:
    model = NoppaEmbedding()
    for query in (None, 3, ["a cake"]):
        with pytest.raises(InputError, match="one text is expected, a str"):
            model.get_query_embedding(query)
        with pytest.raises(InputError, match="one text is expected, a str"):
            model.get_text_embedding(query)
    with pytest.raises(InputError, match="item 1 is missing"):
        model.get_text_embedding_batch(["a cake", None])
    with pytest.raises(ParameterError, match="cannot encode"):
        NoppaEmbedding(3)
    with pytest.raises(FileError, match="does not exist"):
        NoppaEmbedding("no such model")
    with pytest.raises(ParameterError, match="has no parameter batch_size"):
        NoppaEmbedding(batch_size=3)
