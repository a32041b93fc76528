"""LangChain: embeddings in its vector store, at once and asynchronously."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

import noppa
from noppa.errors import FileError, InputError, ParameterError
from noppa.integrations.langchain import NoppaEmbeddings

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def test_vectors_are_those_of_the_preset_for_cosines() -> None:
    embeddings = NoppaEmbeddings()
    assert isinstance(embeddings, Embeddings)
    expected = noppa.load("similarity").encode(TEXTS, normalize=True)
    rows = embeddings.embed_documents(TEXTS)
    assert type(rows) is list
    assert type(rows[0]) is list
    assert type(rows[0][0]) is float
    np.testing.assert_array_equal(np.array(rows, np.float32), expected)
    assert embeddings.embed_query(TEXTS[1]) == rows[1]
    assert asyncio.run(embeddings.aembed_documents(TEXTS)) == rows
    assert asyncio.run(embeddings.aembed_query(TEXTS[1])) == rows[1]


def test_a_store_finds_what_is_meant() -> None:
    store = InMemoryVectorStore(NoppaEmbeddings())
    store.add_documents([Document(text, metadata={"n": n}) for n, text in enumerate(TEXTS)])
    found = store.similarity_search_with_score("the market is down", k=3)
    assert found[0][0].metadata == {"n": 2}
    cosines = noppa.load("similarity").similarity("the market is down", TEXTS)
    np.testing.assert_allclose([score for _, score in found], sorted(cosines)[::-1], atol=1e-6)
    answers = asyncio.run(store.as_retriever(search_kwargs={"k": 1}).ainvoke("children eat"))
    assert answers[0].page_content in TEXTS[:2]


def test_a_saved_encoder_and_one_in_memory(tmp_path: Path) -> None:
    words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    encoder.save(tmp_path / "encoder")
    expected = encoder.encode("a cake", normalize=True).tolist()
    for model in (encoder, tmp_path / "encoder", str(tmp_path / "encoder")):
        embeddings = NoppaEmbeddings(model)
        assert embeddings.embed_query("a cake") == expected
        assert pickle.loads(pickle.dumps(embeddings)).embed_query("a cake") == expected


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ("a cake", "put it in a list"),
        (None, "neither a text nor a collection"),
        ([None], "item 0 is missing"),
        (["a cake", 3], "item 1 is a int"),
        ({"text": "a cake"}, "a dict has no order"),
    ],
)
def test_what_are_no_texts(texts: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        NoppaEmbeddings().embed_documents(texts)


def test_what_is_no_query_or_model() -> None:
    for query in (None, 3, ["a cake"], b"a cake"):
        with pytest.raises(InputError, match="one text is expected, a str"):
            NoppaEmbeddings().embed_query(query)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="cannot encode"):
        NoppaEmbeddings(3)
    with pytest.raises(FileError, match="does not exist"):
        NoppaEmbeddings("no such model")
