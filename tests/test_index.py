"""Search by meaning: exact and with a graph, saved and opened, from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.errors import NoppaError
from noppa.io import storage
from noppa.search.index import Index
from noppa.search.index_graph import DESCRIPTION, HEAD, check_graph
from tests.conftest import made_texts, made_words
from tests.serving import PROGRAM, made_encoder


def rows_and_texts(count: int, dim: int = 24) -> tuple[np.ndarray, list[str]]:
    rows = np.random.default_rng(1).normal(size=(count, dim)).astype(np.float32)
    return rows, [f"text {number}" for number in range(count)]


@pytest.mark.parametrize("count", [1, 2, 7, 97, 40_000])
def test_exact_is_what_sorting_all_cosines_gives(count: int) -> None:
    rows, texts = rows_and_texts(count)
    rows[count // 2] = 0
    queries = np.vstack([rows[:2], np.zeros((1, rows.shape[1]), np.float32)])
    numbers, cosines = Index(texts, rows).search(queries, 5)
    unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    wanted = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), 1e-12)
    every = wanted @ unit.T
    order = np.argsort(-every, axis=1, kind="stable")[:, :5]
    assert cosines == pytest.approx(np.take_along_axis(every, order, 1), abs=1e-5)
    assert numbers[:-1].tolist() == order[:-1].tolist()
    assert numbers[-1].tolist() == list(range(min(5, count)))  # all alike: by number


def test_equal_rows_come_by_number() -> None:
    rows = np.ones((5000, 3), np.float32)
    numbers, cosines = Index(["same"] * 5000, rows).search(rows[:1], 4)
    assert numbers.tolist() == [[0, 1, 2, 3]]
    assert cosines == pytest.approx(1, abs=1e-6)


def test_the_graph_finds_what_comparing_all_finds(tmp_path: Path) -> None:
    rows, texts = rows_and_texts(5000)
    rows[17] = 0
    exact, graph = Index(texts, rows, exact=True), Index(texts, rows, exact=False)
    graph.header = {"note": "kept"}
    graph.save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert (tmp_path / "index" / "graph.npy").is_file()
    assert again.header["note"] == "kept"
    for one in (graph, again):
        numbers, cosines = one.search(rows[:50], 10)
        expected, same = exact.search(rows[:50], 10)
        shared = [len({*a} & {*b}) for a, b in zip(numbers, expected, strict=True)]
        assert np.mean(shared) > 9.5
        best = numbers[:, 0] == expected[:, 0]
        assert cosines[best, 0] == pytest.approx(same[best, 0], abs=1e-6)
    assert again.texts[3] == "text 3"
    assert again.texts[-1] == "text 4999"


def test_saved_and_opened(tmp_path: Path) -> None:
    rows, _ = rows_and_texts(3)
    texts = ["", "café\nline", "\ud83d alone"]
    Index(texts, rows).save(tmp_path / "index")
    again = Index.load(tmp_path / "index")
    assert list(again.texts) == texts
    assert again.exact
    assert again.search(rows[1:2], 1)[0].tolist() == [[1]]


def test_mistakes(tmp_path: Path) -> None:
    rows, texts = rows_and_texts(3)
    with pytest.raises(NoppaError, match="as many vectors"):
        Index(texts[:2], rows)
    index = Index(texts, rows)
    with pytest.raises(NoppaError, match="count"):
        index.search(rows, 0)
    with pytest.raises(NoppaError, match="queries must be"):
        index.search(rows[:, :5], 1)
    assert Index([], np.empty((0, 24), np.float32)).search(rows, 5)[0].shape == (3, 0)


def run(*arguments: object, code: int = 0) -> str:
    command = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_command_line(tmp_path: Path) -> None:
    """The same lines from a file and from a saved index, which remembers its encoder."""
    model = made_encoder(tmp_path / "model")
    other = made_encoder(tmp_path / "other", whitened=False)
    texts = [*made_texts(300, made_words(dim=8, extra=40)), "the girl eats a delicious cake"]
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(texts) + "\n")
    query = "a girl eats cake"
    found = run("search", corpus, query, "-m", model.path, "-n", 3).splitlines()
    cosines = noppa.load(model.path).similarity([query], texts)[0]
    for line, row in zip(found, np.argsort(-cosines, kind="stable")[:3], strict=True):
        cosine, number, text = line.split("\t")
        assert float(cosine) == pytest.approx(cosines[row], abs=1e-4)
        assert texts[int(number) - 1] == text
    folder = tmp_path / "corpus-index"
    assert "301 texts" in run("index", corpus, "-o", folder, "-m", model.path)
    assert run("search", folder, query, "-n", 3).splitlines() == found
    assert "another encoder" in run("search", folder, query, "-m", other.path, code=1)
    assert "does not exist" in run("search", tmp_path / "none", query, "-m", model.path, code=1)


@pytest.mark.found("outside review", "the checksum of a graph above 16 MB was never compared")
def test_a_graph_of_any_size_is_compared_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, texts = rows_and_texts(300)
    Index(texts, rows, exact=False).save(tmp_path / "index")
    monkeypatch.setattr(storage.read_folder, "__defaults__", (1,))  # every file counts as large
    for name, damaged in {"vectors.npy": False, "graph.npy": True}.items():
        content = bytearray((tmp_path / "index" / name).read_bytes())
        content[700] ^= 1
        (tmp_path / "index" / name).write_bytes(content)
        if damaged:
            with pytest.raises(NoppaError, match=r"graph\.npy is damaged: its checksum"):
                Index.load(tmp_path / "index")
        else:
            Index.load(tmp_path / "index")


@pytest.mark.found(
    "outside review", "an index stored a path of the environment that it was made in"
)
def test_an_index_of_a_preset_names_the_preset(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("a cake\na train\n")
    run("index", tmp_path / "texts.txt", "-o", tmp_path / "index")
    header = (tmp_path / "index" / storage.HEADER).read_text("utf-8")
    assert not {"/", "\\"} & set(header), "a path"
    index = Index.load(tmp_path / "index")
    assert index.header["model"] == "similarity"
    found = run("search", tmp_path / "index", "some cake", "-n", 1)
    assert found.endswith("a cake\n")
    index.header["model"] = "/gone/site-packages/noppa/model/similarity"  # as it was stored before
    index.save(tmp_path / "index")
    assert run("search", tmp_path / "index", "some cake", "-n", 1) == found


GRAPH_ROWS, GRAPH_DIM = 40, 4
#: Where parts of a graph of so many rows lie.
DESCRIBED = 8 + GRAPH_ROWS * GRAPH_DIM * 4
NUMBERS = DESCRIBED + DESCRIPTION
LEVELS = NUMBERS + 5 * 8
NODES = LEVELS + 2 * GRAPH_ROWS


@pytest.mark.parametrize(
    ("start", "values"),
    {
        "more rows": (0, [200]),
        "another name": (DESCRIBED, [0]),
        "another metric": (DESCRIBED + 13, [0]),
        "another count": (DESCRIBED + 17, [7]),
        "another size": (NUMBERS, [7]),
        "no links": (NUMBERS + 8, [0] * 8),
        "too many links": (NUMBERS + 16, [255] * 8),
        "too high": (NUMBERS + 24, [255] * 8),
        "a wild entry": (NUMBERS + 32, [255] * 8),
        "a negative level": (LEVELS, [255, 255]),
        "another level": (LEVELS + 2, [60, 0]),
        "a wild key": (NODES, [255] * 8),
        "a node of another level": (NODES + 8, [9]),
        "more links than there is room for": (NODES + HEAD, [255] * 4),
        "a wild link": (NODES + HEAD + 4, [255] * 4),
    }.values(),
)
def test_a_damaged_graph_is_refused(start: int, values: list[int]) -> None:
    rows, texts = rows_and_texts(GRAPH_ROWS, GRAPH_DIM)
    graph = np.frombuffer(Index(texts, rows, exact=False)._graph.save(), np.uint8).copy()
    check_graph(graph, GRAPH_ROWS, GRAPH_DIM, Path("graph.npy"))
    graph[start : start + len(values)] = values
    with pytest.raises(NoppaError, match=r"graph\.npy is no graph of 40 vectors"):
        check_graph(graph, GRAPH_ROWS, GRAPH_DIM, Path("graph.npy"))
