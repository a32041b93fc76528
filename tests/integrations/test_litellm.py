"""LiteLLM against the server: each contract that both know gives the same ranks and the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import litellm
import numpy as np
import pytest

import noppa
from tests.serving import Running, serving

QUERY = "a girl is eating"
TEXTS = ["the bank sells shares", "the girl eats a cake", "stock prices fell"]


@pytest.fixture(scope="module")
def server() -> Iterator[Running]:
    with serving(environment={"NOPPA_API_KEYS": "sk-test"}) as running:
        yield running


@pytest.mark.parametrize("contract", ["cohere", "jina_ai", "huggingface", "hosted_vllm"])
def test_rerank(server: Running, contract: str) -> None:
    answer = litellm.rerank(
        model=f"{contract}/noppa-similarity",
        query=QUERY,
        documents=TEXTS,
        api_base=server.url,
        api_key="sk-test",
    )
    cosines = noppa.load("similarity").similarity(QUERY, TEXTS)
    assert [result["index"] for result in answer.results] == np.argsort(-cosines).tolist()
    scores = [result["relevance_score"] for result in answer.results]
    np.testing.assert_allclose(scores, np.maximum(np.sort(cosines)[::-1], 0), atol=1e-6)
    assert answer.results[0]["document"]["text"] == TEXTS[answer.results[0]["index"]]


def test_vectors(server: Running) -> None:
    expected = noppa.load("similarity").encode(TEXTS, normalize=True)
    answer = litellm.embedding(
        "openai/noppa-similarity", TEXTS, api_base=f"{server.url}/v1", api_key="sk-test"
    )
    rows = np.array([item["embedding"] for item in answer.data], np.float32)
    assert rows.tobytes() == expected.tobytes()


def test_ollama_vectors() -> None:
    """As Ollama's own server, which knows no keys."""
    with serving() as running:
        answer = litellm.embedding("ollama/noppa-similarity", TEXTS, api_base=running.url)
    rows = np.array([item["embedding"] for item in answer.data], np.float32)
    assert rows.tobytes() == noppa.load("similarity").encode(TEXTS, normalize=True).tobytes()
    assert answer.usage.prompt_tokens == sum(len(text.split()) for text in TEXTS)
