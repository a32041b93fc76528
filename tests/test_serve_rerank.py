"""Reranking in the contracts of Cohere, Jina and TEI, and TEI's /similarity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import noppa
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.serving import error_of, made_encoder, opened

# One of the documents has no known word.
pytestmark = pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")

QUERY = "the girl eats a cake"
DOCUMENTS = ["a boy is eating", QUERY, "zzqx", QUERY, *made_texts(20, made_words(8, 40), seed=4)]
RERANKERS = ["/rerank", "/v1/rerank", "/v2/rerank"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("rerank") / "small")


@pytest.fixture
def client(encoder: noppa.Encoder) -> Iterator[TestClient]:
    with opened(Settings(max_tokens=50, max_inputs=40), {"small": encoder}) as client:
        yield client


def cosines(encoder: noppa.Encoder) -> Any:
    return encoder.similarity([QUERY], DOCUMENTS)[0]


@pytest.mark.parametrize("path", RERANKERS)
def test_documents_are_ordered_by_cosine(
    client: TestClient, encoder: noppa.Encoder, path: str
) -> None:
    answer = client.post(path, json={"query": QUERY, "documents": DOCUMENTS})
    body = answer.json()
    order = [result["index"] for result in body["results"]]
    expected = cosines(encoder)
    assert expected.min() < 0
    assert sorted(order) == [*range(len(DOCUMENTS))]
    assert order[:2] == [1, 3]  # equal scores keep their order
    assert np.all(np.diff(expected[order]) <= 1e-9)
    scores = np.array([result["relevance_score"] for result in body["results"]])
    assert scores == pytest.approx(np.maximum(expected[order], 0), abs=1e-6)
    assert set(body["results"][0]) == {"index", "relevance_score"}
    assert body["model"] == "small"
    assert body["object"] == "list"
    assert body["id"] == answer.headers["x-request-id"]
    tokens = sum(len(encoder.look_up([text], 1)[0]) for text in [QUERY, *DOCUMENTS])
    assert body["usage"]["total_tokens"] == body["meta"]["tokens"]["input_tokens"] == tokens
    few = client.post(
        path,
        json={
            "query": QUERY,
            "documents": [{"text": text, "title": "ignored"} for text in DOCUMENTS],
            "top_n": 2,
            "return_documents": True,
            "max_tokens_per_doc": 10,
        },
    ).json()
    assert few["results"] == [
        {**result, "document": {"text": QUERY}} for result in body["results"][:2]
    ]


def test_a_score_is_the_same_in_any_batch(client: TestClient) -> None:
    def scores(documents: list[str]) -> dict[str, float]:
        body = {"query": QUERY, "texts": documents, "raw_scores": True, "return_text": True}
        return {rank["text"]: rank["score"] for rank in client.post("/rerank", json=body).json()}

    together = scores(DOCUMENTS)
    for size in (1, 3, 7):
        for start in range(0, len(DOCUMENTS), size):
            part = scores(DOCUMENTS[start : start + size])
            assert part == {text: together[text] for text in part}


def test_reranking_as_text_embeddings_inference_does(
    client: TestClient, encoder: noppa.Encoder
) -> None:
    """The same path with `texts` instead of `documents` answers with an array."""
    expected = cosines(encoder)
    body = {"query": QUERY, "texts": DOCUMENTS}
    plain = client.post("/rerank", json=body).json()
    assert plain[:2] == [{"index": 1, "score": 1.0}, {"index": 3, "score": 1.0}]
    assert min(rank["score"] for rank in plain) == 0
    raw = client.post("/rerank", json={**body, "raw_scores": True, "documents": None}).json()
    assert [rank["index"] for rank in raw] == [rank["index"] for rank in plain]
    for rank in raw:
        assert rank["score"] == pytest.approx(expected[rank["index"]], abs=1e-6)
    long = {"query": QUERY, "texts": ["girl " * 51]}
    refused = client.post("/rerank", json=long)
    assert refused.status_code == 413
    assert "texts[0] has 51 tokens" in refused.text
    assert client.post("/rerank", json={**long, "truncate": True}).status_code == 200


def test_similarity_as_text_embeddings_inference_does(
    client: TestClient, encoder: noppa.Encoder
) -> None:
    inputs = {"source_sentence": QUERY, "sentences": DOCUMENTS}
    answer = client.post("/similarity", json={"inputs": inputs}).json()
    assert answer == pytest.approx(cosines(encoder).tolist(), abs=1e-6)
    own = client.post("/similarity", json={"a": QUERY, "b": DOCUMENTS[0]}).json()
    assert own["similarity"] == pytest.approx(answer[0], abs=1e-6)
    long = {"source_sentence": QUERY, "sentences": ["girl " * 51]}
    assert client.post("/similarity", json={"inputs": long}).status_code == 413
    cut = {"inputs": long, "parameters": {"truncate": True}}
    assert client.post("/similarity", json=cut).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/rerank", {}, "query"),
        ("/rerank", {"query": "a"}, "documents"),
        ("/rerank", {"query": "", "documents": ["a"]}, "query"),
        ("/rerank", {"query": ["a"], "documents": ["a"]}, "query"),
        ("/rerank", {"query": "a", "documents": "a"}, "documents"),
        ("/rerank", {"query": "a", "documents": []}, "documents"),
        ("/rerank", {"query": "a", "documents": [""]}, "documents"),
        ("/rerank", {"query": "a", "documents": [{}]}, "documents"),
        ("/rerank", {"query": "a", "documents": [{"text": 1}]}, "documents"),
        ("/rerank", {"query": "a", "documents": ["a"], "top_n": 0}, "top_n"),
        ("/rerank", {"query": "a", "texts": ["a"], "raw_scores": 1}, "raw_scores"),
        ("/rerank", {"query": "a", "texts": "a"}, "texts"),
        ("/similarity", {}, "a"),
        ("/similarity", {"inputs": "a"}, "inputs"),
        ("/similarity", {"inputs": {"sentences": ["a"]}}, "inputs"),
        ("/similarity", {"inputs": {"source_sentence": "a", "sentences": []}}, "inputs"),
    ],
    ids=str,
)
def test_wrong_bodies(client: TestClient, path: str, body: dict[str, Any], param: str) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 400
    assert error_of(answer)["param"] == param
    assert param in error_of(answer)["message"]


@pytest.mark.parametrize("field", ["documents", "texts"])
def test_too_many_texts(client: TestClient, field: str) -> None:
    many = client.post("/rerank", json={"query": "a", field: ["a"] * 41})
    assert many.status_code == 413
    assert f"{field} has 41 texts" in many.text


def test_unknown_models(client: TestClient) -> None:
    for path in RERANKERS:
        answer = client.post(path, json={"query": "a", "documents": ["a"], "model": "rerank-v3.5"})
        assert answer.status_code == 404
        assert error_of(answer)["code"] == "model_not_found"
        assert f'noppa_requests_total{{code="404",route="{path}"}}' in client.get("/metrics").text
