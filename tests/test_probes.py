"""Train probes: correct minima and gradients, independent models, the same bytes each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from noppa import _native
from noppa.classify import probe
from noppa.classify.labels import stratified_folds
from noppa.classify.probe import Probe, ProbeData
from noppa.paper import protocols as probes
from noppa.paper.protocols import cosines, pearson, spearman
from tests import oracle


def made(rows: int, dim: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return points around one centre per class."""
    random = np.random.default_rng(seed)
    labels = np.arange(rows) % classes
    centres = np.random.default_rng(99).normal(size=(classes, dim))
    return (centres[labels] + random.normal(size=(rows, dim))).astype(np.float32), labels


def exam(classes: int, with_dev: bool, seed: int = 1111, dim: int = 6) -> ProbeData:
    dev = made(60, dim, classes, 1) if with_dev else None
    return ProbeData(made(240, dim, classes, 0), dev, made(90, dim, classes, 2), classes, seed)


# Logistic regression


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_the_minimum_is_one(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of the penalized loss, in float64, vanishes at the solution."""
    monkeypatch.setattr(probe, "TOLERANCE", 1e-5)
    rows, labels = made(200, 5, classes)
    l2 = np.array([1e-3, 1e-1])
    weights = np.ones((2, 200), np.float32)
    weights[1, :50] = 0
    found = probe.fit(probe.rotate(rows), labels, weights, l2, classes).astype(float)
    for model in range(2):
        x = np.hstack([rows, np.ones((200, 1))]).astype(float)
        scores = np.exp(x @ found[model])
        share = weights[model] / weights[model].sum()
        slope = x.T @ (
            (scores / scores.sum(1, keepdims=True) - np.eye(classes)[labels]) * share[:, None]
        )
        slope[:-1] += l2[model] * found[model, :-1]
        assert np.abs(slope).max() < 1e-4


def test_models_in_company_are_models_alone() -> None:
    rows, labels = made(150, 4, 3)
    l2 = np.array([1e-3, 1e-2, 1e-1])
    weights = np.random.default_rng(0).integers(0, 2, (3, 150)).astype(np.float32)
    together = probe.fit(probe.rotate(rows), labels, weights, l2, 3)
    for at in range(3):
        alone = probe.fit(probe.rotate(rows), labels, weights[at : at + 1], l2[at : at + 1], 3)
        assert (probe.predict(rows, alone) == probe.predict(rows, together)[at]).all()
        np.testing.assert_allclose(alone[0], together[at], atol=0.02)


# SentEval's network


@pytest.mark.parametrize(
    ("dim", "rows", "classes"),
    [(1, 1, 1), (2, 7, 2), (7, 97, 3), (97, 64, 9), (200, 130, 6), (301, 97, 2)],
)
def test_native_steps_are_those_of_the_twin(dim: int, rows: int, classes: int) -> None:
    """Compare three epochs with float64 for every instruction set; the last batch of each is partial."""
    random = np.random.default_rng(dim)
    points = random.normal(size=(rows, dim)).astype(np.float32)
    # Stretches of zeros, which the native steps leave out; one starts behind a zero of a filled row.
    points[random.random(rows) < 0.4, : dim // 2] = 0
    points[random.random(rows) < 0.3, dim // 2 :] = 0
    points[::5, 0] = 0
    labels = random.integers(0, classes, rows).astype(np.int32)
    order = np.concatenate([random.permutation(rows) for _ in range(3)]).astype(np.int32)
    start = probes.initial_state(dim, classes, 1)
    settings = (points, labels, order, rows, 64, classes, 1e-2, 5)
    wanted = start.astype(np.float64)
    oracle.network_steps(wanted, *settings)
    live = _native.instruction_set()
    try:
        for name in _native.instruction_sets():
            _native.use_instruction_set(name)
            found = start.copy()
            _native.network_steps(found, *settings)
            np.testing.assert_allclose(found, wanted, atol=1e-5)
    finally:
        _native.use_instruction_set(live)


@pytest.mark.parametrize(
    "change",
    [
        {"order": np.array([9], np.int32)},
        {"labels": np.array([0, 2], np.int32)},
        {"labels": np.array([0], np.int32)},
        {"state": np.zeros((3, 8), np.float32)},
        {"state": probes.initial_state(4, 2, 0).astype(float)},
        {"batch": 0},
        {"classes": 1 << 40},
        {"l2": float("nan")},
    ],
)
def test_native_steps_refuse_what_does_not_fit(change: dict[str, Any]) -> None:
    call = {
        "state": probes.initial_state(4, 2, 0),
        "rows": np.zeros((2, 4), np.float32),
        "labels": np.array([0, 1], np.int32),
        "order": np.array([0, 1], np.int32),
        "epoch": 2,
        "batch": 64,
        "classes": 2,
        "l2": 0.0,
        "steps": 0,
    }
    with pytest.raises((ValueError, TypeError)):
        _native.network_steps(**call | change)


def test_streams_in_company_are_streams_alone() -> None:
    rows, labels = made(90, 4, 3)
    streams = [*stratified_folds(labels, 3, 0), (np.arange(50), np.arange(50, 90))]
    together = probes.train(rows, labels, streams, (1e-5, 1e-2), 3, 1)
    for stream, found in zip(streams, together, strict=True):
        (alone,) = probes.train(rows, labels, [stream], (1e-2,), 3, 1)
        assert alone.accuracy[0] == found.accuracy[1]
        assert alone.parameters[0].tobytes() == found.parameters[1].tobytes()


def test_the_best_check_is_kept() -> None:
    rows, labels = made(120, 4, 2)
    (found,) = probes.train(rows, labels, [(np.arange(80), np.arange(80, 120))], (1e-4, 1e-2), 2, 3)
    right = (found.predict(rows[80:]) == labels[80:]).mean(axis=1)
    np.testing.assert_allclose(right, found.accuracy)


# Both


@pytest.mark.parametrize("train", [probe.probe, probes.senteval])
@pytest.mark.parametrize("with_dev", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_that_lie_apart_are_told_apart(train: Probe, with_dev: bool, classes: int) -> None:
    one = exam(classes, with_dev)
    marks = train(one)
    assert (marks.predicted == one.test[1]).mean() > 0.75
    assert marks.dev > 0.75


@pytest.mark.parametrize("train", [probe.probe, probes.senteval])
def test_same_seed_same_bytes(train: Probe) -> None:
    first, second = (train(exam(3, with_dev=False, seed=7)) for _ in range(2))
    assert first.l2 == second.l2
    assert first.dev == second.dev
    assert first.predicted.tobytes() == second.predicted.tobytes()


@pytest.mark.parametrize("train", [probe.probe, probes.senteval])
def test_a_constant_feature_does_no_harm(train: Probe) -> None:
    one = exam(2, with_dev=True)
    wide = [
        (np.hstack([x, np.zeros((len(x), 1), np.float32)]), y)
        for x, y in (one.train, one.dev, one.test)
    ]  # type: ignore[misc]
    marks = train(ProbeData(wide[0], wide[1], wide[2], 2, 1))
    assert (marks.predicted == one.test[1]).mean() > 0.8


# Correlations


def test_correlations_by_hand() -> None:
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [1, 4, 9, 16]) == pytest.approx(1)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486833)  # ranks 1 2.5 2.5 4
    assert spearman([1, 1], [1, 2]) == 0
    assert cosines([[1, 0], [0, 0]], [[1, 1], [1, 0]]).tolist() == pytest.approx([0.5**0.5, 0])
