"""pandas: columns of texts become frames, by position, whatever their index."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

import noppa
import noppa.integrations.pandas
from noppa.errors import ParameterError

TEXTS = ["the girl eats a cake", "a girl is eating", "stock prices fell"]


def test_rows_follow_the_index_of_the_series() -> None:
    series = pandas.Series(TEXTS, index=[30, 10, 20])
    frame = series.noppa.encode()
    assert list(frame.index) == [30, 10, 20]
    assert list(frame.columns[:2]) == ["noppa_0", "noppa_1"]
    np.testing.assert_array_equal(frame.to_numpy(), noppa.load().encode(TEXTS))


def test_filtered_rows_and_an_empty_series() -> None:
    series = pandas.Series(TEXTS)
    kept = series[series.str.contains("girl")].noppa.encode("similarity")
    np.testing.assert_array_equal(kept.to_numpy(), noppa.load("similarity").encode(TEXTS[:2]))
    assert pandas.Series([], dtype=str).noppa.encode().shape == (0, noppa.load().dim)


def test_cosines_of_two_columns_and_of_one_text() -> None:
    frame = pandas.DataFrame({"a": TEXTS, "b": TEXTS[::-1]}, index=list("xyz"))
    cosines = frame["a"].noppa.similarity(frame["b"])
    matrix = noppa.load("similarity").similarity(TEXTS, TEXTS)
    np.testing.assert_allclose(cosines.to_numpy(), np.diag(matrix[:, ::-1]), atol=1e-6)
    assert list(cosines.index) == list("xyz")
    one = frame["a"].noppa.similarity(TEXTS[0])
    np.testing.assert_allclose(one.to_numpy(), matrix[:, 0], atol=1e-6)
    with pytest.raises(ParameterError, match="3 texts cannot be paired with 2"):
        frame["a"].noppa.similarity(TEXTS[:2])


def test_missing_values_are_named_or_empty() -> None:
    series = pandas.Series(["a cake", None, "a lake"])
    with pytest.raises(noppa.NoppaError, match="item 1"):
        series.noppa.encode()
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        rows = series.noppa.encode(on_error="empty").to_numpy()
    assert not rows[1].any()
    assert rows[[0, 2]].any(axis=1).all()
