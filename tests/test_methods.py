"""Check the contract for every method, and formulas against plain implementations on real vectors."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noppa
from noppa import _native as kernels
from noppa.encoder.contract import check_method
from noppa.errors import NotFittedError, ParameterError
from noppa.methods.gem import coarse
from noppa.methods.k_means import k_means

from .conftest import made_texts, made_words

pytestmark = pytest.mark.filterwarnings("ignore:.*their probability is an estimate")

#: One small configuration of every method; the contract holds for each.
CASES: dict[str, Any] = {
    "noppa": noppa.NoPPA(k=2),
    "average": noppa.Average(),
    "tfidf": noppa.TfIdf(),
    "sif": noppa.SIF(),
    "usif": noppa.USIF(m=2, a=0.01),
    "dct": noppa.DCT(k=3),
    "vlawe": noppa.VLAWE(k=4),
    "s3e": noppa.S3E(k=4),
    "gem": noppa.GEM(m=2, k=5, h=2),
    "fastsent": noppa.FastSent(epochs=2),
    "sent2vec": noppa.Sent2Vec(epochs=2, buckets=50),
}
TEXTS = made_texts(60, made_words())
#: Those whose vector a word of zeros changes, since they count or place their words.
DIVIDED = {"noppa", "average", "tfidf", "sif", "usif", "dct", "vlawe", "s3e", "gem", "sent2vec"}


def fitted(name: str, texts: Any = TEXTS, **options: Any) -> noppa.Encoder:
    return noppa.Encoder(made_words(**options), CASES[name]).fit(texts)


@pytest.fixture(params=CASES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_every_method_is_under_contract() -> None:
    assert set(CASES) == set(noppa.METHODS)
    assert {type(method) for method in CASES.values()} == set(noppa.METHODS.values())


def test_the_documented_facts_are_the_declared_ones(name: str) -> None:
    kind = noppa.METHODS[name]
    page = Path(__file__).parent.parent / "docs" / "methods.md"
    row = next(
        line for line in page.read_text().splitlines() if line.startswith(f"| `{kind.__name__}` |")
    )
    _, _, _, _, learns, _, probabilities, _ = (cell.strip() for cell in row.split("|"))
    assert bool(learns) == kind().learns
    assert bool(probabilities) == kind().needs_probabilities


def test_the_contract(name: str) -> None:
    check_method(CASES[name])


@pytest.mark.parametrize("unknown", ["skip", "zero"])
def test_unknown_words_among_known_ones(name: str, unknown: str) -> None:
    rows = fitted(name, unknown=unknown).encode(["unheard the of girl unheard", "the of girl"])
    assert np.isfinite(rows).all()
    if unknown == "skip" or name == "fastsent":  # a sum does not count its words
        assert np.array_equal(rows[0], rows[1])
    elif name in DIVIDED:
        assert not np.array_equal(rows[0], rows[1])


def test_the_same_bytes_in_any_company(name: str, instruction_set: str) -> None:
    words = made_words(dim=37, extra=30)
    texts = made_texts(150, words, longest=90, seed=5)
    encoder = noppa.Encoder(words, CASES[name]).fit(texts)
    whole = encoder.encode(texts, threads=1)
    assert encoder.encode(texts, threads=3).tobytes() == whole.tobytes()
    for size in (1, 7):
        blocks = [encoder.encode(texts[at : at + size], threads=2) for at in range(0, 150, size)]
        assert np.concatenate(blocks).tobytes() == whole.tobytes()


def test_a_long_text_is_not_cut(name: str) -> None:
    """The last word, which occurs nowhere else, changes the vector."""
    plain = made_words(extra=1)
    matrix = np.vstack([plain.matrix[:-1], 10 * plain.matrix[-1:]])
    encoder = noppa.Encoder(
        noppa.WordVectors(plain.words, matrix, plain.probabilities), CASES[name]
    ).fit(TEXTS)
    text = made_texts(1, made_words(), longest=3000, seed=2)[0]
    assert len(text.split()) > 1000
    row = encoder.encode(f"{text} {plain.words[-1]}")
    assert np.isfinite(row).all()
    assert not np.array_equal(row, encoder.encode(text))


def test_fitting_again_forgets_the_first_time(name: str) -> None:
    other = made_texts(50, made_words(), seed=9)
    again = fitted(name)
    again.encode(TEXTS)
    assert again.fit(other).encode(TEXTS).tobytes() == fitted(name, other).encode(TEXTS).tobytes()


def test_parameters_are_frozen(name: str) -> None:
    method = CASES[name]
    assert hash(method) == hash(dataclasses.replace(method))
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.a = 1
    with pytest.raises(TypeError, match="unexpected keyword"):
        type(method)(tpyo=1)


def test_an_encoder_that_must_learn_says_so(name: str) -> None:
    encoder = noppa.Encoder(made_words(), CASES[name])
    if not encoder.method.learns and not encoder.method.refinements():
        assert encoder.encode("the girl").any()
        return
    with pytest.raises(
        NotFittedError, match=r"learns from text before it encodes: call fit\(texts\) first"
    ):
        encoder.encode("the girl")


def test_a_corpus_that_is_too_small() -> None:
    words = made_words()
    for method in (noppa.VLAWE(k=4), noppa.S3E(k=4)):
        with pytest.raises(
            ParameterError, match="at least 4 distinct known words, and this one has 2: fit on"
        ):
            noppa.Encoder(words, method).fit(["the girl"])
    for method in (noppa.GEM(k=8), noppa.GEM(h=2)):  # one of seven dimensions is a default k of 1
        with pytest.raises(ParameterError, match="more directions than the 7 dimensions"):
            noppa.Encoder(words, method).fit(TEXTS)
    with pytest.raises(ParameterError, match="the corpus has no known word"):
        noppa.Encoder(words, noppa.USIF()).fit(["unheard"])


# The formulas once more, as plainly as they can be written, on real vectors.


@pytest.fixture(scope="module")
def sentences(shared: Any) -> list[str]:
    lines = (
        shared("senteval", "downstream", "SICK", "SICK_trial.txt").read_text("utf-8").splitlines()
    )
    return [line.split("\t")[1] for line in lines[1:301]]


@dataclasses.dataclass
class Known:
    """Hold the known tokens of a sentence, their vectors and probabilities."""

    tokens: list[str]
    vectors: np.ndarray
    p: np.ndarray


@pytest.fixture(scope="module")
def known(glove: noppa.WordVectors, sentences: list[str]) -> list[Known]:
    row_of = {word: row for row, word in enumerate(glove.words)}
    found = []
    for text in sentences:
        tokens = [token.lower() for token in kernels.tokenize(text) if token.lower() in row_of]
        rows = [row_of[token] for token in tokens]
        found.append(Known(tokens, glove.matrix[rows].astype(float), glove.probabilities[rows]))
    return found


def assert_equal(encoder: noppa.Encoder, sentences: list[str], expected: Any) -> None:
    found, wanted = encoder.encode(sentences), np.array(expected)
    assert found.shape == wanted.shape
    assert (np.abs(found - wanted).max(axis=1) / np.abs(wanted).max(axis=1)).max() < 2e-6


def test_average_by_hand(glove: Any, sentences: Any, known: Any) -> None:
    expected = [sentence.vectors.mean(axis=0) for sentence in known]
    assert_equal(noppa.Encoder(glove, noppa.Average()), sentences, expected)


def test_tfidf_by_hand(glove: Any, sentences: Any, known: Any) -> None:
    having = Counter(token for sentence in known for token in set(sentence.tokens))
    expected = []
    for sentence in known:
        idf = [math.log((1 + len(known)) / (1 + having[token])) + 1 for token in sentence.tokens]
        expected.append(np.average(sentence.vectors, axis=0, weights=idf))
    assert_equal(noppa.Encoder(glove, noppa.TfIdf()).fit(sentences), sentences, expected)


def slots_by_hand(sentence: Known, centroids: np.ndarray, weights: np.ndarray) -> np.ndarray:
    sums = np.zeros_like(centroids)
    for vector, weight in zip(sentence.vectors, weights, strict=True):
        slot = np.argmin([np.linalg.norm(vector - centroid) for centroid in centroids])
        sums[slot] += weight * (vector - centroids[slot])
    return sums


def test_vlawe_by_hand(glove: Any, sentences: Any, known: Any) -> None:
    encoder = noppa.Encoder(glove, noppa.VLAWE(k=6)).fit(sentences)
    expected = []
    for sentence in known:
        sums = slots_by_hand(sentence, encoder.fitted.learnt["centroids"], np.ones(len(sentence.p)))
        raised = np.sign(sums.ravel()) * np.sqrt(np.abs(sums.ravel()))
        expected.append(raised / np.linalg.norm(raised))
    assert_equal(encoder, sentences, expected)


def test_vlawes_components_are_those_of_the_authors_order(
    glove: Any, sentences: Any, known: Any
) -> None:
    """Powers, then the first directions of the uncentred matrix, then length one."""
    encoder = noppa.Encoder(glove, noppa.VLAWE(k=3, pca=8)).fit(sentences)
    centroids = encoder.fitted.learnt["centroids"]
    sums = [slots_by_hand(one, centroids, np.ones(len(one.p))).ravel() for one in known]
    powers = np.sign(sums) * np.sqrt(np.abs(sums))
    kept = powers @ np.linalg.svd(powers, full_matrices=False)[2][:8].T
    expected = kept / np.linalg.norm(kept, axis=1, keepdims=True)
    found = encoder.encode(sentences)
    assert np.allclose(np.abs(found), np.abs(expected), atol=1e-5)
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_gem_directions_are_those_of_the_coarse_vectors(
    glove: Any, sentences: Any, known: Any
) -> None:
    encoder = noppa.Encoder(glove, noppa.GEM(k=45)).fit(sentences)
    rows = [coarse(sentence.vectors, 3) for sentence in known]
    _, values, directions = np.linalg.svd(np.array(rows), full_matrices=False)
    assert np.allclose(encoder.fitted.learnt["values"], values[:45], rtol=1e-6)
    cosines = (encoder.fitted.learnt["directions"] * directions[:45]).sum(axis=1)
    assert np.allclose(np.abs(cosines[:10]), 1, atol=1e-6)


def test_gem_removes_the_share_of_directions_that_its_paper_does(
    glove: Any, sentences: Any
) -> None:
    scaled, given = (
        noppa.Encoder(glove, method).fit(sentences) for method in (noppa.GEM(), noppa.GEM(k=5, h=2))
    )
    assert glove.dim == 100
    assert scaled.encode(sentences).tobytes() == given.encode(sentences).tobytes()


# What the methods share.


def test_k_means_finds_what_is_there() -> None:
    rng = np.random.default_rng(0)
    centres = 20 * np.eye(4)
    points = np.concatenate([centre + rng.normal(size=(50, 4)) for centre in centres])
    found = k_means(points, 4, seed=3)
    assert np.array_equal(found, k_means(points, 4, seed=3))
    distances = np.linalg.norm(found[:, None] - centres, axis=2)
    assert sorted(distances.argmin(axis=0)) == [0, 1, 2, 3]
    assert (distances.min(axis=0) < 1).all()


def test_k_means_weighs_its_points() -> None:
    points, weights = np.array([[0.0], [1.0], [10.0]]), [3, 1, 1]
    assert np.allclose(sorted(k_means(points, 2, weights).ravel()), [0.25, 10])
