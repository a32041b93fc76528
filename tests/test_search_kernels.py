"""The kernels of search against their NumPy twin: every way to store rows, odd sizes, every instruction set."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noppa import _native
from noppa.encoder.models import unit_rows
from noppa.search.vectors import nearest, to_stored
from tests import oracle

DTYPES = ["float32", "float16", "int8"]


def tables(rows: np.ndarray, dtype: str) -> tuple[Any, Any]:
    arrays = to_stored(rows, dtype)
    return tuple(
        module.Table(arrays["vectors"], arrays.get("scales")) for module in (_native, oracle)
    )


def made_rows(count: int, dim: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dim)).astype(np.float32)
    return np.asarray(unit_rows(rows))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [1, 7, 16, 33, 97, 192])
def test_native_equals_twin(instruction_set: str, dtype: str, dim: int) -> None:
    for count in (1, 2, 97, 9000):
        rows, queries = made_rows(count, dim), made_rows(5, dim, 1)
        native, twin = tables(rows, dtype)
        rng = np.random.default_rng(count)
        some = rng.permutation(count)[: count // 2].astype(np.int32)
        allowed = (rng.random(count) < 0.7).astype(np.uint8)
        bonus = rng.random((5, count)).astype(np.float32)
        for case in (
            (None, None, None),
            (some, None, bonus),
            (None, allowed, None),
            (some, allowed, bonus),
        ):
            numbers, scores = _native.nearest_rows(native, *case, queries, 7, 2)
            _, expected = oracle.nearest_rows(twin, *case, queries, 7, 2)
            assert scores == pytest.approx(expected, abs=1e-5)
            for q, found in enumerate(numbers):
                dots = twin.rows(found) @ queries[q] + (0 if case[2] is None else bonus[q, found])
                assert dots == pytest.approx(scores[q], abs=1e-5)
                assert len({*found.tolist()}) == len(found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_query_gets_the_same_bytes_in_any_batch_and_with_any_threads(dtype: str) -> None:
    native, _ = tables(made_rows(20_000, 50), dtype)
    queries = made_rows(130, 50, 1)
    together = _native.nearest_rows(native, None, None, None, queries, 10, 2)
    for q in (0, 3, 64, 129):
        alone = _native.nearest_rows(native, None, None, None, queries[q : q + 1], 10, 1)
        assert alone[0].tobytes() == together[0][q : q + 1].tobytes()
        assert alone[1].tobytes() == together[1][q : q + 1].tobytes()


@pytest.mark.parametrize("dim", [1, 7, 33, 128])
def test_codes_are_searched_as_the_twin_does(instruction_set: str, dim: int) -> None:
    for count in (1, 2, 97, 40_000):
        coded = to_stored(made_rows(count, dim), "int8")
        rng = np.random.default_rng(count)
        rows = rng.permutation(count).astype(np.int32)
        allowed = (rng.random(count) < 0.7).astype(np.uint8)
        edges = np.sort(rng.integers(0, count + 1, 6)).astype(np.int64)
        for cells in ((edges[::2], edges[1::2]), (np.array([0]), np.array([count]))):
            for flags in (None, allowed):
                given = (
                    coded["vectors"],
                    coded["scales"],
                    rows,
                    flags,
                    *cells,
                    made_rows(1, dim, 3)[0],
                )
                expected = oracle.nearest_codes(*given, 9, 1)
                for threads in (1, 3):
                    found = _native.nearest_codes(*given, 9, threads)
                    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scales": np.ones(4, np.float32)}, "one scale and row a place"),
        ({"rows": np.zeros(4, np.int32)}, "one scale and row a place"),
        ({"query": np.ones(2, np.float32)}, "the query does not fit"),
        ({"allowed": np.ones(4, np.uint8)}, "one flag a row"),
        ({"stops": np.array([6])}, "a cell leaves the codes"),
        ({"starts": np.array([-1])}, "a cell leaves the codes"),
        ({"starts": np.array([4]), "stops": np.array([3])}, "a cell leaves the codes"),
        ({"starts": np.array([1, 2])}, "a start and a stop"),
        ({"rows": np.full(5, 5, np.int32), "allowed": np.ones(5, np.uint8)}, "not in the table"),
        ({"count": 0}, "must be positive"),
    ],
)
def test_what_codes_are_searched_with_is_checked(arguments: dict[str, Any], message: str) -> None:
    given = {
        "codes": np.ones((5, 3), np.int8), "scales": np.ones(5, np.float32), "rows": np.arange(5, dtype=np.int32),
        "allowed": None, "starts": np.array([0]), "stops": np.array([5]), "query": np.ones(3, np.float32),
        "count": 1, "threads": 1,
    }  # fmt: skip
    assert _native.nearest_codes(**given).tolist() == [0]
    with pytest.raises(ValueError, match=message):
        _native.nearest_codes(**{**given, **arguments})


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_rows_come_by_number(dtype: str) -> None:
    arrays = to_stored(np.ones((5000, 3), np.float32), dtype)
    table = _native.Table(arrays["vectors"], arrays.get("scales"))
    query = np.ones((1, 3), np.float32)
    shuffled = np.random.default_rng(0).permutation(5000).astype(np.int32)
    for rows in (None, shuffled):
        numbers, _ = _native.nearest_rows(table, rows, None, None, query, 4, 2)
        assert numbers.tolist() == [[0, 1, 2, 3]]


@pytest.mark.parametrize("count", [1, 2, 97, 20_000])
def test_nearest_is_what_sorting_all_cosines_gives(count: int) -> None:
    rows = made_rows(count, 24) * 3
    rows[count // 2] = 0
    queries = np.vstack([rows[:2], np.zeros((1, 24), np.float32)])
    numbers, cosines = nearest(rows, queries, 5)
    every = unit_rows(queries) @ unit_rows(rows).T
    order = np.argsort(-every, axis=1, kind="stable")[:, :5]
    assert cosines == pytest.approx(np.take_along_axis(every, order, 1), abs=1e-5)
    assert numbers[-1].tolist() == list(range(min(5, count)))  # all alike: by number
    assert nearest(rows[:0], queries, 5)[0].shape == (len(queries), 0)
    with pytest.raises(ValueError, match="does not match rows"):
        nearest(rows, queries[:, :5], 1)
    with pytest.raises(ValueError, match="n must be"):
        nearest(rows, queries, 0)


def test_terms_are_added_as_the_twin_does() -> None:
    rng = np.random.default_rng(0)
    for texts, holding in ((1, 0), (100, 40), (150_000, 97_000)):  # the last for several threads
        rows = np.sort(rng.permutation(texts)[:holding]).astype(np.int32)
        counts = rng.integers(1, 9, holding).astype(np.uint16)
        lengths = rng.integers(9, 50, texts).astype(np.uint32)
        found = []
        for module in (_native, oracle):
            scores = np.ones(texts, np.float32)
            module.add_term(scores, rows, counts, lengths, 2.5, 0.3, 0.02, 3)
            found.append(scores)
        assert found[0] == pytest.approx(found[1], rel=1e-6)
        assert np.count_nonzero(found[0] == 1) == texts - holding
        alone = np.ones(texts, np.float32)
        _native.add_term(alone, rows, counts, lengths, 2.5, 0.3, 0.02, 1)
        assert alone.tobytes() == found[0].tobytes()


def test_a_text_that_is_listed_twice_counts_twice() -> None:
    """As a damaged file may have it; threads would share its score."""
    twice = np.zeros(1, np.float32)
    rows = np.zeros(100_000, np.int32)
    counts, lengths = np.ones(len(rows), np.uint16), np.zeros(1, np.uint32)
    _native.add_term(twice, rows, counts, lengths, 1, 0, 0, 4)
    assert twice[0] == len(rows)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": np.array([5], np.int32)}, "a row number is not in the table"),
        ({"rows": np.array([-1], np.int32)}, "a row number is not in the table"),
        ({"allowed": np.ones(4, np.uint8)}, "one flag a row"),
        ({"bonus": np.ones((1, 4), np.float32)}, "one bonus a query and row"),
        ({"queries": np.ones((1, 2), np.float32)}, "the queries do not fit"),
        ({"count": 0}, "must be positive"),
        ({"threads": 0}, "must be positive"),
    ],
)
def test_what_crosses_the_binding_is_checked(arguments: dict[str, Any], message: str) -> None:
    table, _ = tables(made_rows(5, 3), "float16")
    given = {"rows": None, "allowed": None, "bonus": None, "queries": made_rows(1, 3), "count": 1}
    with pytest.raises(ValueError, match=message):
        _native.nearest_rows(table, **{**given, "threads": 1, **arguments})
    with pytest.raises(ValueError, match="a row number is not in the table"):
        _native.add_term(
            np.zeros(2, np.float32), np.array([2], np.int32), np.ones(1, np.uint16),
            np.ones(2, np.uint32), 1, 1, 1, 1,
        )  # fmt: skip


def test_what_is_no_number_is_never_found() -> None:
    rows = made_rows(50, 3)
    rows[::2] = np.nan
    numbers, scores = _native.nearest_rows(
        _native.Table(rows, None), None, None, None, made_rows(1, 3), 30, 1
    )
    assert numbers.shape == (1, 25)
    assert np.isfinite(scores).all()
