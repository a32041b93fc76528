"""`Classifier` on small made data: learning, predicting, explaining, saving, reports, calibration, zero-shot labels."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import noppa
from noppa import _native as kernels
from noppa.classify import labels as label_module
from noppa.classify.features import SparseRows, learn_ngrams
from noppa.classify.logistic import fit_temperature, row_losses
from noppa.classify.report import calibration_error, reliability
from noppa.errors import FileError, InputError, NotFittedError, ParameterError
from noppa.plot import decision, training_page
from tests import oracle

GOOD = ["lovely", "bright", "fine", "warm", "clever"]
BAD = ["dull", "grey", "poor", "cold", "silly"]
NOUNS = ["film", "story", "song", "book", "play", "cake"]


def made(count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Short reviews whose adjectives tell the label."""
    random = np.random.default_rng(seed)
    texts, labels = [], []
    for at in range(count):
        adjectives = (GOOD, BAD)[at % 2]
        a, b = random.choice(adjectives, 2)
        texts.append(f"a {a} {random.choice(NOUNS)} and a {b} {random.choice(NOUNS)}")
        labels.append(("good", "bad")[at % 2])
    return texts, labels


TEXTS, LABELS = made(60)
TOPICS = [{0: "film", 1: "song", 2: "cake"}[at % 3] for at in range(60)]
TOPIC_TEXTS = [f"a {(GOOD + BAD)[at % 10]} {topic} today" for at, topic in enumerate(TOPICS)]
#: One classifier of each kind: texts and labels.
KINDS: dict[str, tuple[Any, Any]] = {
    "two": (TEXTS, LABELS),
    "three": (TOPIC_TEXTS, TOPICS),
    "sets": (TOPIC_TEXTS, [[topic, "early"] if at % 2 else [topic] for at, topic in enumerate(TOPICS)]),
    "pairs": (
        (TEXTS, [TEXTS[at - at % 2] for at in range(60)]),
        ["other" if at % 2 else "same" for at in range(60)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def fitted(kind: str) -> noppa.Classifier:
    texts, labels = KINDS[kind]
    return noppa.Classifier(folds=3).fit(texts, labels)


def first(texts: Any, count: int) -> Any:
    return tuple(side[:count] for side in texts) if isinstance(texts, tuple) else texts[:count]


def test_it_learns(fitted: noppa.Classifier, kind: str) -> None:
    texts, labels = KINDS[kind]
    assert fitted.score(texts, labels) > 0.9
    p = fitted.predict_proba(texts)
    assert p.shape == (60, len(fitted.classes_))
    if kind != "sets":
        assert np.allclose(p.sum(axis=1), 1)
        assert (fitted.classes_[p.argmax(axis=1)] == fitted.predict(texts)).all()


def test_the_same_bytes_in_any_batch_and_thread_count(fitted: noppa.Classifier, kind: str) -> None:
    texts, _ = KINDS[kind]
    whole = fitted.predict_proba(texts)
    paired = isinstance(texts, tuple)
    items = list(zip(*texts, strict=True)) if paired else texts
    alone = np.concatenate([fitted.predict_proba([item]) for item in items])
    assert alone.tobytes() == whole.tobytes()
    threaded = noppa.Classifier(threads=3)
    threaded._fitted = fitted.contents
    assert threaded.predict_proba(texts).tobytes() == whole.tobytes()


def test_shares_add_up_to_the_logit(fitted: noppa.Classifier, kind: str) -> None:
    texts, _ = KINDS[kind]
    is_pair = isinstance(texts, tuple)
    one = (texts[0][0], texts[1][1]) if is_pair else texts[0] + " Isn't it unboundedly fun?"
    decision = fitted.explain(one)
    assert np.abs(decision.total() - decision.logits).max() < 1e-6
    assert np.abs(decision.rest["rounding of vectors to float32"]).max() < 1e-3
    spread = sum(shares.sum(axis=0) for shares in decision.token_shares())
    assert np.allclose(spread + sum(decision.rest.values()), decision.logits, atol=1e-6)
    reasons = decision.reasons()
    assert np.isclose(sum(share for _, share in reasons), decision.logits[decision.best], atol=1e-6)
    p = fitted.predict_proba([one])[0]
    assert (decision.probabilities == p).all()
    assert decision.to_dict()["probabilities"] == p.tolist()
    assert str(decision.label) in decision._repr_html_()


def test_saved_and_pickled(fitted: noppa.Classifier, kind: str, tmp_path: Path) -> None:
    texts, _ = KINDS[kind]
    fitted.save(tmp_path / "model")
    pickled = pickle.loads(pickle.dumps(fitted))
    assert "training_" not in vars(pickled)
    for again in (noppa.load_classifier(tmp_path / "model"), pickled):
        assert again.predict_proba(texts).tobytes() == fitted.predict_proba(texts).tobytes()
        assert again.predict(texts).tolist() == fitted.predict(texts).tolist()


def test_an_encoder_of_ones_own_is_saved_inside(tmp_path: Path) -> None:
    words = noppa.WordVectors([*GOOD, *BAD], np.eye(10))
    encoder = noppa.Encoder(words, noppa.Average())
    model = noppa.Classifier(encoder, folds=2).fit(TEXTS, LABELS)
    model.save(tmp_path / "model")
    again = noppa.load_classifier(tmp_path / "model")
    assert again.predict_proba(TEXTS).tobytes() == model.predict_proba(TEXTS).tobytes()


@pytest.mark.parametrize("encoder", [False, "similarity"])
@pytest.mark.parametrize("ngrams", [None, (1, 1), (2, 3)])
def test_each_kind_of_feature_alone(encoder: Any, ngrams: Any) -> None:
    model = noppa.Classifier(encoder, ngrams, folds=2)
    if encoder is False and ngrams is None:
        with pytest.raises(ParameterError, match="nothing to learn from"):
            model.fit(TEXTS, LABELS)
        return
    model.fit(TEXTS, LABELS)
    assert model.score(TEXTS, LABELS) > 0.9
    decision = model.explain(TEXTS[0])
    assert np.abs(decision.total() - decision.logits).max() < 1e-6


@pytest.mark.parametrize(
    ("labels", "dtype"), [(lambda at: at % 2 == 0, bool), (lambda at: at % 3 - 1, int), (lambda at: at % 2 / 2, float)]
)  # fmt: skip
def test_labels_keep_their_type(labels: Any, dtype: type, tmp_path: Path) -> None:
    y = [labels(at) for at in range(60)]
    model = noppa.Classifier(folds=2).fit(TEXTS, y)
    model.save(tmp_path / "model")
    predicted = noppa.load_classifier(tmp_path / "model").predict(TEXTS[:3]).tolist()
    assert {type(one) for one in predicted} == {dtype}
    assert set(predicted) <= set(y)


@pytest.mark.parametrize(
    ("texts", "labels", "says"),
    [
        (TEXTS, ["same"] * 60, "every row has the label 'same'"),
        (TEXTS, ["once", *LABELS[1:]], "the class 'once' has 1 row:"),
        (TEXTS, LABELS[1:], "there are 60 texts and 59 labels"),
        (TEXTS, [None, *LABELS[1:]], "label 0 is missing"),
        (TEXTS, list(map(str, range(60))), "60 different labels"),
        (TEXTS, [1, "a"] * 30, "several types"),
        ([None, *TEXTS[1:]], LABELS, "item 0 is missing"),
        ([""] * 60, LABELS, "every text is empty"),
        ([], [], "there are none"),
        ("a text", LABELS, "a single text was given"),
        ((TEXTS, TEXTS[1:]), LABELS, "60 and 59"),
    ],
)
def test_what_cannot_be_learnt_is_said(texts: Any, labels: Any, says: str) -> None:
    with pytest.raises((InputError, ParameterError), match=says):
        noppa.Classifier().fit(texts, labels)


def test_what_cannot_be_predicted_is_said(fitted: noppa.Classifier, kind: str) -> None:
    with pytest.raises(InputError, match="pairs" if kind == "pairs" else "single texts"):
        fitted.predict(["one text"] if kind == "pairs" else [("two", "texts")])
    texts, _ = KINDS[kind]
    with pytest.raises(InputError, match="not trained on"):
        fitted.score(first(texts, 1), [["new"]] if kind == "sets" else ["new"])
    with pytest.raises(NotFittedError, match="call fit"):
        noppa.Classifier().predict(["a"])
    assert fitted.predict_proba([]).shape == (0, len(fitted.classes_))


def test_a_damaged_folder_is_refused(tmp_path: Path) -> None:
    noppa.Classifier(folds=2).fit(TEXTS, LABELS).save(tmp_path / "model")
    weights = tmp_path / "model" / "weights.npy"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(FileError, match="weights"):
        noppa.load_classifier(tmp_path / "model")
    with pytest.raises(FileError, match="not a saved classifier"):
        noppa.load_classifier(noppa.load().path)  # type: ignore[arg-type]


def test_development_rows_choose_and_are_not_trained_on() -> None:
    dev = (["wonderful wonderful"] * 4, ["bad"] * 4)
    model = noppa.Classifier().fit(TEXTS, LABELS, dev=dev)
    choice = model.training_.choice
    assert (choice.fold_of[:60] == -1).all()
    assert (choice.fold_of[60:] == 0).all()
    vectors, ngrams = choice.l2
    plain = noppa.Classifier(l2_vectors=vectors, l2_ngrams=ngrams, folds=2).fit(TEXTS, LABELS)
    # The same model but for the temperature and its vocabulary.
    ratio = plain.decision_function(TEXTS) / model.decision_function(TEXTS)
    assert ratio.std() / abs(ratio.mean()) < 0.2


def test_scikit_learns_conventions() -> None:
    model = noppa.Classifier(ngrams=(1, 1), folds=2)
    assert model.get_params()["ngrams"] == (1, 1)
    assert model.set_params(folds=3) is model
    assert model.folds == 3
    assert repr(model) == "Classifier(ngrams=(1, 1), folds=3)"
    with pytest.raises(ParameterError, match="no parameter 'fold'"):
        model.set_params(fold=3)


def test_texts_and_labels_of_pandas_and_numpy() -> None:
    series = pandas.Series(TEXTS), pandas.Series(LABELS, dtype="category")
    for texts, labels in (
        series,
        (np.array(TEXTS, object), np.array(LABELS)),
        (iter(TEXTS), [*np.array(LABELS)]),
    ):
        assert noppa.Classifier(folds=2).fit(texts, labels).classes_.tolist() == ["bad", "good"]
    with pytest.raises(InputError, match="label 1 is missing"):
        noppa.Classifier().fit(TEXTS, pandas.Series(["a", None] * 30, dtype="string"))


# Reports, audits and explanations; labels without rows


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


def test_a_report_needs_the_training_rows(tmp_path: Path) -> None:
    noppa.Classifier(folds=2).fit(TEXTS, LABELS).save(tmp_path / "model")
    with pytest.raises(NotFittedError, match="right after fit"):
        noppa.load_classifier(tmp_path / "model").report()


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
