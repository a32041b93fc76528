"""A served classifier: /predict in the contracts of TEI and Hugging Face, and explanations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import noppa
from noppa.serve import classify
from noppa.serve.settings import Settings
from tests.serving import check_document, error_of, opened, serving

pytestmark = pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")

TEXTS = [
    "a fine film",
    "a lovely story and a fine cast",
    "what a joy to see",
    "dull and long",
    "a boring mess",
    "not a fine film at all",
    "cold soup and rude waiters",
    "the soup was warm",
    "the bread tastes of smoke",
] * 3
LABELS = (["good"] * 3 + ["bad"] * 3 + ["food"] * 3) * 3


def opened_classifier(classifier: noppa.Classifier, folder: Path, **options: Any) -> Any:
    classifier.save(folder)
    return opened(Settings(model=str(folder), max_tokens=50, **options))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("predict")


@pytest.fixture(scope="module")
def classifier(folder: Path) -> noppa.Classifier:
    noppa.Classifier("similarity").fit(TEXTS, LABELS).save(folder / "reviews")
    return noppa.load_classifier(folder / "reviews")


@pytest.fixture
def client(classifier: noppa.Classifier, folder: Path) -> Iterator[TestClient]:
    with opened_classifier(classifier, folder / "reviews", max_inputs=20) as client:
        yield client


def ranked(classifier: noppa.Classifier, scores: Any) -> list[list[dict[str, Any]]]:
    return [
        [
            {"score": pytest.approx(row[at], abs=1e-8), "label": str(classifier.classes_[at])}
            for at in np.argsort(-row, kind="stable")
        ]
        for row in scores
    ]


def test_text_embeddings_inference(client: TestClient, classifier: noppa.Classifier) -> None:
    texts = ["a lovely film", "", "zzqx", "the soup was cold"]
    expected = ranked(classifier, classifier.predict_proba(texts))
    one = client.post("/predict", json={"inputs": texts[0]}).json()
    assert one == expected[0]
    assert sum(prediction["score"] for prediction in one) == pytest.approx(1)
    texts.pop(1), expected.pop(1)
    assert client.post("/predict", json={"inputs": texts}).json() == expected
    assert client.post("/predict", json={"inputs": [[text] for text in texts]}).json() == expected
    assert client.post("/", json={"inputs": texts}).json() == expected
    raw = client.post("/predict", json={"inputs": texts, "raw_scores": True}).json()
    assert raw == ranked(classifier, classifier.decision_function(texts))
    alone = [client.post("/predict", json={"inputs": text}).json() for text in texts]
    assert alone == client.post("/predict", json={"inputs": texts}).json()


def test_hugging_face(client: TestClient, classifier: noppa.Classifier) -> None:
    """With `parameters`, there is always one list per text."""
    expected = ranked(classifier, classifier.predict_proba(TEXTS[:2]))
    body = {"inputs": TEXTS[0], "parameters": {}}
    assert client.post("/predict", json=body).json() == expected[:1]
    few = {"inputs": TEXTS[:2], "parameters": {"top_k": 1}}
    assert client.post("/predict", json=few).json() == [row[:1] for row in expected]
    raw = {"inputs": TEXTS[0], "parameters": {"function_to_apply": "none"}}
    logits = classifier.decision_function(TEXTS[:1])
    assert client.post("/predict", json=raw).json() == ranked(classifier, logits)
    more = {"inputs": TEXTS[0], "parameters": {"top_k": 9}}
    assert client.post("/predict", json=more).json() == expected[:1]
    wrong = {"inputs": TEXTS[0], "parameters": {"top_k": 0}}
    assert client.post("/predict", json=wrong).json()["error"]["param"] == "parameters"


def test_reasons_add_up(client: TestClient, classifier: noppa.Classifier) -> None:
    text = "a lovely film and cold soup"
    decision = classifier.explain(text)
    for label in (None, "good", "food"):
        body = {"inputs": text} if label is None else {"inputs": text, "label": label}
        found = client.post("/predict/explain", json=body).json()
        at = decision.class_index(label)
        assert found["label"] == str(decision.classes[at])
        assert found["logit"] == pytest.approx(decision.logits[at], abs=1e-8)
        shares = [reason["share"] for reason in found["reasons"]]
        assert sum(shares) == pytest.approx(found["logit"], abs=1e-6)
        assert {"lovely", "soup", "a lovely"} <= {reason["name"] for reason in found["reasons"]}
        assert found["texts"][0]["tokens"] == text.split()
        (of_tokens,) = decision.token_shares()
        assert found["texts"][0]["shares"] == pytest.approx(of_tokens[:, at].tolist(), abs=1e-8)
        assert found["predictions"] == client.post("/predict", json={"inputs": text}).json()
    long = client.post("/predict/explain", json={"inputs": "soup " * 51})
    assert long.status_code == 413


@pytest.mark.parametrize(
    ("path", "body", "status", "param"),
    [
        ("/predict", {}, 400, "inputs"),
        ("/predict", {"inputs": 1}, 400, "inputs"),
        ("/predict", {"inputs": []}, 400, "inputs"),
        ("/predict", {"inputs": ""}, 400, "inputs"),
        ("/predict", {"inputs": ["a", ["b", "c"]]}, 400, "inputs"),
        ("/predict", {"inputs": [["a", "b"]]}, 400, "inputs"),
        ("/predict", {"inputs": [[1]]}, 400, "inputs"),
        ("/predict", {"inputs": [{}]}, 400, "inputs"),
        ("/predict", {"inputs": ["a"] * 21}, 413, "inputs"),
        ("/predict", {"inputs": ["a", "soup " * 51]}, 413, "inputs"),
        ("/predict", {"inputs": "a", "raw_scores": 1}, 400, "raw_scores"),
        ("/predict/explain", {"inputs": ["a", "b"]}, 400, "inputs"),
        ("/predict/explain", {"inputs": "a", "label": "awful"}, 400, "label"),
    ],
    ids=str,
)
def test_wrong_bodies(
    client: TestClient, path: str, body: dict[str, Any], status: int, param: str
) -> None:
    answer = client.post(path, json=body)
    assert (answer.status_code, error_of(answer)["param"]) == (status, param)
    if status == 413 and len(body["inputs"]) == 2:
        assert "inputs[1] has 51 tokens" in answer.text
        cut = client.post(path, json={**body, "truncate": True}).json()
        same = client.post(path, json={"inputs": ["a", "soup " * 50]}).json()
        assert cut == same


def test_too_many_scores(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classify, "MAX_SCORES", 10)
    refused = client.post("/predict", json={"inputs": ["a"] * 4})
    assert refused.status_code == 413
    assert "4 inputs with 3 labels have 12 scores" in refused.text
    assert client.post("/predict", json={"inputs": ["a"] * 3}).status_code == 200


def test_other_routes_next_to_a_classifier(client: TestClient) -> None:
    """The presets are served too; the one for cosines reranks."""
    models = [model["id"] for model in client.get("/v1/models").json()["data"]]
    assert models == ["noppa-similarity", "noppa-default", "noppa-small"]
    info = client.get("/info").json()
    assert info["model_id"] == "reviews"
    assert info["model_type"]["classifier"]["label2id"] == {"bad": 0, "food": 1, "good": 2}
    listed = client.get("/methods").json()["classifier"]
    assert listed["labels"] == ["bad", "food", "good"]
    assert listed["pairs"] is False
    assert client.get("/health").status_code == 200
    rank = {"query": "a meal", "documents": ["a film", "soup"]}
    assert client.post("/rerank", json=rank).json()["model"] == "noppa-similarity"
    counts = 'noppa_requests_total{code="200",route="/predict"}'
    client.post("/predict", json={"inputs": "a film"})
    assert counts in client.get("/metrics").text


@pytest.mark.parametrize("encoder", [False, "own"])
def test_other_encoders(tmp_path: Path, encoder: Any) -> None:
    """N-grams alone, or an own encoder, which is served under the classifier's name; two numeric labels."""
    if encoder == "own":
        words = noppa.load("similarity").words
        encoder = noppa.Encoder(words, noppa.Average())
    labels = [int(label == "food") for label in LABELS]
    made = noppa.Classifier(encoder).fit(TEXTS, labels)
    with opened_classifier(made, tmp_path / "topics") as client:
        answer = client.post("/predict", json={"inputs": TEXTS}).json()
        assert answer == ranked(made, made.predict_proba(TEXTS))
        raw = client.post("/predict", json={"inputs": TEXTS[:1], "raw_scores": True}).json()
        assert raw[0][0]["score"] == -raw[0][1]["score"]
        names = [model["id"] for model in client.get("/v1/models").json()["data"]]
        assert ("topics" in names) == (encoder is not False)
        assert client.post("/predict/explain", json={"inputs": "warm soup"}).status_code == 200


