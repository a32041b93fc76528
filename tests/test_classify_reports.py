"""What a classifier tells of itself: report, audit, calibration, strongest n-grams, nearest rows; and zero and few labels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import _native as kernels
from noppa.classify import labels as label_module
from noppa.classify.features import SparseRows, learn_ngrams
from noppa.classify.logistic import fit_temperature, row_losses
from noppa.classify.report import calibration_error, reliability
from noppa.errors import FileError, NotFittedError, ParameterError
from noppa.io import storage
from noppa.plot import decision, training_page
from tests import oracle
from tests.test_classifier import LABELS, TEXTS, TOPIC_TEXTS, TOPICS, made


def test_a_report_is_of_rows_that_were_held_out() -> None:
    """Labels by chance: a report that saw its own training rows would call them good."""
    texts, _ = made(80)
    random = np.random.default_rng(3).permutation(["a", "b"] * 40).tolist()
    model = noppa.Classifier(folds=4).fit(texts, random)
    report = model.report(audit=True)
    assert model.score(texts, random) > report.accuracy + 0.1
    assert report.accuracy < 0.7
    assert len(report.folds) == 4
    assert sum(map(sum, report.confusion)) == 80
    assert report.counts == [40, 40]
    sizes = [rows for rows, _ in report.curve]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 60
    described = json.loads(json.dumps(report.to_dict()))
    assert described["accuracy"] == report.accuracy
    assert "Learning curve" in training_page(report, "Chance", model.top_ngrams(3))


def test_flipped_labels_are_the_most_suspicious() -> None:
    flipped = {4, 17, 40}
    labels = [
        {"good": "bad", "bad": "good"}[one] if at in flipped else one
        for at, one in enumerate(LABELS)
    ]
    report = noppa.Classifier(folds=3).fit(TEXTS, labels).report(suspicious=3)
    assert {one.row for one in report.suspicious} == flipped
    assert all(one.suggested == LABELS[one.row] for one in report.suspicious)
    assert all(one.probability < 0.5 for one in report.suspicious)


def test_repeated_texts_with_different_labels_are_found() -> None:
    texts = [*TEXTS, TEXTS[0].upper(), TEXTS[1]]
    report = noppa.Classifier(folds=3).fit(texts, [*LABELS, "bad", LABELS[1]]).report(audit=True)
    assert report.conflicts is not None
    assert [(one.row, one.suggested) for one in report.conflicts if one.row >= 60] == [(60, "good")]
    numbered = noppa.Classifier(folds=3).fit(texts, [*LABELS, "bad", LABELS[1]])
    shown = numbered.report(audit=True, numbers=range(100, 162)).conflicts
    assert shown is not None
    assert "record 100" in shown[-1].reason


@pytest.mark.parametrize("softmax", [False, True])
def test_a_temperature_mends_logits_that_are_too_sure(softmax: bool) -> None:
    random = np.random.default_rng(0)
    columns = 3 if softmax else 1
    logits = random.normal(size=(4000, columns)) * 2
    noise = random.gumbel(size=(4000, columns)) if softmax else random.logistic(size=(4000, 1))
    truth = np.eye(3)[(logits + noise).argmax(axis=1)] if softmax else logits + noise > 0
    targets = truth.astype(np.float32)
    found = fit_temperature(4 * logits, targets, softmax)
    assert 3.4 < found < 4.6
    sure = calibration_error(reliability(4 * logits, truth > 0, softmax))
    mended = calibration_error(reliability(4 * logits / found, truth > 0, softmax))
    assert mended < 0.03 < sure
    assert (
        row_losses(4 * logits / found, targets, softmax).mean()
        < row_losses(4 * logits, targets, softmax).mean()
    )


def test_the_strongest_ngrams_are_those_that_tell_classes_apart() -> None:
    model = noppa.Classifier(folds=2).fit(TEXTS, LABELS)
    top = model.top_ngrams(5)
    assert {word for word, _ in top["bad"]} & {"dull", "grey", "poor", "cold", "silly"}
    assert [value for _, value in top["good"]] == sorted(
        (value for _, value in top["good"]), reverse=True
    )
    with pytest.raises(ParameterError, match="single texts"):
        noppa.Classifier(folds=2).fit((TEXTS, TEXTS), LABELS).top_ngrams()


def test_nearest_rows_are_kept_when_asked(tmp_path: Path) -> None:
    noppa.Classifier(folds=2, keep_texts=True).fit(TEXTS, LABELS).save(tmp_path / "model")
    model = noppa.load_classifier(tmp_path / "model")
    first = model.nearest(TEXTS[7], 2)[0]
    assert (first.text, first.label) == (TEXTS[7], LABELS[7])
    assert first.cosine > 0.9999
    with pytest.raises(NotFittedError, match="right after fit"):
        model.report()
    with pytest.raises(ParameterError, match="keep_texts=True"):
        noppa.Classifier(folds=2).fit(TEXTS, LABELS).nearest("a film")


def test_labels_without_rows(tmp_path: Path) -> None:
    described = {"sport": ["football and tennis", "a game"], "money": "banks and shares"}
    model = noppa.Classifier.zero_shot(described)
    texts = ["she won the tennis game", "the bank sells shares"]
    assert model.predict(texts).tolist() == ["sport", "money"]
    explained = model.explain(texts[0])
    assert np.abs(explained.total() - explained.logits).max() < 1e-6
    model.save(tmp_path / "model")
    again = noppa.load_classifier(tmp_path / "model")
    assert again.predict_proba(texts).tobytes() == model.predict_proba(texts).tobytes()
    assert noppa.Classifier.zero_shot(["sport", "money", "weather"]).predict_proba(texts).shape == (
        2,
        3,
    )
    with pytest.raises(ParameterError, match="at least two labels"):
        noppa.Classifier.zero_shot(["sport"])
    with pytest.raises(ParameterError, match="no word of the label"):
        noppa.Classifier.zero_shot({"a": "\u2603\u2603", "b": "money"}, "similarity")


def test_a_decision_as_a_picture(tmp_path: Path) -> None:
    model = noppa.Classifier(folds=2).fit(TOPIC_TEXTS, TOPICS)
    explained = model.explain(TOPIC_TEXTS[0])
    for label in (None, "cake"):
        bars = decision(explained, label, most=3)
        at = explained.class_index(label)
        assert np.isclose(bars.values.sum(), explained.logits[at], atol=1e-6)
        assert len(bars.names) == 4
    bars.save(tmp_path / "why.html")
    assert "share of the logit" in (tmp_path / "why.html").read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="no class 'pie'"):
        explained.class_index("pie")


def test_the_most_frequent_ngrams_are_kept() -> None:
    texts = ["a b c", "a b d", "a e", "b c a b"]
    known = learn_ngrams(texts, None, (1, 3), 2, 100)
    assert known is not None
    assert known.names == ["a", "b", "c", "a b", "b c"]
    few = learn_ngrams(texts, None, (1, 3), 2, 3)
    assert few is not None
    assert few.names == ["a", "b", "a b"]
    assert learn_ngrams(["a", "b"], None, (1, 2), 2, 10) is None
    pairs = learn_ngrams(texts, None, (2, 2), 2, 100)
    assert pairs is not None
    assert pairs.names == ["a b", "b c"]
    rows = pairs.counted(["b c b c x", ""], None, 1)
    assert (rows.ids.tolist(), rows.values.tolist(), rows.offsets.tolist()) == (
        [1],
        [2.0],
        [0, 1, 1],
    )


def test_sparse_products_agree_with_the_twin() -> None:
    random = np.random.default_rng(0)
    rows = SparseRows.from_triplets(
        random.integers(0, 50, 300), random.integers(0, 97, 300), random.normal(size=300), (50, 97)
    )
    for columns in (1, 7, 33):
        matrix = random.normal(size=(97, columns)).astype(np.float32)
        twin = oracle.sparse_product(rows.values, rows.ids, rows.offsets, matrix, 1)
        for threads in (1, 3):
            assert np.allclose(rows.times(matrix, threads), twin, atol=1e-5)
    dense = np.zeros((50, 97))
    dense[rows.row_numbers, rows.ids] = rows.values
    assert np.allclose(rows.transposed.times(np.eye(50, dtype=np.float32), 1), dense.T)
    with pytest.raises((ValueError, IndexError)):
        kernels.sparse_product(rows.values, rows.ids, rows.offsets, matrix[:5], 1)


def test_memory_that_would_not_suffice_is_said_before_it_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_module, "available_memory", lambda: 1000)
    with pytest.raises(ParameterError, match=r"needs about .* GB of memory"):
        noppa.Classifier().fit(TEXTS, LABELS)
    monkeypatch.setattr(label_module, "available_memory", lambda: None)
    noppa.Classifier(folds=2).fit(TEXTS, LABELS)


@pytest.mark.parametrize("shape", ["(0, 4611686018427387904)", "(0, 9223372036854775808)"])
def test_an_empty_array_of_any_shape_is_refused(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "a.npy"
    storage.write_array(path, np.zeros((0, 1), np.float32))
    content = path.read_bytes()
    longer = content.replace(b"(0, 1), }", f"{shape}, }}".encode())
    cut = longer[:-1].rstrip(b" ")
    changed = cut.ljust(len(content) - 1) + b"\n"
    path.write_bytes(changed)
    with pytest.raises(FileError, match="does not fit"):
        storage._parse_array(path, changed, "f4")
