"""Merge moments, and compare each fitted step with its formula."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noppa
from noppa.refine import Moments, Step, fit_steps
from tests import oracle

ROWS = np.random.default_rng(0).normal(size=(300, 12)) @ np.diag(np.linspace(3, 0.1, 12)) + 0.7


def applied(steps: list[Step], rows: np.ndarray) -> np.ndarray:
    """Apply fitted steps to rows in float64."""
    exact = [(step.kernel_form()[0], *vars(step).values()) for step in steps]
    return oracle.apply_steps(rows, None, oracle.Steps(exact), 1)


def fitted(refinement: object, rows: np.ndarray) -> np.ndarray:
    return applied([refinement.fit(Moments.from_rows(rows))], rows)  # type: ignore[attr-defined]


@settings(max_examples=50)
@given(st.lists(st.integers(0, 300), min_size=0, max_size=8), st.randoms())
def test_moments_merge_in_any_order(cuts: list[int], random: object) -> None:
    edges = [0, *sorted(cuts), 300]
    parts = [Moments.from_rows(ROWS[a:b]) for a, b in pairwise(edges)]
    random.shuffle(parts)  # type: ignore[attr-defined]
    merged = sum(parts, Moments.empty(12))
    whole = Moments.from_rows(ROWS)
    assert merged.count == whole.count
    assert np.allclose(merged.mean, ROWS.mean(axis=0), rtol=1e-12)
    assert np.allclose(merged.covariance, np.cov(ROWS.T, bias=True), rtol=1e-10, atol=1e-12)
    assert np.allclose(merged.products, whole.products, rtol=1e-12)


def test_noise_removal_is_the_last_right_singular_vectors() -> None:
    """Equations 14 and 15, with NumPy's own SVD."""
    _, _, directions = np.linalg.svd(ROWS)
    last = directions[-4:]
    assert np.allclose(fitted(noppa.NoiseRemoval(4), ROWS), ROWS - ROWS @ last.T @ last)


def test_common_components_are_the_first() -> None:
    _, _, directions = np.linalg.svd(ROWS)
    first = directions[:2]
    assert np.allclose(fitted(noppa.CommonComponents(2), ROWS), ROWS - ROWS @ first.T @ first)
    centred = ROWS - ROWS.mean(axis=0)
    first = np.linalg.svd(centred)[2][:2]
    wanted = ROWS - centred @ first.T @ first
    assert np.allclose(fitted(noppa.CommonComponents(2, centred=True), ROWS), wanted)


def test_reference_noise_standardises_and_removes_rows_of_v() -> None:
    """D1 and D3: rows, not columns, of the matrix whose columns are singular vectors, of z-scored features."""
    mean, spread = ROWS.mean(axis=0), ROWS.std(axis=0)
    scores = (ROWS - mean) / spread
    vectors = np.linalg.svd(scores)[2].T
    vectors *= np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(12)])
    rows = vectors[-3:]
    wanted = (scores - scores @ rows.T @ rows) * spread + mean
    assert np.allclose(fitted(noppa.NoiseRemoval(3, "reference"), ROWS), wanted)


def test_paper_and_reference_noise_are_far_apart() -> None:
    """D1 and D31: the paper's removal is close to nothing, the authors' takes k/d of the standardised variance."""
    rows = (ROWS - ROWS.mean(axis=0)) / ROWS.std(axis=0)
    rows = (
        rows
        @ np.diag(np.geomspace(1, 1e-3, 12))
        @ np.linalg.qr(np.random.default_rng(1).normal(size=(12, 12)))[0]
    )
    spread = rows.std(axis=0)
    lost = {
        variant: 1 - (fitted(noppa.NoiseRemoval(3, variant), rows) / spread).var(axis=0).sum() / 12
        for variant in ("paper", "reference")
    }
    assert 0 <= lost["paper"] < 1e-4
    assert 0.1 < lost["reference"] < 0.4


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_constant_and_too_few_rows_do_not_crash(variant: str) -> None:
    """D2 and D3: fewer sentences than dimensions, and a dimension that never changes."""
    rows = ROWS.copy()
    rows[:, 3] = 5.0
    assert np.isfinite(fitted(noppa.NoiseRemoval(2, variant), rows)).all()
    refinement = noppa.NoiseRemoval(2, variant)
    if variant == "paper":
        with pytest.warns(noppa.NoppaWarning, match="fitted on 6 sentences"):
            few = fitted(refinement, ROWS[:6])
        assert np.allclose(few, ROWS[:6])  # the last directions of V are outside what the rows span
    else:
        assert np.isfinite(fitted(refinement, ROWS[:6])).all()


def test_whitening() -> None:
    white = fitted(noppa.Whitening(), ROWS)
    assert np.allclose(np.cov(white.T, bias=True), np.eye(12), atol=1e-8)
    rotated = fitted(noppa.Whitening(strength=0), ROWS)
    assert np.allclose(np.cov(rotated.T, bias=True), np.diag(rotated.var(axis=0)), atol=1e-8)
    assert (np.diff(rotated.var(axis=0)) <= 0).all()
    assert np.allclose(fitted(noppa.Whitening(dim=5), ROWS), white[:, :5])


def test_a_row_of_steps_is_fitted_from_one_pass() -> None:
    chain = [
        noppa.NoiseRemoval(2),
        noppa.CommonComponents(1),
        noppa.Whitening(dim=6),
        noppa.Normalize(),
    ]
    rows = ROWS
    for refinement in chain:
        rows = fitted(refinement, rows)
    steps = fit_steps(chain, Moments.from_rows(ROWS))
    once = applied(steps, ROWS)
    # Eigenvectors have no sign of their own.
    assert np.allclose(np.abs(once), np.abs(rows), atol=1e-7)
    assert np.allclose(np.linalg.norm(once, axis=1), 1)


def test_nothing_is_fitted_after_normalise() -> None:
    with pytest.raises(
        noppa.NoppaError, match="nothing can be fitted after Normalize: put it last"
    ):
        fit_steps([noppa.Normalize(), noppa.CommonComponents()], Moments.from_rows(ROWS))


@pytest.mark.parametrize(
    ("refinement", "rows", "message"),
    [
        (
            noppa.NoiseRemoval(4),
            ROWS[:4],
            "needs at least 5 sentences with a known word, and got 4",
        ),
        (noppa.NoiseRemoval(13), ROWS, "of 13 directions, but the vectors have 12 dimensions"),
        (noppa.CommonComponents(2), ROWS[:0], "needs at least 3 sentences"),
        (noppa.Whitening(dim=13), ROWS, "whitening to 13 dimensions, but the vectors have 12"),
    ],
)
def test_fits_that_cannot_be(refinement: object, rows: np.ndarray, message: str) -> None:
    with pytest.raises(noppa.NoppaError, match=message):
        fitted(refinement, rows)


def test_whitening_around_zero_keeps_the_mean() -> None:
    rows = np.random.default_rng(0).normal(size=(500, 4)) * [4, 3, 2, 1] + [5, 0, 0, 0]
    step = noppa.Whitening(strength=1, centred=False).fit(Moments.from_rows(rows))
    found = rows @ step.matrix + step.bias
    assert np.allclose(found.T @ found / len(found), np.eye(4), atol=1e-9)
    assert abs(found.mean(axis=0)[0]) > 0.5
    assert not step.bias.any()