def test_several_labels(tmp_path: Path) -> None:
    sets = [["food", "good"] if "warm" in text else [label] for text, label in zip(TEXTS, LABELS, strict=True)]  # fmt: skip
    made = noppa.Classifier("similarity").fit(TEXTS, sets)
    with opened_classifier(made, tmp_path / "tags") as client:
        answer = client.post("/predict", json={"inputs": "the soup was warm"}).json()
        assert sum(prediction["score"] for prediction in answer) > 1
        assert client.get("/methods").json()["classifier"]["exclusive"] is False


def test_pairs(tmp_path: Path) -> None:
    pairs = [(a, b) for a in TEXTS[:9] for b in TEXTS[:9]]
    same = [LABELS[at // 9] == LABELS[at % 9] for at in range(81)]
    made = noppa.Classifier("similarity").fit(([a for a, _ in pairs], [b for _, b in pairs]), same)
    with opened_classifier(made, tmp_path / "pairs") as client:
        expected = ranked(made, made.predict_proba(pairs[:2]))
        assert client.post("/predict", json={"inputs": pairs[0]}).json() == expected[0]
        assert client.post("/predict", json={"inputs": pairs[:2]}).json() == expected
        for wrong in ("a", ["a"], ["a", "b", "c"], [["a"]], [["a", "b"], "c"]):
            assert client.post("/predict", json={"inputs": wrong}).status_code == 400
        found = client.post("/predict/explain", json={"inputs": pairs[1]}).json()
        assert len(found["texts"]) == 2
        assert sum(reason["share"] for reason in found["reasons"]) == pytest.approx(found["logit"], abs=1e-6)  # fmt: skip
        assert client.get("/methods").json()["classifier"]["pairs"] is True
        assert client.get("/health").status_code == 200


def test_hugging_face_client_and_processes(classifier: noppa.Classifier, folder: Path) -> None:
    """The unchanged client, with a key and two workers."""
    from huggingface_hub import InferenceClient

    environment = {"NOPPA_API_KEYS": "sk-test"}
    with serving(str(folder / "reviews"), "--workers", "2", environment=environment) as running:
        (listening,) = running.events("listening")
        assert listening["models"][0] == "reviews"
        for address in (running.url, f"{running.url}/predict"):
            client = InferenceClient(address, token="sk-test")
            found = client.text_classification("a lovely film", top_k=2)
            (expected,) = ranked(classifier, classifier.predict_proba(["a lovely film"]))
            assert [{"score": one.score, "label": one.label} for one in found] == expected[:2]


@pytest.mark.filterwarnings("default")
def test_the_document_of_a_classifier(classifier: noppa.Classifier, folder: Path) -> None:
    with serving(str(folder / "reviews")) as running, running.client() as client:
        paths = check_document(running, client, "/predict")
    assert ("/predict/explain", "post") in paths
