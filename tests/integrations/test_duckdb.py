"""DuckDB: SQL functions that take blocks of rows, and let NULL be NULL."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

import noppa
from noppa.integrations.duckdb import register

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


@pytest.fixture
def connection() -> Any:
    with duckdb.connect() as opened:
        opened.execute("CREATE TABLE texts (number INTEGER, text VARCHAR)")
        opened.executemany("INSERT INTO texts VALUES (?, ?)", [*enumerate(TEXTS), (3, None)])
        yield opened


def test_vectors_are_arrays_of_length_one(connection: Any) -> None:
    register(connection)
    made = connection.execute("SELECT noppa_embed(text) AS v FROM texts ORDER BY number")
    assert str(made.description[0][1]) == "FLOAT[320]"
    rows = [row for (row,) in made.fetchall()]
    assert rows[3] is None
    expected = noppa.load("similarity").encode(TEXTS, normalize=True)
    np.testing.assert_array_equal(np.array(rows[:3], np.float32), expected)


def test_cosines_of_two_columns_of_constants_and_of_null(connection: Any) -> None:
    register(connection)
    matrix = noppa.load("similarity").similarity(TEXTS, TEXTS)
    pairs = connection.execute(
        "SELECT noppa_similarity(a.text, b.text) FROM texts a, texts b ORDER BY a.number, b.number"
    ).fetchall()
    found = np.array([np.nan if cosine is None else cosine for (cosine,) in pairs]).reshape(4, 4)
    assert np.isnan(found[3]).all()
    assert np.isnan(found[:, 3]).all()
    np.testing.assert_allclose(found[:3, :3], matrix, atol=1e-6)
    one, other, both, inner = connection.execute(
        "SELECT noppa_similarity(text, $text), noppa_similarity($text, text), noppa_similarity($text, $text), "
        "array_inner_product(noppa_embed(text), noppa_embed($text)) FROM texts WHERE number = 1",
        {"text": TEXTS[0]},
    ).fetchone()
    assert one == other == pytest.approx(matrix[0, 1], abs=1e-6)
    assert inner == pytest.approx(one, abs=1e-6)
    assert both == pytest.approx(1)


def test_rows_come_in_blocks_and_a_constant_is_encoded_once(connection: Any) -> None:
    class Counted:
        dim = 320
        asked: list[int] = []  # noqa: RUF012

        def encode(self, texts: Any, **options: Any) -> Any:
            self.asked.append(len(texts))
            return noppa.load("similarity").encode(texts, **options)

    register(connection, Counted())
    connection.execute("SELECT max(noppa_embed('lake ' || i)[1]) FROM range(3000) r(i)").fetchone()
    assert sum(Counted.asked) in (3000, 3001)  # one text measures `dim`
    assert len(Counted.asked) < 10
    texts = [f"lake {number}" for number in range(3000)]
    expected = noppa.load("similarity").similarity(texts, "a cake").max()
    for pair in ("'lake ' || i, 'a cake'", "'a cake', 'lake ' || i"):
        Counted.asked.clear()
        query = f"SELECT max(noppa_similarity({pair})) FROM range(3000) r(i)"
        assert connection.execute(query).fetchone() == (pytest.approx(expected, abs=1e-6),)
        assert sum(Counted.asked) < 3010


def test_a_second_call_takes_another_model(connection: Any) -> None:
    assert register(register(connection), "default") is connection
    query = "SELECT len(noppa_embed('a cake'))"
    assert connection.execute(query).fetchone() == (noppa.load().dim,)
