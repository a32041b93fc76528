"""A served index: open to search, changed with an API key, the same in every worker."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

import noppa
from noppa.errors import FileError
from noppa.methods.k_means import interrupt
from noppa.serve.index import MAX_EXPLAINED
from noppa.serve.settings import Settings
from tests.runs import wait_until
from tests.serving import check_document, error_of, made_encoder, opened, serving

pytestmark = pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")

TEXTS = ["the girl eats a cake", "a boy is eating", "the boy eats the pie", "café , and"]
FACTS = [{"year": 2019, "lang": "en"}, {"year": 2021}, {"year": 2022, "lang": "en"}, {}]
KEY = {"authorization": "Bearer sesame"}


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("index") / "small")


@pytest.fixture
def folder(encoder: noppa.Encoder, tmp_path: Path) -> Path:
    index = noppa.Index.open(tmp_path / "texts", encoder)
    index.add(TEXTS, metadata=FACTS)
    return tmp_path / "texts"


@pytest.fixture
def client(folder: Path, encoder: noppa.Encoder) -> Iterator[TestClient]:
    with opened_index(folder, encoder) as client:
        yield client


def opened_index(folder: Path, encoder: noppa.Encoder, keys: tuple[str, ...] = ("sesame",)) -> Any:
    model, index = str(encoder.path), str(folder)
    settings = Settings(model=model, index=index, max_tokens=50, max_inputs=20, keys=keys)
    return opened(settings, headers=KEY)


@pytest.mark.parametrize("mode", ["hybrid", "meaning", "words"])
@pytest.mark.parametrize("where", [None, {"year": {">": 2020}}, {"lang": "en"}])
def test_search(client: TestClient, folder: Path, mode: str, where: Any) -> None:
    hits = noppa.Index.open(folder).search("a boy eats cake", 3, where, mode)
    body = {"query": "a boy eats cake", "count": 3, "where": where, "mode": mode}
    answer = client.post("/index/search", json=body).json()
    assert answer == {"results": [hit.to_dict() for hit in hits], "note": None, "warning": None}
    assert len(answer["results"]) > 1


def test_explanations(client: TestClient, folder: Path) -> None:
    body = {"query": "a boy eats cake", "count": 2, "explain": True}
    found = client.post("/index/search", json=body).json()["results"]
    hits = noppa.Index.open(folder).search("a boy eats cake", 2)
    for hit, result in zip(hits, found, strict=True):
        assert result["why"] == json.loads(json.dumps(hit.explain().to_dict()))
    many = client.post("/index/search", json={**body, "count": MAX_EXPLAINED + 1})
    assert many.json()["error"]["param"] == "count"


def test_no_results(client: TestClient) -> None:
    answer = client.post("/index/search", json={"query": "zzqx"}).json()
    assert answer["results"] == []
    assert "zzqx" in answer["note"]
    other = client.post("/index/search", json={"query": "a boy", "where": {"year": 1900}}).json()
    assert other["note"] == "no text satisfies where"


def test_add_and_delete(client: TestClient, folder: Path) -> None:
    described = client.get("/index").json()
    assert described["texts"] == 4
    assert described["writable"] is True
    assert described["fields"] == ["lang", "year"]
    body = {"texts": ["a girl", "two pies"], "ids": ["x", 7], "metadata": [{"new": True}, None]}
    added = client.post("/index/add", json=body)
    assert added.json() == {"ids": ["x", "7"], "texts": 6}
    index = noppa.Index.open(folder)
    assert index.get("x").metadata == {"new": True}
    alone = noppa.Index(index.encoder)
    alone.add(["a girl"], ids=["x"])
    near, own = index.search("a girl", 1, mode="meaning"), alone.search("a girl", mode="meaning")
    assert (near[0].id, near[0].score) == ("x", own[0].score)
    found = client.post("/index/search", json={"query": "girl", "where": {"new": True}}).json()
    assert [hit["id"] for hit in found["results"]] == ["x"]
    gone = client.post("/index/delete", json={"ids": ["x", "0"]})
    assert gone.json() == {"deleted": 2, "texts": 4}
    assert "x" not in noppa.Index.open(folder)
    assert client.post("/index/add", json={"texts": ["a girl"]}).json()["texts"] == 5
    assert 'noppa_requests_total{code="200",route="/index/add"}' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("search", {}, 400),
        ("search", {"query": ""}, 400),
        ("search", {"query": "girl " * 51}, 413),
        ("search", {"query": "a", "count": 0}, 400),
        ("search", {"query": "a", "mode": "magic"}, 400),
        ("search", {"query": "a", "where": []}, 400),
        ("search", {"query": "a", "where": {"year": {"like": 1}}}, 400),
        ("search", {"query": "a", "where": {"year": {"in": [[1]]}}}, 400),
        ("search", {"query": "a", "where": {"\ud83d": "\ud83d"}}, 400),
        ("add", {}, 400),
        ("add", {"texts": []}, 400),
        ("add", {"texts": [""]}, 400),
        ("add", {"texts": ["a"] * 21}, 413),
        ("add", {"texts": ["girl " * 51]}, 413),
        ("add", {"texts": ["a"], "ids": ["0"]}, 400),
        ("add", {"texts": ["a", "b"], "ids": ["x"]}, 400),
        ("add", {"texts": ["a"], "ids": [1.5]}, 400),
        ("add", {"texts": ["a"], "ids": ["\n"]}, 400),
        ("add", {"texts": ["a"], "metadata": {}}, 400),
        ("add", {"texts": ["a"], "metadata": [1]}, 400),
        ("add", {"texts": ["a"], "metadata": [{}, {}]}, 400),
        ("add", {"texts": ["a"], "metadata": [{"a": "\ud83d"}]}, 400),
        ("add", {"texts": ["a"], "metadata": [{"a": 10**30}]}, 400),
        ("add", {"texts": ["a"], "metadata": [{"": 1}]}, 400),
        ("delete", {}, 400),
        ("delete", {"ids": []}, 400),
        ("delete", {"ids": ["0", "unknown"]}, 400),
        ("delete", {"ids": ["0", "0"]}, 400),
    ],
    ids=str,
)
def test_wrong_bodies(
    client: TestClient, folder: Path, path: str, body: dict[str, Any], status: int
) -> None:
    # Not json=body: httpx sends no lone surrogates.
    json_kind = {**KEY, "content-type": "application/json"}
    answer = client.post(f"/index/{path}", content=json.dumps(body), headers=json_kind)
    assert answer.status_code == status
    error_of(answer)
    assert len(noppa.Index.open(folder)) == 4


@pytest.mark.parametrize("value", ["1e400", "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900])
def test_metadata_that_cannot_be_stored(client: TestClient, value: str) -> None:
    body = f'{{"texts": ["a"], "metadata": [{{"a": {value}}}]}}'
    answer = client.post(
        "/index/add", content=body, headers={**KEY, "content-type": "application/json"}
    )
    assert answer.status_code == 400
    error_of(answer)
    assert client.post("/index/search", json={"query": "a boy"}).status_code == 200


def test_read_only_without_keys(folder: Path, encoder: noppa.Encoder) -> None:
    with opened_index(folder, encoder, keys=()) as client:
        assert client.get("/index").json()["writable"] is False
        assert client.post("/index/search", json={"query": "a boy"}).status_code == 200
        for path, body in (("add", {"texts": ["a"]}), ("delete", {"ids": ["0"]})):
            refused = client.post(f"/index/{path}", json=body)
            assert refused.status_code == 403
            assert refused.json()["error"]["code"] == "keys_needed"
    with opened_index(folder, encoder) as client:
        for path in ("search", "add", "delete"):
            stranger = client.post(
                f"/index/{path}", json={}, headers={"authorization": "Bearer no"}
            )
            assert stranger.status_code == 401
    assert len(noppa.Index.open(folder)) == 4


def test_a_deadline_stops_a_search(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long loops inside a search call `interrupt`, which checks the request's deadline."""

    def search(*_: Any) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: math.inf)
        interrupt.get()()

    monkeypatch.setattr(noppa.Index, "search", search)
    answer = client.post("/index/search", json={"query": "a girl"})
    assert error_of(answer)["code"] == "request_timeout"


