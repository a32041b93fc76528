"""Our own routes: explanations, similarity, search, lines; and the OpenAPI document against the server it describes."""

from __future__ import annotations

import asyncio
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
from noppa.serve import method_field, variants
from noppa.serve.app import Application
from noppa.serve.overview import alike, plane
from noppa.serve.served import Served
from noppa.serve.served_models import Models, Watch
from noppa.serve.settings import Settings
from tests.conftest import made_texts, made_words
from tests.serving import Running, ask, check_document, made_encoder, serving

TEXT = "the girl eats zzqx a cake ."
LINES = [*made_texts(80, made_words(dim=8, extra=40), seed=3), "the girl eats", "the girl eats"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("explore") / "small")


@pytest.fixture(scope="module")
def server(encoder: noppa.Encoder) -> Iterator[Running]:
    with serving(str(encoder.path), "--max-lines", "100") as running:
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
def test_other_methods(
    client: httpx.Client, encoder: noppa.Encoder, method: dict[str, Any]
) -> None:
    """The served words with another method, fitted on the browser's lines."""
    client.post("/lines", json={"lines": LINES})
    answer = client.post("/explain", json={"text": TEXT, "method": method, "full": True}).json()
    given = {key: value for key, value in method.items() if key != "name"}
    made = noppa.Encoder(encoder.words, noppa.METHODS[method["name"]](**given)).fit(LINES)
    assert np.array(answer["vector"]) == pytest.approx(made.encode(TEXT), abs=1e-5)
    learns = made.method.refinements()
    assert (answer["note"] is not None) == bool(learns)
    if learns:
        assert answer["note"].startswith(f"fitted on {len(LINES)} of your lines")


def test_methods_listed(client: httpx.Client) -> None:
    answer = client.get("/methods").json()
    assert answer["models"] == [{"name": "small", "attention": True}]
    names = [method["name"] for method in answer["methods"]]
    assert names[0] == "noppa"
    assert "fastsent" not in names
    assert answer["methods"][0]["parameters"]["parts"] == ["context", "word"]
    assert answer["methods"][0]["summary"].startswith("The paper's method")
    assert answer["layouts"][0] == "pca"
    assert answer["index"] is None


