"""Contributions of every method add up to the vectors of the kernels."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noppa
from noppa import _native as kernels
from noppa.errors import InputError, ParameterError
from noppa.methods import noppa as equations
from noppa.methods.clusters import CANCELLED, power_terms

from .conftest import VOCABULARY, made_texts, made_words
from .test_methods import CASES

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*their probability is an estimate"),
    pytest.mark.filterwarnings("ignore:.*have no known word"),
]

#: The variants whose vectors are made in another way than those of `CASES`.
VARIANTS: dict[str, Any] = {
    **CASES,
    "noppa rich": noppa.NoPPA(k=0, parts=(*noppa.NoPPA.RICH, "std", "dct2")),
    "noppa columns": noppa.NoPPA(k=0, parts=noppa.NoPPA.RICH, pair_columns=(2, 5)),
    "noppa cheap": noppa.NoPPA(a=None, k=2, kernel="abs", attend_self=False, position="reference"),
    "noppa places": noppa.NoPPA(k=0, unknown_takes_position=True, kernel="square"),
    "noppa windows": noppa.NoPPA(k=0, max_tokens=8, policy="window"),
    "usif dimension": noppa.USIF(m=0, a=0.01, normalize="dimension"),
    "usif plain": noppa.USIF(m=1, a=0.01, normalize=None),
    "vlawe all": noppa.VLAWE(k=3),
    "s3e published": noppa.S3E(k=4, variant="reference"),
    "s3e alone": noppa.S3E(k=3, average=False, components=0),
    "sent2vec words": noppa.Sent2Vec(epochs=1, buckets=0),
}
REFINEMENTS: dict[str, Any] = {
    "none": (),
    "whitened": (noppa.Whitening(dim=3), noppa.Normalize()),
    "without the common": (noppa.CommonComponents(1, centred=True),),
}
WORDS = made_words(extra=10)
TEXTS = made_texts(80, WORDS)
MADE: dict[tuple[str, str], noppa.Encoder] = {}


def encoder_of(variant: str, refinement: str = "none", **options: Any) -> noppa.Encoder:
    """Return an encoder that is fitted once; some words are not in the corpus."""
    key = (variant, f"{refinement} {options}")
    if key not in MADE:
        words = made_words(extra=20, **options)
        made = noppa.Encoder(words, VARIANTS[variant], REFINEMENTS[refinement])
        MADE[key] = made.fit(TEXTS)
    return MADE[key]


def pooled_by_kernels(encoder: noppa.Encoder, text: str) -> np.ndarray:
    ids, offsets = encoder.words.vocabulary.look_up([text], 1)
    return np.asarray(encoder._pooler(ids, offsets, kernels.Steps([]), 1)[0][0], float)


def assert_close(found: np.ndarray, wanted: np.ndarray, within: float = 1e-5) -> None:
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max(initial=0) < within * max(1.0, np.abs(wanted).max(initial=0))


def assert_adds_up(encoder: noppa.Encoder, text: str) -> None:
    """Compare an explanation with the vectors of the kernels."""
    told = encoder.explain(text)
    rest = sum(told.remainders.values(), np.zeros(len(told.pooled)))
    assert_close(told.contributions.sum(axis=0) + rest, pooled_by_kernels(encoder, text))
    constants = sum(told.constants.values(), np.zeros(len(told.vector)))
    # Scaling a short vector to length one magnifies the rounding of the kernels' float32.
    within = 3e-5 if noppa.Normalize() in encoder.refine else 1e-5
    assert_close(told.refined.sum(axis=0) + constants, told.vector, 1e-12)
    assert_close(told.vector, encoder.encode(text).astype(float), within)
    assert_close(told.pairs.sum(axis=1), told.shares)
    assert not told.contributions[told.positions < 0].any()
    if told.pooled.any() and not told.remainders:
        assert told.shares.sum() == pytest.approx(1)
    if told.attention is not None:
        took_part = told.positions >= 0
        alone = not getattr(encoder.method, "attend_self", True) and took_part.sum() == 1
        assert np.allclose(told.attention.sum(axis=1), took_part & (not alone))
        assert np.allclose(told.weighted_attention.sum(axis=1), told.weights * (not alone))


TOKENS = st.sampled_from([*VOCABULARY, "w1", "w19", "unheard", "Girl"])


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=15, derandomize=True)
@given(data=st.data())
def test_contributions_add_up(variant: str, data: st.DataObject) -> None:
    refinement = data.draw(st.sampled_from(list(REFINEMENTS)))
    text = " ".join(data.draw(st.lists(TOKENS, max_size=30)))
    assert_adds_up(encoder_of(variant, refinement), text)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("text", ["", "unheard", "girl", "girl " * 60, "a cake " * 30, "the a in"])
def test_contributions_of_odd_texts_add_up(variant: str, text: str) -> None:
    assert_adds_up(encoder_of(variant), text)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("refinement", REFINEMENTS)
def test_a_pair_adds_up_to_its_cosine(variant: str, refinement: str) -> None:
    encoder = encoder_of(variant, refinement)
    texts = [*made_texts(6, WORDS, seed=4), "girl", "", "unheard", "a girl unheard " * 20]
    for a, b in pairwise(texts):
        told = encoder.explain_pair(a, b)
        assert told.pairs.shape == (len(told.a.tokens), len(told.b.tokens))
        total = told.pairs.sum() + sum(told.remainders.values())
        assert total == pytest.approx(told.cosine, abs=1e-9)
        assert told.cosine == pytest.approx(encoder.similarity(a, b), abs=1e-5)
        assert bool(told.remainders) == bool(told.a.constants or told.b.constants)


@pytest.mark.parametrize("variant", VARIANTS)
def test_words_that_stand_for_unknown_ones(variant: str) -> None:
    """With unknown="zero" an unknown word counts as a vector of zeros."""
    encoder = encoder_of(variant, unknown="zero")
    for text in ("unheard the girl unheard eats", "unheard"):
        assert_adds_up(encoder, text)
        told = encoder.explain(text)
        assert told.known.tolist() == [token != "unheard" for token in told.tokens]


def test_what_an_explanation_tells() -> None:
    encoder = encoder_of("noppa")
    told = encoder.explain("The girl unheard eats")
    assert told.tokens == ("The", "girl", "unheard", "eats")
    assert told.known.tolist() == [True, True, False, True]
    assert told.positions.tolist() == [0, 1, -1, 2]
    assert not told.contributions[2].any()
    rows = encoder.words.vectors([encoder.words.words.index(word) for word in ("the", "girl")])
    repeated = np.tile(rows[1].astype(float), 2)
    wanted = repeated @ told.pooled / np.linalg.norm(repeated) / np.linalg.norm(told.pooled)
    assert told.cosines[1] == pytest.approx(wanted)
    probability = encoder.words.probabilities[encoder.words.words.index("girl")]
    assert told.weights[1] == pytest.approx(0.05 / (probability + 0.025))
    assert told.contributions[1, 7:] == pytest.approx(told.weights[1] * rows[1] / 3)
    assert encoder_of("noppa places").explain("a unheard cake").positions.tolist() == [0, -1, 2]


def test_pairs_are_those_of_equation_12() -> None:
    encoder = encoder_of("noppa")
    told = encoder.explain("girl eats cake")
    rows = encoder.words.vectors([encoder.words.words.index(t) for t in told.tokens]).astype(float)
    moved = rows + equations.positions(3, 7, "paper")
    along = told.pooled / (told.pooled @ told.pooled)
    pair = np.log2(1 + (moved[2] - moved[0]) ** 2)
    wanted = told.weights[0] * told.attention[0, 2] / 3 * pair @ along[:7]
    assert told.pairs[0, 2] == pytest.approx(wanted)
    assert told.pairs[1, 1] == pytest.approx(told.contributions[1, 7:] @ along[7:])


def test_what_refinement_removed() -> None:
    told = encoder_of("noppa", "without the common").explain("the girl eats")
    noise, common = told.steps
    assert noise.name == "NoiseRemoval(k=2, variant='paper')"
    assert noise.before == pytest.approx(told.pooled)
    assert noise.removed == pytest.approx(told.pooled - noise.after)
    assert noise.share == pytest.approx(
        (noise.removed @ noise.removed) / (told.pooled @ told.pooled)
    )
    assert common.after == pytest.approx(told.vector)
    assert list(told.constants) == [f"constant of {noppa.CommonComponents(1, centred=True)!r}"]
    scaled = encoder_of("average", "whitened").explain("the girl eats").steps
    assert [step.share for step in scaled] == [None, None]
    assert np.linalg.norm(scaled[-1].after) == pytest.approx(1)


def test_residuals_that_cancel_are_named() -> None:
    residual = np.array([[0.3, 1.0], [0.1, -1.0], [-0.4 + 1e-12, 0.5]])
    terms, cancelled = power_terms(residual, np.zeros(3, np.int32), 1, 0.5)
    assert cancelled[0] != 0
    assert not terms[:, 0].any()
    sums = residual.sum(axis=0)
    raised = np.sign(sums) * np.sqrt(np.abs(sums))
    assert terms.sum(axis=0) + cancelled == pytest.approx(raised / np.linalg.norm(raised))
    words = noppa.WordVectors(["up", "down", "far"], [[0.3, 1], [-0.3, -1], [0.1, 7]])
    encoder = noppa.Encoder(words, noppa.VLAWE(k=1)).fit(["up down far", "up"])
    encoder.fitted.learnt["centroids"][:] = [[1e-12, 0]]
    told = encoder.explain("up down")
    assert list(told.remainders) == [CANCELLED]
    assert told.vector == pytest.approx([-1, 0])


def test_a_word_by_its_pieces() -> None:
    """An explanation lists the pieces in place of the word."""
    tokens = ["the", "token", "cake", "##ization", "##s"]
    matrix = np.random.default_rng(0).normal(size=(5, 6))
    words = noppa.WordVectors(tokens, matrix, np.full(5, 0.2), unknown="pieces", pieces=2)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    told = encoder.explain("the Tokenizations Cake zzqx")
    assert told.tokens == ("the", "token", "##ization", "##s", "Cake", "zzqx")
    assert told.known.tolist() == [True] * 5 + [False]
    assert told.sources.tolist() == [0, 1, 1, 1, 2, 3]
    assert told.positions.tolist() == [0, 1, 2, 3, 4, -1]
    assert_close(told.vector, encoder.encode("the Tokenizations Cake zzqx").astype(float))
    assert encoder.explain("").tokens == ()


def test_bounds_on_the_length() -> None:
    cut = noppa.Encoder(made_words(), noppa.NoPPA(k=0, max_tokens=2, policy="truncate"))
    told = cut.explain("the girl eats cake")
    assert told.positions.tolist() == [0, 1, -1, -1]
    with pytest.warns(noppa.NoppaWarning, match="1 texts were cut"):
        assert_close(told.vector, cut.encode("the girl eats cake").astype(float))
    strict = noppa.Encoder(made_words(), noppa.NoPPA(k=0, max_tokens=2))
    with pytest.raises(ParameterError, match="text 0 has 3 tokens and max_tokens is 2"):
        strict.explain("the girl eats")
    with pytest.raises(InputError, match="has 2001 tokens, and an explanation takes up to 2000"):
        noppa.Encoder(made_words(), noppa.Average()).explain("cake " * 2001)


def test_an_explanation_is_frozen_and_becomes_json() -> None:
    pair = encoder_of("noppa", "whitened").explain_pair("the girl", "a unheard cake")
    with pytest.raises(AttributeError):
        pair.a.tokens = ()
    read = json.loads(json.dumps(pair.to_dict()))
    assert read["b"]["tokens"] == ["a", "unheard", "cake"]
    assert np.sum(read["pairs"]) + sum(read["remainders"].values()) == pytest.approx(read["cosine"])
    assert np.allclose(read["a"]["contributions"], pair.a.contributions)
    assert read["a"]["steps"][0]["share_removed"] == pair.a.steps[0].share
