"""The classifiers: right on their own terms, each model as if it were alone, the same bits each time."""

from __future__ import annotations

import numpy as np
import pytest

from noppa.classify.folds import stratified_folds
from noppa.evaluate import logistic, perceptron
from noppa.evaluate.correlation import cosines, pearson, spearman
from noppa.evaluate.perceptron import Stream
from noppa.evaluate.probes import PROBES, ProbeData, ProbeResult


def made(rows: int, dim: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points around one centre a class."""
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
    """At the coefficients found the gradient of the penalised loss, written out in float64, vanishes."""
    monkeypatch.setattr(logistic, "TOLERANCE", 1e-5)
    rows, labels = made(200, 5, classes)
    l2 = np.array([1e-3, 1e-1])
    weights = np.ones((2, 200), np.float32)
    weights[1, :50] = 0
    found = logistic.fit(logistic.rotated(rows), labels, weights, l2, classes).astype(float)
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
    together = logistic.fit(logistic.rotated(rows), labels, weights, l2, 3)
    for at in range(3):
        alone = logistic.fit(
            logistic.rotated(rows), labels, weights[at : at + 1], l2[at : at + 1], 3
        )
        assert (logistic.predict(rows, alone) == logistic.predict(rows, together)[at]).all()
        np.testing.assert_allclose(alone[0], together[at], atol=0.02)


# SentEval's network


def test_a_step_is_the_one_of_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    """One epoch of one batch against back-propagation and Adam written out in float64."""
    monkeypatch.setattr(perceptron, "EPOCH_SIZE", 1)
    rows, labels = made(40, 3, 2)
    streams = [Stream(np.arange(40), np.arange(40))]
    l2 = (1e-1, 1e-2)
    networks = perceptron._Networks(rows, labels, streams, l2, 2, 5)
    before = [array[0].astype(float) for array in networks.parameters]
    for batch in networks._batches():
        networks._step(batch)
    for at, reg in enumerate(l2):
        own = slice(50 * at, 50 * at + 50)
        parameters = [before[0][:, own], before[1][:, own], before[2][at], before[3][at]]
        hidden = 1 / (1 + np.exp(-(rows @ parameters[0] + parameters[1])))
        scores = np.exp(hidden @ parameters[2] + parameters[3])
        error = (scores / scores.sum(1, keepdims=True) - np.eye(2)[labels]) / 40
        back = error @ parameters[2].T * hidden * (1 - hidden)
        slopes = [
            rows.T @ back,
            back.sum(0, keepdims=True),
            hidden.T @ error,
            error.sum(0, keepdims=True),
        ]
        after = [networks.parameters[0][0][:, own], networks.parameters[1][0][:, own]]
        after += [networks.parameters[2][0][at], networks.parameters[3][0][at]]
        for old, slope, new in zip(parameters, slopes, after, strict=True):
            slope = slope + reg * old
            # the first step of Adam: both moments are the gradient's own
            np.testing.assert_allclose(new, old - 1e-3 * slope / (np.abs(slope) + 1e-8), atol=2e-6)


def test_streams_in_company_are_streams_alone() -> None:
    rows, labels = made(90, 4, 3)
    streams = [Stream(*fold) for fold in stratified_folds(labels, 3, 0)]
    streams.append(Stream(np.arange(50), np.arange(50, 90)))
    together = perceptron.train(rows, labels, streams, (1e-5, 1e-2), 3, 1)
    for stream, found in zip(streams, together, strict=True):
        (alone,) = perceptron.train(rows, labels, [stream], (1e-5, 1e-2), 3, 1)
        np.testing.assert_allclose(alone.accuracy, found.accuracy, atol=0.06)
        np.testing.assert_allclose(alone.first, found.first, atol=1e-3)


def test_the_best_check_is_kept() -> None:
    rows, labels = made(120, 4, 2)
    (found,) = perceptron.train(
        rows, labels, [Stream(np.arange(80), np.arange(80, 120))], (1e-4, 1e-2), 2, 3
    )
    right = (found.predict(rows[80:]) == labels[80:]).mean(axis=1)
    np.testing.assert_allclose(right, found.accuracy)


# Both


@pytest.mark.parametrize("name", PROBES)
@pytest.mark.parametrize("with_dev", [True, False])
@pytest.mark.parametrize("classes", [2, 3])
def test_classes_that_lie_apart_are_told_apart(name: str, with_dev: bool, classes: int) -> None:
    one = exam(classes, with_dev)
    marks = PROBES[name](one)
    assert (marks.predicted == one.test[1]).mean() > 0.75
    assert marks.dev > 0.75


@pytest.mark.parametrize("name", PROBES)
def test_same_seed_same_bytes(name: str) -> None:
    first, second = (PROBES[name](exam(3, with_dev=False, seed=7)) for _ in range(2))
    assert_same(first, second)


def assert_same(first: ProbeResult, second: ProbeResult) -> None:
    assert first.l2 == second.l2
    assert first.dev == second.dev
    assert first.predicted.tobytes() == second.predicted.tobytes()


@pytest.mark.parametrize("name", PROBES)
def test_a_constant_feature_does_no_harm(name: str) -> None:
    one = exam(2, with_dev=True)
    wide = [
        (np.hstack([x, np.zeros((len(x), 1), np.float32)]), y)
        for x, y in (one.train, one.dev, one.test)
    ]  # type: ignore[misc]
    marks = PROBES[name](ProbeData(wide[0], wide[1], wide[2], 2, 1))
    assert (marks.predicted == one.test[1]).mean() > 0.8


# Correlations


def test_correlations_by_hand() -> None:
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1)
    assert spearman([1, 2, 3, 4], [1, 4, 9, 16]) == pytest.approx(1)
    assert spearman([1, 2, 2, 3], [1, 2, 3, 4]) == pytest.approx(0.9486833)  # ranks 1 2.5 2.5 4
    assert spearman([1, 1], [1, 2]) == 0
    assert cosines([[1, 0], [0, 0]], [[1, 1], [1, 0]]).tolist() == pytest.approx([0.5**0.5, 0])