@dataclass(frozen=True)
class Powers(noppa.Method):
    """A user's own method, with a parameter that no method of ours has."""

    settable: ClassVar = ("power",)
    power: float = 2.0

    def __post_init__(self) -> None:
        if self.power <= 0:
            raise ValueError("power must be above 0")

    def pool(self, vectors: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((np.abs(vectors) ** self.power).mean(axis=0))


class Largest:
    """Another user's, which knows nothing of our classes."""

    def pool(self, vectors: NDArray[Any], weights: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(vectors.max(axis=0))


class Choosy(Largest):
    """One that nobody can make without saying how."""

    def __init__(self, how: str) -> None:
        self.how = how


def test_methods_of_users(encoder: noppa.Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """A method is offered from when it is registered: by name, with its parameters, in the document, too."""
    settings = Settings(log_requests=False)
    app = Application(settings, Served(Models({"small": encoder}, settings)))

    def answered(path: str, body: Any = None) -> Any:
        sent = {"method": "GET"} if body is None else {"pieces": json.dumps(body).encode()}
        return json.loads(asyncio.run(ask(app, path, **sent)).body)

    def offered() -> dict[str, Any]:
        listed = {one["name"]: one["parameters"] for one in answered("/methods")["methods"]}
        body = answered("/openapi.json")["paths"]["/explain"]["post"]["requestBody"]
        schema = body["content"]["application/json"]["schema"]["properties"]["method"]["anyOf"][0]
        assert schema["properties"]["name"]["enum"] == [*listed]
        assert set(schema["properties"]) == {"name"}.union(*listed.values())
        return listed

    ours = offered()
    monkeypatch.setattr(registry, "METHODS", dict(noppa.METHODS))
    for module in (method_field, variants):
        monkeypatch.setattr(module, "METHODS", registry.METHODS)
    for name, kind in (("powers", Powers), ("largest", Largest), ("choosy", Choosy)):
        noppa.register(name, kind)
    assert offered() == {**ours, "powers": {"power": 2.0}, "largest": {}}
    summaries = {one["name"]: one["summary"] for one in answered("/methods")["methods"]}
    assert summaries["largest"] == "Another user's, which knows nothing of our classes."
    for method, made in (
        ({"name": "powers", "power": 3}, Powers(3)),
        ({"name": "largest"}, Largest()),
    ):
        answer = answered("/explain", {"text": TEXT, "method": method, "full": True})
        expected = noppa.Encoder(encoder.words, made).encode(TEXT)
        assert np.array(answer["vector"]) == pytest.approx(expected, abs=1e-6)
    for wrong in ({"power": -1}, {"power": []}, {"power": "x"}, {"a": 1}):
        refused = answered("/explain", {"text": TEXT, "method": {"name": "powers", **wrong}})
        assert refused["error"]["param"] == "method"
    app.service.close()


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
    told = client.post("/similarity", json={"a": a, "b": b, "explain": True}).json()
    total = np.sum(told["pairs"]) + sum(told["remainders"].values())
    assert total == pytest.approx(one["similarity"], abs=1e-5)
    assert len(told["pairs"]) == len(told["a"]["tokens"]) == 5
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
    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "lines_not_found")


def test_lines(server: Running, client: httpx.Client, encoder: noppa.Encoder) -> None:
    """Kept for one browser alone, used by everything below /lines and by /search, and forgotten."""
    kept = client.post("/lines", json={"lines": LINES})
    assert kept.json() == {"lines": len(LINES)}
    cookie = kept.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    found = client.post("/search", json={"query": "the girl eats", "count": 1}).json()
    assert found["results"][0]["text"] == "the girl eats"
    groups = client.post("/lines/duplicates", json={"threshold": 1}).json()["groups"]
    assert [80, 81] in [group["lines"] for group in groups]
    clusters = client.post("/lines/clusters", json={"count": 4}).json()
    assert len(clusters["labels"]) == len(LINES)
    sizes = np.bincount(clusters["labels"])
    assert [cluster["size"] for cluster in clusters["clusters"]] == sizes.tolist()
    assert sizes.tolist() == sorted(sizes.tolist(), reverse=True)
    plane = client.post("/lines/map", json={}).json()
    assert np.array(plane["points"]).shape == (len(LINES), 2)
    assert plane["shares"][0] >= plane["shares"][1] > 0
    expected = encoder.encode(LINES, normalize=True)
    raw = client.post("/lines/vectors", json={}).content
    assert np.load(io.BytesIO(raw)).tobytes() == expected.tobytes()
    table = client.post("/lines/vectors", json={"format": "csv"}).text.splitlines()
    assert np.array(table[1].split(",")[1:], np.float32).tobytes() == expected[0].tobytes()
    objects = client.post("/lines/vectors", json={"format": "jsonl"}).text.splitlines()
    assert len(json.loads(objects[-1])["vector"]) == encoder.dim
    with server.client() as stranger:
        assert stranger.post("/lines/map", json={}).status_code == 404
    cookies = dict(client.cookies)
    assert client.delete("/lines").status_code == 204
    with server.client(cookies=cookies) as again:
        assert again.post("/lines/map", json={}).status_code == 404
    many = client.post("/lines", json={"lines": ["a"] * 101})
    assert many.status_code == 413
    assert "101" in many.json()["error"]["message"]
    for wrong in ({}, {"lines": []}, {"lines": "a"}, {"lines": ["a", 1]}):
        assert client.post("/lines", json=wrong).status_code == 400


def test_groups_are_joined_over_blocks() -> None:
    rows = np.zeros((2500, 2), np.float32)
    rows[:, 0] = 1
    rows[1::2] = (0, 1)
    watch = Watch(lambda: False, np.inf)
    first, second = alike(rows, 0.9, watch)
    assert first["lines"] == list(range(0, 2500, 2))
    assert second["lines"] == list(range(1, 2500, 2))
    assert alike(np.eye(3, dtype=np.float32), 0.9, watch) == []


def test_the_map_shows_the_first_principal_axes() -> None:
    random = np.random.default_rng(5)
    rows = (random.normal(size=(300, 30)) * np.linspace(3, 1, 30)).astype(np.float32)
    found = plane(rows, Watch(lambda: False, np.inf))
    centred = rows.astype(float) - rows.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    expected = left[:, :2] * sizes[:2]
    assert np.abs(found["points"]) == pytest.approx(np.abs(expected), abs=1e-2)
    assert found["shares"] == pytest.approx((sizes[:2] ** 2 / (sizes**2).sum()).tolist(), abs=1e-6)


@pytest.mark.parametrize(("line", "name"), [("zzqx", "zzqx"), ("!?", "cluster 1")])
def test_a_single_line(client: httpx.Client, line: str, name: str) -> None:
    """A cluster is named by its words, and where it has none, by its number."""
    client.post("/lines", json={"lines": [line]})
    assert client.post("/lines/clusters", json={}).json()["clusters"] == [
        {"size": 1, "central": [0], "name": name}
    ]
    assert client.post("/lines/map", json={}).json()["points"] == [[0.0, 0.0]]
    assert client.post("/lines/duplicates", json={}).json()["groups"] == []


@pytest.mark.filterwarnings("default")
def test_the_document_is_true(server: Running, client: httpx.Client) -> None:
    """What the OpenAPI document allows is answered as it says, what it forbids is refused (schemathesis)."""
    client.post("/lines", json={"lines": LINES})
    paths = check_document(server, client)
    assert ("/v1/embeddings", "post") in paths