def test_no_routes_without_an_index(encoder: noppa.Encoder) -> None:
    with opened(Settings(), {"small": encoder}) as client:
        assert client.get("/index").status_code == 404
        assert client.post("/index/search", json={"query": "a"}).status_code == 404


def test_an_index_that_disappears(client: TestClient, folder: Path, tmp_path: Path) -> None:
    """503 that does not reveal the path; works again when it is back."""
    folder.rename(tmp_path / "away")
    for path, body in (("search", {"query": "a boy"}), ("add", {"texts": ["a"]})):
        refused = client.post(f"/index/{path}", json=body)
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "index_unavailable"
        assert str(tmp_path) not in refused.text
    assert client.get("/health").status_code == 503
    shutil.rmtree(folder, ignore_errors=True)
    (tmp_path / "away").rename(folder)
    assert client.post("/index/search", json={"query": "a boy"}).status_code == 200
    assert client.get("/health").status_code == 200


def test_a_missing_index(encoder: noppa.Encoder, tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist"):
        opened_index(tmp_path / "nothing", encoder).__enter__()


def test_a_killed_server_loses_nothing_it_confirmed(folder: Path, encoder: noppa.Encoder) -> None:
    options = (str(encoder.path), "--index", str(folder))
    with serving(*options, environment={"NOPPA_API_KEYS": "sesame"}) as running:
        answered: list[str] = []

        def add() -> None:
            with running.client(headers=KEY) as client, suppress(httpx.HTTPError):
                for number in range(10_000):
                    body = {"texts": ["the girl eats"], "ids": [f"id-{number}"]}
                    assert client.post("/index/add", json=body).status_code == 200
                    answered.append(f"id-{number}")

        with ThreadPoolExecutor(1) as pool:
            adding = pool.submit(add)
            wait_until(lambda: len(answered) > 20)
            running.process.kill()
            adding.result()
    index = noppa.Index.open(folder)
    assert all(name in index for name in answered)
    assert len(index) - 4 in (len(answered), len(answered) + 1)  # one may have been on its way
    index.add(["a girl"])


@pytest.mark.filterwarnings("default")
def test_the_document_of_the_index(folder: Path, encoder: noppa.Encoder) -> None:
    options = (str(encoder.path), "--index", str(folder))
    with (
        serving(*options, environment={"NOPPA_API_KEYS": "sesame"}) as running,
        running.client(headers=KEY) as client,
    ):
        paths = check_document(running, client, "/index")
    assert ("/index/add", "post") in paths


def test_many_clients_and_two_workers(folder: Path, encoder: noppa.Encoder) -> None:
    """Every confirmed text is stored once, and both workers find it."""
    environment = {"NOPPA_API_KEYS": "sesame"}
    options = (str(encoder.path), "--index", str(folder), "--workers", "2")
    with serving(*options, environment=environment) as running:

        def add(number: int) -> int:
            with running.client(headers=KEY) as client:
                body = {"texts": ["the girl eats"], "ids": [f"id-{number}"]}
                return client.post("/index/add", json=body).status_code

        with ThreadPoolExecutor(4) as pool:
            statuses = [*pool.map(add, range(24))]
        assert statuses == [200] * 24
        for _ in range(6):  # new connections, so that both processes are asked
            with running.client(headers=KEY) as client:
                body = {"query": "the girl eats", "count": 30, "mode": "words"}
                found = client.post("/index/search", json=body).json()["results"]
                assert {hit["id"] for hit in found} >= {f"id-{number}" for number in range(24)}
    assert len(noppa.Index.open(folder)) == 28
