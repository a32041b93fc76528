"""Train FastSent and Sent2Vec natively, and compare with the float64 oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.methods.trained import with_pairs
from tests import oracle

from .conftest import made_words

REAL = {_native: np.float32, oracle: np.float64}


def after_training(module: Any, dim: int, buckets: int, adjacent: bool, itself: bool) -> Any:
    rng = np.random.default_rng(dim)
    words, sizes = 11, (4, 0, 1, 7, 2, 9)
    source = rng.normal(size=(words + buckets, dim)).astype(REAL[module])
    target = rng.normal(size=(words, dim)).astype(REAL[module])
    keep = rng.uniform(0.3, 1, words).astype(np.float32)
    noise = rng.integers(0, words, 64).astype(np.int32)
    ids = rng.integers(0, words, sum(sizes)).astype(np.int32)
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    for seed in (1, 2):
        module.train(source, target, keep, noise, 3, 0.1, seed, adjacent, itself, ids, offsets)
    return source, target


@pytest.mark.parametrize("dim", [1, 7, 50, 300])
@pytest.mark.parametrize(
    ("buckets", "adjacent", "itself"),
    [(0, False, False), (13, False, False), (0, True, False), (0, True, True)],
)
def test_native_equals_the_oracle(dim: int, buckets: int, adjacent: bool, itself: bool) -> None:
    found = after_training(_native, dim, buckets, adjacent, itself)
    wanted = after_training(oracle, dim, buckets, adjacent, itself)
    for a, b in zip(found, wanted, strict=True):
        assert np.abs(a - b).max() < 1e-4 * np.abs(b).max()


@pytest.mark.parametrize("method", [noppa.FastSent(epochs=30, rate=0.1), noppa.Sent2Vec(epochs=30)])
def test_words_of_one_topic_come_together(method: Any) -> None:
    """Two topics of random words; sentences and their neighbours stay within one."""
    words = made_words(dim=20, extra=40)
    rng = np.random.default_rng(3)
    topics = [[f"w{number}" for number in range(first, first + 20)] for first in (0, 20)]
    texts = [" ".join(rng.choice(topics[at // 20 % 2], 6)) for at in range(400)]
    encoder, plain = noppa.Encoder(words, method).fit(texts), noppa.Encoder(words, noppa.Average())
    probes = [" ".join(rng.choice(topics[at % 2], 6)) for at in range(40)]

    def apart(model: noppa.Encoder) -> float:
        cosines = model.similarity(probes, probes)
        same = np.equal.outer(np.arange(40) % 2, np.arange(40) % 2)
        return float(cosines[same].mean() - cosines[~same].mean())

    assert apart(encoder) > apart(plain) + 0.2


def test_the_seed_decides() -> None:
    texts = ["the girl eats a cake", "a boy is eating cake", "the boy eats"] * 10
    first, again, other = (
        noppa.Encoder(made_words(), noppa.Sent2Vec(seed=seed)).fit(texts).encode(texts)
        for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_pairs_of_neighbours() -> None:
    # Four words, the third not in the corpus, and the zero word.
    number_of = np.array([0, 1, -1, 2, -1])
    ids = np.array([0, 1, -1, 3, 2, 4, 1], np.int32)
    features, bounds = with_pairs(ids, np.array([0, 2, 2, 7]), number_of, 100)
    pair = 4 + (0 * 116049371 + 1) % 100
    assert features.tolist() == [0, 1, pair, 3, 2, 104, 1]
    assert bounds.tolist() == [0, 3, 3, 7]


def test_too_little_text() -> None:
    with pytest.raises(noppa.NoppaError, match="the text has 1 distinct known words"):
        noppa.Encoder(made_words(), noppa.FastSent()).fit(["girl"])
