"""scikit-learn: what a transformer of texts must do in its machinery.

Also installs: pandas>=2
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pandas
import pytest
import sklearn.exceptions
from sklearn.base import clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import noppa
from noppa.errors import InputError, ParameterError
from noppa.integrations.sklearn import NoppaTransformer, pipeline_of
from tests.conftest import made_texts, made_words

GOOD = "fine great lovely superb brilliant charming".split()
BAD = "dull poor awful boring terrible clumsy".split()
THINGS = "film book play song meal".split()
TEXTS = [f"a {word} {thing}" for thing in THINGS for word in (*GOOD, *BAD)]
LABELS = [int(word in GOOD) for _ in THINGS for word in (*GOOD, *BAD)]


def test_the_embedded_model_as_it_is() -> None:
    rows = NoppaTransformer().fit_transform(TEXTS)
    np.testing.assert_array_equal(rows, noppa.load().encode(TEXTS))
    assert rows.dtype == np.float32
    unit = NoppaTransformer("similarity", normalize=True, threads=1).fit_transform(TEXTS)
    np.testing.assert_array_equal(unit, noppa.load("similarity").encode(TEXTS, normalize=True))
    np.testing.assert_array_equal(NoppaTransformer().fit_transform(iter(TEXTS)), rows)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved encoder of few dimensions, which is fitted in no time."""
    words = noppa.load().words.columns(0, 24)
    path = tmp_path_factory.mktemp("sklearn") / "small"
    noppa.Encoder(words, noppa.NoPPA(k=0)).save(path)
    return path


def test_a_grid_over_a_and_k_in_a_pipeline(small: Path) -> None:
    pipeline = make_pipeline(NoppaTransformer(small, threads=1), LogisticRegression(C=10))
    grid = {"noppatransformer__a": [None, 0.001], "noppatransformer__k": [None, 3]}
    search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise").fit(TEXTS, LABELS)
    assert search.best_score_ > 0.8
    assert len(search.cv_results_["params"]) == 4
    assert search.best_estimator_.predict(["a superb meal", "an awful song"]).tolist() == [1, 0]
    settings = ({}, {"a": 0.001}, {"k": 3}, {"a": 0.001, "k": 3})
    made = [NoppaTransformer(small, **setting).fit(TEXTS) for setting in settings]
    assert len({one.transform(TEXTS[:4]).tobytes() for one in made}) == len(settings)


def test_refitting_learns_from_the_training_texts_alone() -> None:
    words = made_words()
    texts, others = made_texts(60, words), made_texts(60, words, seed=1)
    saved = noppa.Encoder(words, noppa.NoPPA(a=0.05, k=2)).fit(others)
    for made in (NoppaTransformer(saved, a=0.1), NoppaTransformer(saved, k=3)):
        made.fit(texts)
        method = noppa.NoPPA(a=made.a or 0.05, k=made.k or 2)
        wanted = noppa.Encoder(words, method).fit(texts).encode(others)
        np.testing.assert_array_equal(made.transform(others), wanted)
    kept = NoppaTransformer(saved).fit(texts)
    np.testing.assert_array_equal(kept.transform(texts), saved.encode(texts))


def test_an_encoder_that_was_never_fitted_is_fitted_and_not_changed() -> None:
    words = made_words()
    texts = made_texts(60, words)
    given = noppa.Encoder(words, noppa.NoPPA(k=2))
    rows = NoppaTransformer(given).fit_transform(texts)
    with pytest.raises(noppa.NoppaError, match="fit"):
        given.encode(texts)
    np.testing.assert_array_equal(
        rows, noppa.Encoder(words, noppa.NoPPA(k=2)).fit(texts).encode(texts)
    )


def test_clones_share_the_encoder_and_know_nothing_of_the_fit() -> None:
    given = noppa.Encoder(made_words(), noppa.NoPPA(k=0))
    made = NoppaTransformer(given, a=0.2, on_error="empty").fit(["a girl"])
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    assert copy.model is given
    assert not hasattr(copy, "encoder_")
    with pytest.raises(sklearn.exceptions.NotFittedError):
        copy.transform(["a girl"])


