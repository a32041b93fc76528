"""MTEB: its own runner, on local data, without a network."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")

import mteb
from mteb.models.models_protocols import EncoderProtocol

import noppa
from noppa.integrations.mteb import NoppaEncoder, classification_task, sts_task
from noppa.paper import TASKS, Fixed, score
from noppa.paper.tasks import read
from tests.conftest import made_texts, made_words

GOOD = "fine great lovely superb brilliant charming".split()
BAD = "dull poor awful boring terrible clumsy".split()


def labelled(things: str) -> tuple[list[str], list[int]]:
    texts = [f"a {word} {thing}" for thing in things.split() for word in (*GOOD, *BAD)]
    return texts, [int(text.split()[1] in GOOD) for text in texts]


@pytest.fixture
def cache(tmp_path: Path) -> mteb.ResultCache:
    return mteb.ResultCache(cache_path=tmp_path)


def test_a_classification_task_through_their_runner() -> None:
    task = classification_task("Reviews", labelled("film book play"), labelled("song meal"))
    assert isinstance(NoppaEncoder(), EncoderProtocol)
    (result,) = mteb.evaluate(
        NoppaEncoder(), task, cache=None, show_progress_bar=False
    ).task_results
    scores = result.scores["test"][0]
    assert result.task_name == "Reviews"
    assert scores["accuracy"] > 0.85
    assert len(scores["scores_per_experiment"]) == 10


def test_a_similarity_task_is_our_own_correlation() -> None:
    left = ["a girl eats a cake", "a man plays a guitar", "the train was late", "a dog runs"]
    right = ["a girl is eating", "someone plays music", "a cat sleeps", "a dog runs fast"]
    task = sts_task("Pairs", left, right, [4, 3, 0, 5])
    encoder = noppa.load("similarity")
    (result,) = mteb.evaluate(
        NoppaEncoder("similarity"), task, cache=None, show_progress_bar=False
    ).task_results
    cosines = np.diag(encoder.similarity(left, right))
    ranks = [np.argsort(np.argsort(values)) for values in (cosines, [4, 3, 0, 5])]
    assert result.get_score() == pytest.approx(np.corrcoef(*ranks)[0, 1])
    pearson = np.corrcoef(cosines, [4, 3, 0, 5])[0, 1]
    assert result.scores["test"][0]["cosine_pearson"] == pytest.approx(pearson, abs=1e-5)


def test_results_of_two_models_never_mix(cache: mteb.ResultCache, tmp_path: Path) -> None:
    texts = made_texts(8, made_words())
    task = sts_task("Made", texts[:4], texts[4:], [0, 1, 2, 3])
    encoders = [noppa.Encoder(made_words(seed=seed), noppa.Average()) for seed in (0, 1)]
    encoders[0].save(tmp_path / "saved")
    models = [NoppaEncoder(model) for model in (tmp_path / "saved", tmp_path / "saved", *encoders)]
    revisions = [model.mteb_model_meta.revision for model in models]
    assert revisions[0] == revisions[1]
    assert len(set(revisions)) == 3
    found = [
        mteb.evaluate(model, task, cache=cache, show_progress_bar=False).task_results[0].get_score()
        for model in models
    ]
    assert found[0] == found[1] == found[2] != found[3]
    assert NoppaEncoder().mteb_model_meta.name == "noppa/default"
    assert NoppaEncoder(name="mine").mteb_model_meta.name == "noppa/mine"


def test_sts_benchmark_is_our_own_evaluation(shared: Callable[..., Path]) -> None:
    data = shared("senteval")
    task = TASKS["STS-B"]
    rows = read(data, task)
    ours = score(task, rows, Fixed(noppa.load("similarity"), "similarity")).score
    test = rows["test"]
    theirs = sts_task(
        "STS-B",
        [row.texts[0] for row in test],
        [row.texts[1] for row in test],
        [row.label for row in test],
    )
    (result,) = mteb.evaluate(
        NoppaEncoder("similarity"), theirs, cache=None, show_progress_bar=False
    ).task_results
    assert 100 * result.get_score() == pytest.approx(ours, abs=0.01)
