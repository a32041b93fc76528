"""Ceilings of what a request over many lines may take: numbers in memory, work between two looks at the watch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import noppa
from noppa.serve import explore, overview, sessions
from noppa.serve import line_routes as lines
from noppa.serve.app import Application
from noppa.serve.overview import alike, clustered, layouts, plane
from noppa.serve.problems import Problem
from noppa.serve.served_models import Watch
from noppa.serve.sessions import Session
from noppa.serve.settings import Settings
from noppa.serve.turns import Left
from noppa.topics import groups
from tests.conftest import made_texts, made_words
from tests.serving import children, made_encoder

LINES = made_texts(80, made_words(dim=8, extra=40), seed=3)
WIDE = {"name": "dct", "k": 64}  # 512 dimensions here


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    return made_encoder(tmp_path_factory.mktemp("lines") / "small")


@pytest.fixture(scope="module")
def application(encoder: noppa.Encoder) -> Application:
    settings = Settings(
        model=str(encoder.path), log_requests=False, max_values=20_000, max_tokens=50
    )
    return Application(settings)


@pytest.fixture
def client(application: Application) -> Iterator[TestClient]:
    with TestClient(application, base_url="http://127.0.0.1") as opened:
        yield opened


def leaving_after(checks: int) -> Watch:
    """A watch of a client that leaves when it was looked for so often."""
    seen = iter(range(checks))
    return Watch(lambda: next(seen, None) is None, np.inf)


@pytest.mark.found(
    "outside review", "A request of 53 bytes took 12.6 GB: lines times dimensions had no bound."
)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/lines/vectors", {"format": "csv"}),
        ("/lines/map", {}),
        ("/lines/clusters", {}),
        ("/lines/duplicates", {}),
        ("/search", {"query": "a girl"}),
        ("/search", {"query": "a girl", "lines": LINES}),
        ("/similarity", {"a": LINES[:40], "b": LINES[40:]}),
    ],
    ids=str,
)
def test_lines_times_dimensions(client: TestClient, path: str, body: dict[str, Any]) -> None:
    client.post("/lines", json={"lines": LINES})
    assert client.post(path, json=body).status_code == 200
    refused = client.post(path, json={**body, "method": WIDE})
    assert refused.status_code == 413
    assert f"80 texts of 512 dimensions are {80 * 512} numbers" in refused.text
    few = client.post("/lines", json={"lines": LINES[:20]})
    assert few.status_code == 200
    if "a" not in body and "lines" not in body:
        assert client.post(path, json={**body, "method": WIDE}).status_code == 200


@pytest.mark.found("outside review", "A download was built in memory, several times over.")
@pytest.mark.parametrize("form", ["npy", "csv", "jsonl"])
def test_downloads_are_made_in_pieces(
    client: TestClient,
    application: Application,
    encoder: noppa.Encoder,
    monkeypatch: pytest.MonkeyPatch,
    form: str,
) -> None:
    client.post("/lines", json={"lines": LINES})
    whole = client.post("/lines/vectors", json={"format": form}).content
    sizes: list[int] = []
    encode = application.service.models.encode

    def watched(encoder: noppa.Encoder, texts: list[str], *args: Any, **options: Any) -> Any:
        sizes.append(len(texts))
        return encode(encoder, texts, *args, **options)

    monkeypatch.setattr(application.service.models, "encode", watched)
    monkeypatch.setattr(lines, "PIECE_VALUES", 7 * encoder.dim)
    assert client.post("/lines/vectors", json={"format": form}).content == whole
    assert sizes == [7] * 11 + [3]


def test_a_table_of_vectors_holds_numbers_alone(client: TestClient) -> None:
    """Nothing that a line says gets into a file that a spreadsheet may take for a formula."""
    client.post("/lines", json={"lines": ["=cmd()", "@girl", "-girl", "+a girl"]})
    table = client.post("/lines/vectors", json={"format": "csv"}).text.splitlines()
    assert len(table) == 5
    assert np.isfinite(np.array([row.split(",") for row in table[1:]], float)).all()


@pytest.mark.found("outside review", "/lines/map ran for 77 s where 5 s were allowed.")
@pytest.mark.parametrize("dim", [16, 40])
@pytest.mark.parametrize(
    "job",
    [
        lambda rows, watch: alike(rows, 0.9, watch),
        lambda rows, watch: clustered(rows, 5, watch),
        lambda rows, watch: plane(rows, watch),
    ],
    ids=["duplicates", "clusters", "map"],
)
def test_long_work_stops_when_the_watch_says_so(
    monkeypatch: pytest.MonkeyPatch, job: Any, dim: int
) -> None:
    monkeypatch.setattr(groups, "BLOCK_VALUES", 400)
    monkeypatch.setattr(groups, "MOST_PRODUCTS", 20)
    rows = np.random.default_rng(1).normal(size=(200, dim)).astype(np.float32)
    finished = job(rows, leaving_after(10**9))
    assert finished
    for checks in (0, 1, 5):
        with pytest.raises(Left):
            job(rows, leaving_after(checks))


def test_a_map_of_many_dimensions_equals_that_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = (np.random.default_rng(5).normal(size=(300, 30)) * np.linspace(3, 1, 30)).astype("f4")
    watch = leaving_after(10**9)
    small = plane(rows, watch)
    monkeypatch.setattr(groups, "MOST_PRODUCTS", 1)
    monkeypatch.setattr(groups, "BLOCK_VALUES", 1000)
    large = plane(rows, watch)
    assert large["points"] == pytest.approx(small["points"], abs=1e-9)
    assert large["shares"] == pytest.approx(small["shares"], abs=1e-12)


@pytest.mark.found("code review", "A method was fitted on lines of any length, without a stop.")
def test_a_fit_reads_what_would_be_encoded(
    client: TestClient, application: Application, encoder: noppa.Encoder
) -> None:
    long = [*LINES, "the girl eats a cake " * 200]
    cut = [*LINES, "the girl eats a cake " * 10]
    client.post("/lines", json={"lines": long})
    method = {"name": "noppa", "a": 0.01, "k": 2}
    body = {"text": "a girl eats", "method": method, "full": True}
    answer = client.post("/explain", json=body).json()
    expected = noppa.Encoder(encoder.words, noppa.NoPPA(a=0.01, k=2)).fit(cut).encode("a girl eats")
    assert np.array(answer["vector"]) == pytest.approx(expected, abs=1e-6)
    variants = application.service.variants
    for method_name, checks in (("sif", 0), ("sif", 1), ("vlawe", 4)):  # the last within k-means
        with pytest.raises(Left):
            variants.encoder(("small", method_name), Session("", long), 1, leaving_after(checks), 1)


@pytest.mark.found("code review", "The memory of an explanation had no bound of dimensions.")
def test_wide_explanations_take_fewer_tokens(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explore, "EXPLAINED_VALUES", 512 * 100)
    body = {"text": "girl " * 101}
    assert client.post("/explain", json=body).status_code == 200
    wide = client.post("/explain", json={**body, "method": WIDE})
    assert wide.status_code == 413
    assert "101 tokens and an explanation of 512 dimensions takes up to 100" in wide.text
    fewer = client.post("/explain", json={"text": "girl " * 100, "method": WIDE})
    assert fewer.status_code == 200


def test_all_lines_of_all_browsers_have_one_budget(
    client: TestClient, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Vectors go first, which can be made again; then the lines of whoever was away the longest."""
    store = application.service.sessions
    store._sessions.clear()
    tokens = []
    for number in range(3):
        client.cookies.clear()
        client.post("/lines", json={"lines": [f"{number} {line}" for line in LINES]})
        assert client.post("/lines/map", json={}).status_code == 200
        tokens.append(client.cookies["noppa_lines"])
    stored = {token: store._sessions[token] for token in tokens}
    texts = {token: session.size for token, session in stored.items()}
    assert all(len(session._vectors) == 1 for session in stored.values())

    def within(budget: int) -> list[int]:
        monkeypatch.setattr(sessions, "MOST_BYTES", budget)
        store.forget()
        assert sum(session.size for session in store._sessions.values()) <= budget
        return [
            len(store._sessions[token]._vectors) if token in store._sessions else -1
            for token in tokens
        ]

    assert within(sum(texts.values()) - 1) == [0, 1, 1]
    lines_alone = stored[tokens[0]].size
    assert within(3 * lines_alone + 100) == [0, 0, 0]
    assert within(2 * lines_alone + 100) == [-1, 0, 0]
    assert client.post("/lines/map", json={}).status_code == 200  # made again for the last one


