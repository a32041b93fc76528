"""Filters: what each operator lets pass, values of all kinds, and expressions of the command line."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pytest

import noppa
from noppa.errors import NoppaError
from noppa.search.where import parse_expressions
from tests.conftest import made_words

#: Values of one field, by id; what is missing, a list and a text among numbers.
VALUES: dict[str, Any] = {
    "a": 1, "b": 2, "c": 2.5, "d": "2", "e": "two words", "f": None, "g": True, "h": [2], "i": float("nan"), "j": -3,
    "k": "Ünï \ud83d 'quoted\"", "l": np.int32(7), "m": date(2021, 3, 4),
}  # fmt: skip


@pytest.fixture(scope="module")
def index() -> noppa.Index:
    made = noppa.Index(noppa.Encoder(made_words(), noppa.Average()))
    # in two segments, of which one has no such field
    made.add(["cake"], ids=["z"])
    made.add(["cake"] * len(VALUES), [*VALUES], [{"x": value} for value in VALUES.values()])
    return made


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        (2, "b"),
        (True, "ag"),  # JSON's true and 1 are the same number
        ("2", "d"),
        ({"=": 2.0}, "b"),
        ({"!=": 2}, "zacdefghijklm"),
        ({">": 1}, "bcl"),
        ({">=": 1, "<": 2.5}, "abg"),
        ({"<": 0}, "j"),
        ({">": "2"}, "ekm"),
        ({"<=": "2021-03-04"}, "dm"),
        ({"<": date(2022, 1, 1)}, "dm"),
        ({"in": [1, "2", 99]}, "adg"),
        ([1, "2", 99], "adg"),
        ([], ""),
        ({"contains": "wo w"}, "e"),
        ({"contains": "'quoted\""}, "k"),
        (VALUES["k"], "k"),
        (["\ud83d", VALUES["k"]], "k"),
        (None, "zfi"),
        ({"missing": True}, "zfi"),
        ({"missing": False}, "abcdeghjklm"),
    ],
)
def test_operators(index: noppa.Index, condition: Any, ids: str) -> None:
    assert sorted(index.search("cake", 99, where={"x": condition}).ids) == sorted(ids)


def test_all_conditions_must_hold(index: noppa.Index) -> None:
    assert index.search("cake", where={"x": {">": 1}, "y": None}).ids == ["b", "c", "l"]
    assert index.search("cake", where={"x": {">": 1}, "y": 1}).ids == []
    assert len(index.search("cake", 99, where={})) == len(index)


def test_values_come_back_as_they_were(index: noppa.Index) -> None:
    assert index.get("g").metadata == {"x": True}
    assert index.get("g").metadata["x"] is True
    assert index.get("h").metadata == {"x": [2]}
    assert index.get("k").metadata == {"x": VALUES["k"]}
    assert index.get("m").metadata == {"x": "2021-03-04"}
    assert index.get("f").metadata == {}


@pytest.mark.parametrize("name", ["x; DROP TABLE rows", 'x"', "c0", "number", "x OR 1=1"])
def test_names_and_values_are_never_sql(index: noppa.Index, name: str) -> None:
    assert index.search("cake", where={"x": "2' OR '1'='1"}).ids == []
    assert index.search("cake", where={name: {"missing": False}}).ids == []
    assert len(index.search("cake", 99, where={name: None})) == len(index)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"x": {"like": 1}}, "'x' has the operator 'like': use one of ="),
        ({"x": {">": None}}, "'x' can be compared with a string, a number"),
        ({"x": {">": [1]}}, "'x' in where is .1.: use a string"),
        ({"x": {"in": "abc"}}, "in of 'x' needs a list"),
        ({"x": {"in": [0] * 10_001}}, "10001 values"),
        ({"x": {"contains": 5}}, "contains of 'x' needs a string"),
        ({"x": {"missing": 1}}, "missing of 'x' must be True or False"),
        ({1: 2}, "a field in where must be a string"),
        ("x > 1", "where must be a dict"),
    ],
)
def test_bad_filters(index: noppa.Index, where: Any, message: str) -> None:
    with pytest.raises(NoppaError, match=message):
        index.search("cake", where=where)


@pytest.mark.parametrize(
    ("expressions", "where"),
    [
        (["year > 2020"], {"year": {">": 2020}}),
        (["year>2020"], {"year": {">": 2020}}),
        (["year >= 2020 and year < 2.5e3"], {"year": {">=": 2020, "<": 2500.0}}),
        (["lang = en", "ok = true"], {"lang": {"=": "en"}, "ok": {"=": True}}),
        (["'my field' != \"it's\""], {"my field": {"!=": "it's"}}),
        (["year = '2020'"], {"year": {"=": "2020"}}),
        (["lang in (en, de, 'x y', 5)"], {"lang": {"in": ["en", "de", "x y", 5]}}),
        (["body contains cold"], {"body": {"contains": "cold"}}),
        (["year missing and lang not missing"], {"year": {"missing": True}, "lang": {"missing": False}}),
        (["zip = 007"], {"zip": {"=": 7}}),
        (["day >= 2021-03-04"], {"day": {">=": "2021-03-04"}}),
        ([], {}),
    ],
)  # fmt: skip
def test_expressions(expressions: list[str], where: Any) -> None:
    assert parse_expressions(expressions) == where


@pytest.mark.parametrize(
    "expression",
    ["", "year", "year >", "> 2020", "year > 1 or x = 2", "year > 1 and", "x in 1", "x in (1", "x in (1,)",
     "x ! 1", "x = = 1", "a b c", "x = 1 y = 2", "'x = 1", "x is 5"],
)  # fmt: skip
def test_unclear_expressions(expression: str) -> None:
    with pytest.raises(NoppaError, match="cannot parse the filter") as raised:
        parse_expressions([expression])
    assert "\n" not in str(raised.value)
