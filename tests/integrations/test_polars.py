"""polars: expressions of texts become arrays, eager, lazy and streaming."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import noppa
import noppa.integrations.polars
from noppa.errors import InputError, ParameterError

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def test_an_expression_gives_an_array_column() -> None:
    frame = pl.DataFrame({"text": TEXTS, "number": [1, 2, 3]})
    made = frame.with_columns(vector=pl.col("text").noppa.encode())
    assert made.schema["vector"] == pl.Array(pl.Float32, noppa.load().dim)
    np.testing.assert_array_equal(made["vector"].to_numpy(), noppa.load().encode(TEXTS))
    assert made["number"].to_list() == [1, 2, 3]


def test_a_lazy_frame_knows_its_schema_and_streams() -> None:
    frame = pl.LazyFrame({"number": range(5000)}).select(
        text=pl.format("{} cakes and {} lakes", "number", pl.col("number") % 7)
    )
    vectors = frame.select(pl.col("text").noppa.encode("similarity", normalize=True))
    assert vectors.collect_schema()["text"] == pl.Array(pl.Float32, 320)
    streamed = vectors.collect(engine="streaming")["text"].to_numpy()
    texts = frame.collect()["text"].to_list()
    expected = noppa.load("similarity").encode(texts, normalize=True)
    np.testing.assert_array_equal(streamed, expected)


def test_filters_and_groups_keep_rows_together() -> None:
    frame = pl.DataFrame({"text": TEXTS, "kind": ["x", "x", "y"]})
    kept = frame.filter(pl.col("text").str.contains("girl"))
    rows = kept.select(pl.col("text").noppa.encode())["text"].to_numpy()
    np.testing.assert_array_equal(rows, noppa.load().encode(TEXTS[:2]))
    groups = frame.group_by("kind", maintain_order=True).agg(pl.col("text").noppa.encode())
    np.testing.assert_array_equal(groups["text"][1].to_numpy(), noppa.load().encode(TEXTS[2:]))


def test_cosines_of_two_columns_and_of_one_text() -> None:
    frame = pl.DataFrame({"a": TEXTS, "b": TEXTS[::-1]})
    matrix = noppa.load("similarity").similarity(TEXTS, TEXTS)
    made = frame.select(
        pair=pl.col("a").noppa.similarity(pl.col("b")),
        one=pl.col("a").noppa.similarity(TEXTS[0]),
        turned=pl.lit(TEXTS[0]).noppa.similarity(pl.col("a")),
    )
    np.testing.assert_allclose(made["pair"].to_numpy(), np.diag(matrix[:, ::-1]), atol=1e-6)
    np.testing.assert_allclose(made["one"].to_numpy(), matrix[:, 0], atol=1e-6)
    assert made["turned"].to_list() == made["one"].to_list()
    with pytest.raises(ParameterError, match="must be an expression"):
        pl.col("a").noppa.similarity(TEXTS)


def test_a_series_has_the_same() -> None:
    series = pl.Series("text", TEXTS)
    vectors = series.noppa.encode()
    assert vectors.name == "text"
    np.testing.assert_array_equal(vectors.to_numpy(), noppa.load().encode(TEXTS))
    matrix = noppa.load("similarity").similarity(TEXTS, TEXTS)
    cosines = series.noppa.similarity(series.reverse())
    np.testing.assert_allclose(cosines.to_numpy(), np.diag(matrix[:, ::-1]), atol=1e-6)
    with pytest.raises(ParameterError, match="texts cannot be paired"):
        series.noppa.similarity(series.head(2))
    assert pl.Series("text", [], dtype=pl.String).noppa.encode().dtype == vectors.dtype


def test_nulls_are_named_or_empty() -> None:
    frame = pl.DataFrame({"text": ["a cake", None, "a lake"]})
    with pytest.raises(InputError, match="item 1 is missing"):
        frame.select(pl.col("text").noppa.encode())
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        rows = frame.select(pl.col("text").noppa.encode(on_error="empty"))["text"].to_numpy()
    assert rows.any(axis=1).tolist() == [True, False, True]
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        near = frame.select(pl.col("text").noppa.similarity("a cake", on_error="empty"))
    assert near["text"][1] == 0.0
    assert near["text"][0] == pytest.approx(1)
