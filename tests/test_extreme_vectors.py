"""Word vectors as large and as small as they may be: every method and refinement gives finite vectors and explanations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noppa
from noppa import METHODS
from noppa.constants import LARGEST_VALUE as LARGEST
from noppa.encoder.encoder import Encoder
from noppa.errors import NoppaError, ParameterError
from noppa.refine import CommonComponents, Moments, NoiseRemoval, Normalize, Whitening

pytestmark = pytest.mark.filterwarnings("ignore::noppa.errors.NoppaWarning")

TEXTS = ["a b c", "b c d e", "a d g h", "c e a b f", "e f g", "d d a h", "h", "b b"]
#: Words of which every second one of `MATRICES["mixed"]` is tiny.
TINY = ["b b", "b d", "b f h", "d h f", "f", "b d f h", "h h d"]

NORMAL = np.random.default_rng(1).normal(size=(8, 6))
MATRICES = {
    "largest": np.sign(NORMAL) * LARGEST,
    "mixed": NORMAL * np.where(np.arange(8) % 2, 1e-38, LARGEST / 4)[:, None],
    "subnormal": NORMAL * 1e-44,
    "zeros": NORMAL * 0,
    "alike": np.full((8, 6), 3.0),
    "one number": np.pad([[LARGEST]], ((0, 7), (0, 5))),
}
METHODS_TRIED = [
    noppa.NoPPA(k=2),
    noppa.NoPPA(k=2, noise="reference", parts=(*noppa.NoPPA.RICH, "std"), kernel="square"),
    noppa.NoPPA(k=0, parts=noppa.NoPPA.RICH, attend_self=False, a=1e-30),
    noppa.Average(),
    noppa.TfIdf(),
    noppa.SIF(a=1e30),
    noppa.USIF(m=2, a=0.1),
    noppa.USIF(m=2, a=0.1, normalize="dimension"),
    noppa.DCT(k=4),
    noppa.VLAWE(k=3, power=4),
    noppa.VLAWE(k=2, pca=3),
    noppa.S3E(k=3),
    noppa.GEM(m=2, k=3, h=2),
    noppa.GEM(m=2, k=3, h=2, t=100),
    noppa.FastSent(epochs=1),
    noppa.Sent2Vec(buckets=8, epochs=2, rate=100),
]
REFINEMENTS: list[Any] = [
    (),
    (Whitening(),),
    (Whitening(3, strength=0.5, centred=False, floor=1e-30), Normalize()),
    (NoiseRemoval(1, "reference"), CommonComponents(1, centred=True, weighted=True)),
]


def test_every_method_is_tried() -> None:
    assert {type(method) for method in METHODS_TRIED} == set(METHODS.values())


@pytest.mark.parametrize("refinements", REFINEMENTS, ids=str)
@pytest.mark.parametrize("name", MATRICES)
def test_vectors_and_explanations_are_finite(name: str, refinements: Any) -> None:
    words = noppa.WordVectors(
        [*"abcdefgh"], MATRICES[name], [0.2, 0.2, 0.2, 0.1, 0.1, 0.1, 0.05, 0.05]
    )
    fitted = 0
    for method in METHODS_TRIED:
        for corpus in (TEXTS, TINY) if name == "mixed" else (TEXTS,):
            try:
                encoder = Encoder(words, method, refinements).fit(corpus, threads=1)
            except NoppaError:
                continue
            fitted += 1
            assert np.isfinite(encoder.encode(TEXTS + TINY, threads=1)).all(), method
            _assert_finite(encoder, method)
    assert fitted >= len(METHODS_TRIED) - 4


def _assert_finite(encoder: Encoder, method: Any) -> None:
    one, other = encoder.explain("a b c zzz"), encoder.explain("b d")
    pair = encoder.explain_pair("b d", "a c")
    assert np.isfinite([pair.cosine, *pair.pairs.ravel()]).all(), method
    for it in (one, other):
        named = [*it.remainders.values(), *it.constants.values()]
        shares = [step.share for step in it.steps if step.share is not None]
        arrays = (
            it.contributions,
            it.pooled,
            it.shares,
            it.pairs,
            it.cosines,
            it.refined,
            it.vector,
        )
        for array in (*arrays, *named, np.array(shares)):
            assert np.isfinite(array).all(), method
        size = max(np.abs(it.contributions).max(initial=0), np.abs(it.pooled).max(initial=0))
        added = it.contributions.sum(axis=0) + sum(it.remainders.values())
        np.testing.assert_allclose(added, it.pooled, atol=1e-9 * size + 1e-300)


def test_an_axis_without_variance_is_zero_and_the_others_are_whitened() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [2.0, 1.0, 0.0] + [5.0, 0.0, 7.0]
    flat = Whitening(floor=1e-30).fit(Moments.from_rows(rows))
    white = rows @ flat.matrix + flat.bias  # type: ignore[attr-defined]
    np.testing.assert_allclose(white.std(axis=0), [1, 1, 0], atol=1e-6)
    rotated = Whitening(strength=0).fit(Moments.from_rows(np.ones((5, 3))))
    assert abs(np.linalg.det(rotated.matrix)) == pytest.approx(1)  # type: ignore[attr-defined]


def test_squares_that_overflow_are_refused() -> None:
    with pytest.raises(ParameterError, match="scale the word vectors down"):
        CommonComponents(1).fit(Moments(3, np.zeros(2), np.full((2, 2), np.inf)))
    words = noppa.WordVectors([*"abcdefgh"], MATRICES["largest"])
    with pytest.raises(ParameterError, match="t=100 overflow: lower t"):
        Encoder(words, noppa.GEM(m=2, k=3, h=2, t=100)).fit(TEXTS)
