"""`Classifier`: learning, predicting, explaining, saving, on small made data."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

import noppa
from noppa.errors import FileError, InputError, NotFittedError, ParameterError

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


def test_saved_and_loaded(fitted: noppa.Classifier, kind: str, tmp_path: Path) -> None:
    texts, _ = KINDS[kind]
    fitted.save(tmp_path / "model")
    again = noppa.load_classifier(tmp_path / "model")
    assert again.predict_proba(texts).tobytes() == fitted.predict_proba(texts).tobytes()
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert again.predict(first(texts, 2)).tolist() == fitted.predict(first(texts, 2)).tolist()


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
    plain = noppa.Classifier(l2_vectors=model.l2_[0], l2_ngrams=model.l2_[1], folds=2).fit(
        TEXTS, LABELS
    )
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
    copy = model.__sklearn_clone__()
    assert copy.get_params() == model.get_params()
    assert not copy.__sklearn_is_fitted__()


def test_a_pickled_classifier_predicts(fitted: noppa.Classifier, kind: str) -> None:
    texts, _ = KINDS[kind]
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_proba(texts).tobytes() == fitted.predict_proba(texts).tobytes()
    assert "training_" not in vars(again)


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