def test_lines_come_back(client: TestClient) -> None:
    """A page that is loaded again asks for the lines of its browser."""
    assert client.get("/lines").json() == {"lines": []}
    client.post("/lines", json={"lines": LINES})
    assert client.get("/lines").json() == {"lines": LINES}
    client.delete("/lines")
    assert client.get("/lines").json() == {"lines": []}


def test_progress_of_encoding(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each block is told; the vectors are those of a request without; a refusal is an answer of its own."""
    client.post("/lines", json={"lines": LINES})
    plain = client.post("/lines/vectors", json={}).content
    points = client.post("/lines/map", json={}).json()
    client.post("/lines", json={"lines": LINES})
    monkeypatch.setattr(sessions, "ENCODED_LINES", 32)
    told = client.post("/lines/encode", json={})
    steps = [json.loads(line) for line in told.text.splitlines()]
    assert steps == [{"done": done, "of": 80} for done in (32, 64, 80)]
    again = client.post("/lines/encode", json={}).text
    assert json.loads(again) == {"done": 80, "of": 80}  # they are kept
    assert client.post("/lines/vectors", json={}).content == plain
    assert client.post("/lines/map", json={}).json() == points
    assert client.post("/lines/encode", json={"method": WIDE}).status_code == 413
    client.delete("/lines")
    assert client.post("/lines/encode", json={}).json()["error"]["code"] == "lines_not_found"


def test_a_map_by_umap(
    encoder: noppa.Encoder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is offered where it is installed, sees the lines' vectors, and is bounded; a few lines have none."""
    (tmp_path / "umap.py").write_text(
        "class UMAP:\n"
        "    def __init__(self, **options): self.options = options\n"
        "    def fit_transform(self, rows):\n"
        "        while len(rows) == 7: pass\n"
        "        return rows[:, :2] * self.options['n_components']\n"
    )
    assert layouts() == ["pca"] or find_spec("umap")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    settings = Settings(model=str(encoder.path), log_requests=False)
    with TestClient(Application(settings), base_url="http://127.0.0.1") as client:
        assert client.get("/methods").json()["layouts"] == ["pca", "umap"]
        client.post("/lines", json={"lines": LINES})
        points = np.array(client.post("/lines/map", json={"layout": "umap"}).json()["points"])
        assert points == pytest.approx(2 * encoder.encode(LINES, normalize=True)[:, :2], abs=1e-6)
        monkeypatch.setattr(overview, "MOST_UMAP", 79)
        refused = client.post("/lines/map", json={"layout": "umap"})
        assert refused.status_code == 413
        assert "UMAP takes up to 79" in refused.text
        client.post("/lines", json={"lines": LINES[:4]})
        assert client.post("/lines/map", json={"layout": "umap"}).json()["shares"]
    before = children(os.getpid())
    with pytest.raises(Left):  # it would never end
        plane(encoder.encode(LINES[:7]), leaving_after(5), "umap")
    assert children(os.getpid()) == before
    monkeypatch.setenv("PYTHONHASHSEED", "wrong")  # so that Python does not start
    with pytest.raises(Problem, match="UMAP failed"):
        plane(encoder.encode(LINES[:9]), leaving_after(10**6), "umap")
