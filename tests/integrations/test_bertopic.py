"""BERTopic: topics of real clusters; the light installation is enough, and so is the whole one."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from bertopic.representation import KeyBERTInspired
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

import noppa
from noppa.integrations.bertopic import NoppaBackend

KINDS = ("cake bread soup rice fish", "bank loan market price profit", "train bus ship road car")
TEXTS = [
    f"the {one} and the {other} of today"
    for kind in KINDS
    for one, other in permutations(kind.split(), 2)
]


def topics_of(**options: Any) -> BERTopic:
    reduced, clusters = PCA(3, random_state=0), KMeans(3, random_state=0, n_init=3)
    backend = NoppaBackend()
    return BERTopic(embedding_model=backend, umap_model=reduced, hdbscan_model=clusters, **options)


def test_topics_are_the_kinds_of_texts() -> None:
    model = topics_of()
    found = np.array(model.fit_transform(TEXTS)[0]).reshape(3, 20)
    assert (found == found[:, :1]).all()
    assert len(set(found[:, 0])) == 3
    new, _ = model.transform(["he cooked rice and fish", "the profit of a bank", "take the bus"])
    assert list(new) == list(found[:, 0])
    (best,), _ = model.find_topics("something to eat", top_n=1)
    assert best == found[0, 0]


def test_words_are_embedded_too() -> None:
    model = topics_of(representation_model=KeyBERTInspired(top_n_words=5, random_state=0))
    topics, _ = model.fit_transform(TEXTS)
    words = [word for word, _ in model.get_topic(topics[0])]
    assert set(words[:2]) <= set(KINDS[0].split())


def test_a_saved_model_goes_on(tmp_path: Path) -> None:
    model = topics_of()
    model.fit(TEXTS)
    model.save(str(tmp_path / "topics.pkl"), serialization="pickle")
    again = BERTopic.load(str(tmp_path / "topics.pkl"))
    new = ["he cooked rice and fish", "take the bus"]
    assert list(again.transform(new)[0]) == list(model.transform(new)[0])


def test_vectors_of_documents_and_words_and_the_plain_call() -> None:
    backend = NoppaBackend()
    assert isinstance(backend, BaseEmbedder)
    expected = noppa.load("similarity").encode(TEXTS, normalize=True)
    for rows in (
        backend.embed(TEXTS),
        backend.embed_documents(TEXTS, verbose=True),
        backend.embed_words(np.array(TEXTS)),
        backend(TEXTS),
    ):
        np.testing.assert_array_equal(rows, expected)
    assert NoppaBackend("default").embed(["a cake"]).shape == (1, noppa.load().dim)
