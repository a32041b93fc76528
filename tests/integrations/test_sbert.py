"""sentence-transformers: our encoder as one of its models, saved, loaded and trained on top of.

Also installs: accelerate datasets
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")

import torch
from sentence_transformers import (
    SentenceTransformer,
)
from sentence_transformers.sentence_transformer.modules import Dense

import noppa
from noppa.export import export
from noppa.integrations.sbert import NoppaModule, sentence_transformer
from tests.conftest import made_texts, made_words

TEXTS = ["the girl eats a cake", "a girl is eating", "", "stock prices fell", "zzz yes"]


def test_vectors_are_ours() -> None:
    model = sentence_transformer()
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        wanted = noppa.load().encode(TEXTS)
    np.testing.assert_array_equal(model.encode(TEXTS), wanted)
    np.testing.assert_array_equal(model.encode(TEXTS, batch_size=2), wanted)
    np.testing.assert_array_equal(model.encode(TEXTS[0]), wanted[0])
    assert model[0].get_embedding_dimension() == noppa.load().dim
    unit = sentence_transformer("similarity").encode(TEXTS[:2], normalize_embeddings=True)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    assert model.encode(TEXTS, convert_to_tensor=True).shape == (len(TEXTS), noppa.load().dim)


def test_a_prompt_comes_before_each_text() -> None:
    model = SentenceTransformer(modules=[NoppaModule("similarity")], prompts={"q": "query : "})
    wanted = noppa.load("similarity").encode(["query : a cake"])
    np.testing.assert_array_equal(model.encode(["a cake"], prompt_name="q"), wanted)


def test_saved_and_loaded_by_who_knows_nothing_of_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the flag is needed that sentence-transformers wants for a module that is not its own."""
    words = made_words()
    own = noppa.Encoder(words, noppa.NoPPA(k=2)).fit(made_texts(40, words))
    dense = Dense(own.dim, 3, activation_function=torch.nn.Identity())
    model = sentence_transformer(own, dense)
    model.save(str(tmp_path / "model"))
    with pytest.raises(ValueError, match="trust_remote_code"):
        SentenceTransformer(str(tmp_path / "model"))
    monkeypatch.delitem(sys.modules, "noppa.integrations.sbert")
    again = SentenceTransformer(str(tmp_path / "model"), trust_remote_code=True)
    assert type(again[0]) is not NoppaModule  # it was imported anew
    np.testing.assert_array_equal(again.encode(TEXTS[:2]), model.encode(TEXTS[:2]))


def test_an_exported_mean_needs_no_module_of_ours(tmp_path: Path) -> None:
    """The model2vec folder opens as a StaticEmbedding; unknown words, which count there, only shorten a vector."""
    own = noppa.load("similarity")
    export(own, "model2vec", tmp_path / "model")
    model = SentenceTransformer(str(tmp_path / "model"))
    texts = ["the girl eats a cake", "it isn't the mother-in-law's train"]
    np.testing.assert_allclose(model.encode(texts), own.encode(texts), atol=1e-5)
    unknown = model.similarity(model.encode(["a cake \u4e00"]), model.encode(texts)).numpy()
    np.testing.assert_allclose(unknown, own.similarity(["a cake \u4e00"], texts), atol=1e-5)