def test_frames_with_names() -> None:
    made = NoppaTransformer().set_output(transform="pandas")
    frame = made.fit_transform(pandas.Series(TEXTS[:3], index=[5, 3, 4]))
    assert list(frame.columns) == list(made.get_feature_names_out())
    assert list(frame.columns[:2]) == ["noppa_0", "noppa_1"]
    assert list(frame.index) == [5, 3, 4]
    table = pandas.DataFrame({"text": TEXTS, "year": range(len(TEXTS))})
    both = ColumnTransformer(
        [("text", NoppaTransformer(), "text"), ("year", "passthrough", ["year"])]
    )
    assert both.fit_transform(table).shape == (len(TEXTS), noppa.load().dim + 1)


def test_dumped_and_loaded_in_another_process(tmp_path: Path, small: Path) -> None:
    """A preset travels by its name, a refitted encoder with all it needs."""
    made = [NoppaTransformer().fit(TEXTS), NoppaTransformer(small, k=3).fit(TEXTS)]
    for number, one in enumerate(made):
        joblib.dump(one, tmp_path / f"{number}.joblib")
    program = (
        "import joblib\n"
        "for number in range(2): print(joblib.load(f'{number}.joblib').transform(['a cake']).sum())"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = [float(line) for line in run.stdout.split()]
    wanted = [float(one.transform(["a cake"]).sum()) for one in made]
    assert found == pytest.approx(wanted, rel=1e-5)
    assert (tmp_path / "0.joblib").stat().st_size < 2000


def test_what_is_wrong_is_one_sentence() -> None:
    with pytest.raises(ParameterError, match=r"Average\(\) has no parameter a"):
        NoppaTransformer("similarity", a=0.1).fit(TEXTS)
    with pytest.raises(ParameterError, match="a and k are parameters"):
        NoppaTransformer(noppa.external(lambda texts: [[1.0]] * len(texts)), k=1).fit(TEXTS)
    with pytest.raises(InputError, match="item 1 is missing"):
        NoppaTransformer().fit(["a", None])
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        rows = NoppaTransformer(on_error="empty").fit_transform(["a", None])
    assert rows[0].any()
    assert not rows[1].any()


def test_an_encoder_from_elsewhere() -> None:
    other = noppa.external(lambda texts: [[len(text), 1.0] for text in texts])
    rows = NoppaTransformer(other).fit_transform(["abc", "a"])
    assert rows.tolist() == [[3, 1], [1, 1]]


#: scikit-learn's own checks that hold for what takes texts and no table of numbers. The others feed numbers.
CHECKS = (
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_mixin_order",
    "check_valid_tag_types",
    "check_estimators_unfitted",
)


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_scikit_learn(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sklearn.exceptions.SkipTestWarning)
        getattr(estimator_checks, name)("NoppaTransformer", NoppaTransformer())


REVIEWS = [f"a {word} film" for word in ("lovely", "bright", "fine", "dull", "grey", "poor")] * 6
OPINIONS = (["good"] * 3 + ["bad"] * 3) * 6


def test_the_classifier_is_one_of_scikit_learns() -> None:
    model = noppa.Classifier(folds=2)
    assert is_classifier(model)
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(model, {"ngrams": [(1, 1), None]}, cv=3).fit(REVIEWS, OPINIONS)
    assert search.best_score_ > 0.9
    assert cross_val_score(make_pipeline(model), REVIEWS, OPINIONS, cv=3).min() > 0.9
    assert search.best_estimator_.predict_proba(["a lovely film"]).shape == (1, 2)


@pytest.mark.parametrize("labels", [OPINIONS, ["good", "good", "fine", "bad", "bad", "poor"] * 6])
def test_a_classifier_becomes_a_pipeline(labels: list[str]) -> None:
    model = noppa.Classifier(folds=2).fit(REVIEWS, labels)
    pipeline = pipeline_of(model)
    texts = ["a lovely dull film", "grey grey", "nothing known: xqzt"]
    np.testing.assert_allclose(pipeline.predict_proba(texts), model.predict_proba(texts), atol=1e-6)
    assert pipeline.predict(texts).tolist() == model.predict(texts).tolist()
    several = noppa.Classifier(folds=2).fit(REVIEWS, [[one] for one in OPINIONS])
    with pytest.raises(ParameterError, match="several labels per text"):
        pipeline_of(several)
