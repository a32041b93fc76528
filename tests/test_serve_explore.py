"""Our own routes: explanations, similarity, search, lines; and the OpenAPI document."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import httpx
import numpy as np
import pytest
from numpy.typing import NDArray

import noppa
from noppa.methods import registry
from noppa.serve import explore, methods
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.serving import Running, check_document, error_of, made_encoder, opened, serving

TEXT = "the girl eats zzqx a cake ."
LINES = [*made_texts(80, made_words(dim=8, extra=40), seed=3), "the girl eats", "the girl eats"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("explore") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path)) as running:
        yield running


@pytest.fixture
def client(server: Running) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened


def test_explain(client: httpx.Client, encoder: noppa.Encoder) -> None:
    expected = encoder.explain(TEXT)
    answer = client.post("/explain", json={"text": TEXT}).json()
    assert answer["tokens"] == list(expected.tokens)
    assert answer["known"] == expected.known.tolist()
    for field in ("weights", "shares", "attention", "weighted_attention", "pairs", "cosines"):
        assert np.array(answer[field]) == pytest.approx(getattr(expected, field), abs=1e-8)
    assert answer["dim"] == encoder.dim
    assert answer["note"] is None
    assert "vector" not in answer
    full = client.post("/explain", json={"text": TEXT, "full": True}).json()
    assert np.array(full["vector"]) == pytest.approx(encoder.encode(TEXT), abs=1e-5)
    sums = np.array(full["contributions"]).sum(axis=0)
    assert sums == pytest.approx(np.array(full["pooled"]), abs=1e-6)
    empty = client.post("/explain", json={"text": ""}).json()
    assert empty["tokens"] == []
    long = client.post("/explain", json={"text": "girl " * 257})
    assert long.status_code == 413


@pytest.mark.parametrize(
    "method",
    [
        {"name": "noppa", "a": 0.01, "k": 0},
        {"name": "noppa", "k": 0, "parts": ["context", "max", "dct1"], "kernel": "abs"},
        {"name": "noppa", "k": 3, "position": None},
        {"name": "average"},
        {"name": "sif", "a": 0.01},
        {"name": "usif", "a": 0.01},
        {"name": "dct", "k": 2},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")
def test_other_methods(
    client: httpx.Client, encoder: noppa.Encoder, method: dict[str, Any]
) -> None:
    """The served words with another method, fitted on the example sentences, or on the lines of the request."""
    parameters = {key: value for key, value in method.items() if key != "name"}
    other = noppa.Encoder(encoder.words, noppa.METHODS[method["name"]](**parameters))
    answer = client.post("/explain", json={"text": TEXT, "method": method, "full": True}).json()
    expected = other.fit(methods.sentences()).encode(TEXT)
    assert np.array(answer["vector"]) == pytest.approx(expected, abs=1e-5)
    learns = bool(other.method.refinements())
    assert (answer["note"] is not None) == learns
    file = client.post("/lines/vectors", json={"lines": LINES, "method": method}).content
    fitted = noppa.Encoder(encoder.words, noppa.METHODS[method["name"]](**parameters)).fit(LINES)
    expected = fitted.encode(LINES, normalize=True)
    assert np.load(io.BytesIO(file)) == pytest.approx(expected, abs=1e-5)
    points = client.post("/lines/map", json={"lines": LINES, "method": method}).json()
    if learns:
        assert points["note"].startswith(f"fitted on {len(LINES)} of your lines")


def test_methods_listed(client: httpx.Client) -> None:
    answer = client.get("/methods").json()
    assert answer["models"] == [{"name": "small", "attention": True}]
    names = [method["name"] for method in answer["methods"]]
    assert names[0] == "noppa"
    assert "fastsent" not in names
    assert answer["methods"][0]["parameters"]["parts"] == ["context", "word"]
    assert answer["methods"][0]["summary"].startswith("The paper's method")
    assert answer["index"] is None


@dataclass(frozen=True)
class Powers(noppa.Method):
    """A user's method with a parameter of its own."""

    settable: ClassVar = ("power",)
    power: float = 2.0

    def __post_init__(self) -> None:
        if self.power <= 0:
            raise ValueError("power must be above 0")

    def pool(self, vectors: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((np.abs(vectors) ** self.power).mean(axis=0))


class Largest(noppa.Method):
    """A method without parameters."""

    def pool(self, vectors: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(vectors.max(axis=0))


class Choosy(Largest):
    """A method with a required parameter."""

    def __init__(self, how: str) -> None:
        self.how = how


def test_methods_of_users(encoder: noppa.Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A registered method is offered at once, with its parameters."""
    monkeypatch.setattr(registry, "METHODS", dict(noppa.METHODS))
    monkeypatch.setattr(methods, "METHODS", registry.METHODS)
    with opened(Settings(), {"small": encoder}) as client:
        for name, kind in (("powers", Powers), ("largest", Largest), ("choosy", Choosy)):
            noppa.register(name, kind)
        listed = {method["name"]: method for method in client.get("/methods").json()["methods"]}
        assert listed["powers"]["parameters"] == {"power": 2.0}
        assert listed["largest"]["summary"] == "A method without parameters."
        assert "choosy" not in listed
        for field, method in (
            ({"name": "powers", "power": 3}, Powers(3)),
            ({"name": "largest"}, Largest()),
        ):
            body = {"text": TEXT, "method": field, "full": True}
            expected = noppa.Encoder(encoder.words, method).encode(TEXT)
            vector = np.array(client.post("/explain", json=body).json()["vector"])
            assert vector == pytest.approx(expected, abs=1e-6)
        for wrong in ({"power": -1}, {"power": []}, {"power": "x"}, {"a": 1}):
            body = {"text": TEXT, "method": {"name": "powers", **wrong}}
            assert error_of(client.post("/explain", json=body))["param"] == "method"


@pytest.mark.parametrize(
    "method",
    [
        5,
        {},
        {"name": "nothing"},
        {"name": "fastsent"},
        {"name": "average", "a": 1},
        {"name": "noppa", "a": -1},
        {"name": "noppa", "a": "x"},
        {"name": "noppa", "a": {}},
        {"name": "noppa", "k": 1000},
        {"name": "noppa", "parts": []},
        {"name": "noppa", "parts": ["nothing"]},
        {"name": "noppa", "parts": ["word"] * 9},
        {"name": "noppa", "max_tokens": 3},
    ],
    ids=str,
)
def test_wrong_methods(client: httpx.Client, method: Any) -> None:
    answer = client.post("/explain", json={"text": TEXT, "method": method})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "method"


def test_similarity(client: httpx.Client, encoder: noppa.Encoder) -> None:
    a, b = "the girl eats a cake", "a boy is eating"
    one = client.post("/similarity", json={"a": a, "b": b}).json()
    assert one["similarity"] == pytest.approx(encoder.similarity(a, b), abs=1e-6)
    many = client.post("/similarity", json={"a": [a, b], "b": [b, a, "cake"]}).json()
    expected = encoder.similarity([a, b], [b, a, "cake"])
    assert np.array(many["similarity"]) == pytest.approx(expected, abs=1e-6)
    pair = client.post("/similarity", json={"a": a, "b": b, "explain": True}).json()
    total = np.sum(pair["pairs"]) + sum(pair["remainders"].values())
    assert total == pytest.approx(one["similarity"], abs=1e-5)
    assert len(pair["pairs"]) == len(pair["a"]["tokens"]) == 5
    for wrong in (
        {"a": [a], "b": b, "explain": True},
        {"a": a},
        {"a": a, "b": ""},
        {"a": 1, "b": b},
    ):
        assert client.post("/similarity", json=wrong).status_code == 400
    assert (
        client.post("/similarity", json={"a": ["a"] * 2001, "b": ["a"] * 2000}).status_code == 413
    )


def test_search(client: httpx.Client, encoder: noppa.Encoder) -> None:
    lines = LINES[:80]
    body = {"query": "a girl eating", "lines": lines, "count": 4}
    results = client.post("/search", json=body).json()["results"]
    cosines = encoder.similarity(["a girl eating"], lines)[0]
    order = np.argsort(-cosines, kind="stable")[:4]
    assert [hit["similarity"] for hit in results] == pytest.approx(
        cosines[order].tolist(), abs=1e-6
    )
    assert [hit["text"] for hit in results] == [lines[hit["index"]] for hit in results]
    lost = client.post("/search", json={"query": "a girl"})
    assert (lost.status_code, error_of(lost)["param"]) == (400, "lines")


def test_lines(client: httpx.Client, encoder: noppa.Encoder) -> None:
    def view(path: str, **fields: Any) -> httpx.Response:
        return client.post(f"/lines/{path}", json={"lines": LINES, **fields})

    groups = view("duplicates", threshold=1).json()["groups"]
    assert [80, 81] in [group["lines"] for group in groups]
    clusters = view("clusters", count=4).json()
    assert len(clusters["labels"]) == len(LINES)
    sizes = np.bincount(clusters["labels"]).tolist()
    assert [cluster["size"] for cluster in clusters["clusters"]] == sizes
    assert sizes == sorted(sizes, reverse=True)
    plane = view("map").json()
    assert np.array(plane["points"]).shape == (len(LINES), 2)
    assert plane["shares"][0] >= plane["shares"][1] > 0
    expected = encoder.encode(LINES, normalize=True)
    assert np.load(io.BytesIO(view("vectors").content)).tobytes() == expected.tobytes()
    table = view("vectors", format="csv").text.splitlines()
    assert table[0].split(",") == ["record", *(f"v{column}" for column in range(encoder.dim))]
    rows = np.array([row.split(",")[1:] for row in table[1:]], np.float32)
    assert rows.tobytes() == expected.tobytes()
    objects = [json.loads(line) for line in view("vectors", format="jsonl").text.splitlines()]
    assert [line["record"] for line in objects] == [*range(1, len(LINES) + 1)]
    vectors = np.array([line["vector"] for line in objects], np.float32)
    assert vectors.tobytes() == expected.tobytes()
    for wrong in ({}, {"lines": []}, {"lines": "a"}, {"lines": ["a", 1]}):
        assert client.post("/lines/map", json=wrong).status_code == 400
    assert client.post("/lines/map", json={"lines": ["a"] * 20_001}).status_code == 413
    assert view("duplicates", threshold=0.1).status_code == 400
    assert view("clusters", count=51).status_code == 400


def test_long_lines_are_truncated_for_fitting_too(encoder: noppa.Encoder) -> None:
    lines, method = [*LINES, "the girl eats a cake " * 200], {"name": "noppa", "a": 0.01, "k": 2}
    with opened(Settings(max_tokens=50), {"small": encoder}) as client:
        file = client.post("/lines/vectors", json={"lines": lines, "method": method}).content
    cut = [*LINES, "the girl eats a cake " * 10]
    fitted = noppa.Encoder(encoder.words, noppa.NoPPA(a=0.01, k=2)).fit(cut)
    assert np.load(io.BytesIO(file)) == pytest.approx(fitted.encode(cut, normalize=True), abs=1e-6)


def test_wide_explanations_allow_fewer_tokens(
    encoder: noppa.Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "MAX_VALUES", 512 * 100)
    wide = {"name": "dct", "k": 64}  # 512 dimensions
    with opened(Settings(), {"small": encoder}) as client:
        for tokens, method, status in ((101, None, 200), (101, wide, 413), (100, wide, 200)):
            body = {"text": "girl " * tokens, "method": method}
            assert client.post("/explain", json=body).status_code == status


@pytest.mark.parametrize(("line", "name"), [("zzqx", "zzqx"), ("!?", "cluster 1")])
def test_a_single_line(client: httpx.Client, line: str, name: str) -> None:
    """A cluster is named by its words, or by its number if it has none."""
    body = {"lines": [line]}
    clusters = client.post("/lines/clusters", json=body).json()["clusters"]
    assert clusters == [{"size": 1, "central": [0], "name": name}]
    assert client.post("/lines/map", json=body).json()["points"] == [[0.0, 0.0]]
    assert client.post("/lines/duplicates", json=body).json()["groups"] == []


@pytest.mark.filterwarnings("default")
def test_the_openapi_document(server: Running, client: httpx.Client) -> None:
    """Requests that fit the document get answers that fit it; its examples work."""
    paths = check_document(server, client)
    assert ("/v1/embeddings", "post") in paths
    for path, operations in client.get("/openapi.json").json()["paths"].items():
        if "post" in operations:
            content = operations["post"]["requestBody"]["content"]["application/json"]
            assert client.post(path, json=content["example"]).status_code == 200, path
