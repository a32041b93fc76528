"""Near-duplicates among rows: the native search against the rule as it is stated, and against its twin."""

from __future__ import annotations

import numpy as np
import pytest

from noppa import _native as kernels
from noppa.dedupe.deduplicate import NearDuplicates
from noppa.errors import ParameterError
from tests import oracle


def made_rows(count: int, dim: int = 24, seed: int = 0, noise: float = 0.08) -> np.ndarray:
    """Unit rows of which many are noisy copies of others."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(max(1, count // 3), dim))
    rows = centres[rng.integers(len(centres), size=count)]
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows += noise * rng.normal(size=rows.shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def decided_by_hand(rows: np.ndarray, threshold: float, reference: int = 0) -> list[int]:
    """The rule as it is stated, one row after the other."""
    cosines = rows.astype(float) @ rows.T.astype(float)
    kept: list[int] = []
    leaders = []
    for row in range(len(rows)):
        alike = [one for one in kept if cosines[row, one] >= threshold - 1e-6]
        repeats = row >= reference and bool(alike)
        leaders.append(max(alike, key=lambda one: (cosines[row, one], -one)) if repeats else -1)
        if not repeats:
            kept.append(row)
    return leaders


@pytest.mark.parametrize("threshold", [0.6, 0.9, 0.99])
@pytest.mark.parametrize(("count", "reference"), [(0, 0), (1, 0), (7, 7), (97, 30), (1200, 100)])
def test_the_rule_holds(count: int, reference: int, threshold: float) -> None:
    rows = made_rows(count)
    leaders, cosines = NearDuplicates(rows, reference).leaders(threshold)
    assert leaders.tolist() == decided_by_hand(rows, threshold, reference)
    repeating = leaders >= 0
    dots = np.einsum("rd,rd->r", rows[repeating], rows[leaders[repeating]], dtype=float)
    assert np.allclose(cosines[repeating], dots, atol=1e-6)
    assert not cosines[~repeating].any()


@pytest.mark.parametrize("dim", [1, 2, 31, 192])
def test_odd_dimensions(dim: int, instruction_set: str) -> None:
    rows = made_rows(150, dim)
    assert NearDuplicates(rows).leaders(0.95)[0].tolist() == decided_by_hand(rows, 0.95)


def test_one_result_for_any_number_of_threads_and_division() -> None:
    """Also in cells, and over the bounds of blocks."""
    rows = made_rows(9000, seed=3)
    near = NearDuplicates(rows, exact=100, probes=4)
    results = [near.leaders(0.9, threads) for threads in (1, 2, 5)]
    for leaders, cosines in results[1:]:
        assert leaders.tobytes() == results[0][0].tobytes()
        assert cosines.tobytes() == results[0][1].tobytes()
    search = kernels.Leaders(rows, near.centroids, near.probes, near.homes, 0.9)
    parts = [search.advance(size, 2)[0] for size in (1, 700, 0, 10_000, 5)]
    assert np.concatenate(parts).tolist() == results[0][0].tolist()


def test_cells_find_nearly_all() -> None:
    rows = made_rows(3000, dim=48, seed=5)
    wanted = np.array(decided_by_hand(rows, 0.9))
    found = NearDuplicates(rows, exact=0).leaders(0.9)[0]
    assert NearDuplicates(rows, exact=0).cells == 109
    assert np.count_nonzero((wanted >= 0) & (found < 0)) <= 0.01 * np.count_nonzero(wanted >= 0)


def test_the_twin_decides_the_same() -> None:
    rows = made_rows(600, dim=33, seed=7)
    near = NearDuplicates(rows, exact=50, probes=3)
    cells = kernels.nearest_cells(rows, near.centroids, 3, 2)
    assert cells.tolist() == oracle.nearest_cells(rows, near.centroids, 3, 1).tolist()
    search = oracle.Leaders(rows, near.centroids, 3, 2, 0.9, 10)
    native = kernels.Leaders(rows, near.centroids, 3, 2, 0.9, 10)
    assert search.advance(600, 1)[0].tolist() == native.advance(600, 2)[0].tolist()


def test_rows_that_are_not_finite_are_like_nothing() -> None:
    rows = made_rows(4).repeat(2, axis=0)
    rows[2:4, 3], rows[4:6, 0] = np.nan, np.inf
    leaders, _ = NearDuplicates(rows).leaders(0.99)
    assert leaders[[1, 7]].tolist() == [0, 6]
    assert leaders[2:6].tolist() == [-1] * 4


@pytest.mark.parametrize(
    ("rows", "centroids", "probes"),
    [
        ((3, 4), (2, 5), 1),
        ((3, 4), (2, 4), 3),
        ((3, 4), (2, 4), 0),
        ((3, 4), (0, 4), 1),
        ((3, 0), (1, 0), 1),
    ],
)
def test_the_binding_refuses_what_does_not_fit(
    rows: tuple[int, int], centroids: tuple[int, int], probes: int
) -> None:
    made = [np.ones(shape, np.float32) for shape in (rows, centroids)]
    with pytest.raises(ValueError, match=r"dimensions|probes"):
        kernels.nearest_cells(*made, probes, 1)
    with pytest.raises(ValueError, match=r"dimensions|probes"):
        kernels.Leaders(*made, probes, 1, 0.9)


def test_too_many_dimensions() -> None:
    with pytest.raises(ParameterError, match="65537 dimensions cannot be compared"):
        NearDuplicates(np.zeros((1, 65537), np.float32))
