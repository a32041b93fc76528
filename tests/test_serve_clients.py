"""Other people's clients, changed in nothing but the address."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import noppa
from tests.serving import Running, made_encoder, serving

# LangChain and its friends warn about versions of Python and of one another.
pytestmark = pytest.mark.filterwarnings("default")

TEXTS = ["the girl eats a cake", "a boy is eating", "café , and"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("clients") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), environment={"NOPPA_API_KEYS": "sk-test"}) as running:
        yield running


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def test_openai(server: Running, encoder: noppa.Encoder) -> None:
    """The official client, which asks for base64 unless told otherwise."""
    import openai

    expected = encoder.encode(TEXTS, normalize=True)
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="sk-test", max_retries=0) as client:
        for options in ({}, {"encoding_format": "float"}):
            answer = client.embeddings.create(input=TEXTS, model="small", **options)  # type: ignore[arg-type]
            rows = np.array([item.embedding for item in answer.data], np.float32)
            assert rows.tobytes() == expected.tobytes()
            assert answer.model == "small"
            assert answer.usage.total_tokens == 12
        small = client.embeddings.create(input=TEXTS[0], model="small", dimensions=4)
        assert len(small.data[0].embedding) == 4
        assert [model.id for model in client.models.list()] == ["small"]
        assert client.models.retrieve("small").owned_by == "noppa"
        with pytest.raises(openai.NotFoundError) as missing:
            client.embeddings.create(input=TEXTS, model="text-embedding-3-small")
        assert missing.value.code == "model_not_found"
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length"):
            client.embeddings.create(input=[[1, 2, 3]], model="small")
    with (
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.embeddings.create(input=TEXTS, model="small")


def test_langchain_openai(server: Running, encoder: noppa.Encoder) -> None:
    from langchain_openai import OpenAIEmbeddings

    embeddings = OpenAIEmbeddings(
        model="small",
        base_url=f"{server.url}/v1",
        api_key="sk-test",  # type: ignore[arg-type]
        check_embedding_ctx_length=False,
    )
    rows = np.array(embeddings.embed_documents(TEXTS), np.float32)
    assert rows.tobytes() == encoder.encode(TEXTS, normalize=True).tobytes()
    row = np.array(embeddings.embed_query(TEXTS[1]), np.float32)
    assert row.tobytes() == encoder.encode(TEXTS[1], normalize=True).tobytes()


def test_langchain_text_embeddings_inference(server: Running, encoder: noppa.Encoder) -> None:
    """LangChain's class for such servers takes no address any more; the client inside it, Hugging Face's own, does."""
    from huggingface_hub import InferenceClient
    from langchain_huggingface import HuggingFaceEndpointEmbeddings

    embeddings = HuggingFaceEndpointEmbeddings(model="small", huggingfacehub_api_token="sk-test")
    embeddings.client = InferenceClient(server.url, token="sk-test")
    rows = np.array(embeddings.embed_documents(TEXTS), np.float32)
    assert rows.tobytes() == encoder.encode(TEXTS, normalize=True).tobytes()
    row = np.array(embeddings.embed_query(TEXTS[1]), np.float32)
    assert row.tobytes() == encoder.encode(TEXTS[1], normalize=True).tobytes()


def test_huggingface_hub(server: Running, encoder: noppa.Encoder) -> None:
    """It posts to the very address that it is given."""
    from huggingface_hub import InferenceClient

    client = InferenceClient(f"{server.url}/similarity", token="sk-test")
    cosines = client.sentence_similarity(TEXTS[0], TEXTS[1:])
    expected = encoder.similarity(TEXTS[0], TEXTS[1:])
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    rows = InferenceClient(server.url, token="sk-test").feature_extraction(TEXTS)
    assert rows.tobytes() == encoder.encode(TEXTS, normalize=True).tobytes()


def test_cohere(server: Running, encoder: noppa.Encoder) -> None:
    """Both editions of its API."""
    import cohere

    cosines = encoder.similarity(TEXTS[0], TEXTS)
    order = np.argsort(-cosines, kind="stable").tolist()
    with cohere.ClientV2("sk-test", base_url=server.url) as newer:
        answer = newer.rerank(model="small", query=TEXTS[0], documents=TEXTS, top_n=2)
        assert [result.index for result in answer.results] == order[:2]
        with pytest.raises(cohere.NotFoundError):
            newer.rerank(model="rerank-v3.5", query=TEXTS[0], documents=TEXTS)
    with cohere.Client("sk-test", base_url=server.url) as older:
        named = older.rerank(
            model="small",
            query=TEXTS[0],
            documents=[{"text": text} for text in TEXTS],
            return_documents=True,
        )
    assert [result.index for result in named.results] == order
    for result in named.results:
        assert result.relevance_score == pytest.approx(max(0, cosines[result.index]), abs=1e-6)
        assert result.document is not None
        assert result.document.text == TEXTS[result.index]
    with (
        cohere.ClientV2("wrong", base_url=server.url) as stranger,
        pytest.raises(cohere.UnauthorizedError),
    ):
        stranger.rerank(model="small", query="a", documents=["a"])


def test_ollama(server: Running, encoder: noppa.Encoder) -> None:
    import ollama

    with ollama.Client(server.url, headers={"Authorization": "Bearer sk-test"}) as client:
        (listed,) = client.list().models
        expected = encoder.encode(TEXTS, normalize=True)
        answer = client.embed(model=listed.model or "", input=TEXTS)
        assert np.array(answer.embeddings, np.float32).tobytes() == expected.tobytes()
        assert answer.prompt_eval_count == 12
        one = client.embeddings(model="small", prompt=TEXTS[1])
        assert np.array(one.embedding, np.float32).tobytes() == expected[1].tobytes()
        small = client.embed(model="small", input=TEXTS[0], dimensions=4)
        assert np.shape(small.embeddings) == (1, 4)
        with pytest.raises(ollama.ResponseError, match="model_not_found") as missing:
            client.embed(model="nomic-embed-text", input=TEXTS)
        assert missing.value.status_code == 404
