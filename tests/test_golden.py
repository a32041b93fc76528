"""Compare each method with the output of its authors' program."""

from __future__ import annotations

import json

import numpy as np
import pytest

import noppa
from noppa.encoder.encoder import Fitted
from noppa.paper.figures import CONTRIBUTIONS
from noppa.refine import Remove

CLOSE = 1e-6


@pytest.fixture(scope="module")
def sentences(shared):
    return json.loads(shared("golden", "sentences.json").read_text())


@pytest.fixture(scope="module")
def words(shared, sentences):
    """GloVe, cut to the words of the sentences, with the counts that SIF's authors used and zero where they have none."""
    vectors = np.load(shared("vectors", "glove.6B.100d.npy"))
    names = shared("vectors", "glove.6B.100d.vocab.txt").read_text(encoding="utf-8").splitlines()
    wanted = {token for sentence in sentences for token in sentence}
    rows = [row for row, name in enumerate(names) if name in wanted]
    counts, total = {}, 0
    for line in shared("frequency", "enwiki_vocab_min200.txt").read_text("utf-8").splitlines():
        name, count = line.split()
        total += int(count)
        counts[name] = int(count)
    kept = [names[row] for row in rows]
    least = 1e-12  # stands for zero: a probability is above it
    probabilities = [max(counts.get(name, 0) / total, least) for name in kept]
    return noppa.WordVectors(kept, vectors[rows], probabilities)


def golden(shared, name):
    return np.load(shared("golden", name))


def encode(words, method, sentences, learnt=None, refine=None):
    """Encode the sentences, fitted on them or with the arrays that the authors' program learnt."""
    encoder = noppa.Encoder(words, method, refine, tokenizer=str.split)
    if learnt is None:
        encoder.fit(" ".join(sentence) for sentence in sentences)
    else:
        encoder._fitted = Fitted((), learnt)
    return encoder.encode_tokens(sentences)


def error(found, expected):
    """Return the largest error relative to the largest value of its row."""
    return (np.abs(found - expected).max(axis=1) / np.abs(expected).max(axis=1)).max()


def test_sif_before_removal(shared, words, sentences):
    found = encode(words, noppa.SIF(a=1e-3, components=0), sentences, {})
    assert error(found, golden(shared, "sif_a1e-3_weighted_average.npy")) < CLOSE


def test_sif(shared, words, sentences):
    found = encode(words, noppa.SIF(a=1e-3), sentences)
    assert error(found, golden(shared, "sif_a1e-3_pc1.npy")) < CLOSE


USIF_A = 0.0012066490225995639


def usif_sentences(shared, sentences):
    return [sentences[row] for row in json.loads(shared("golden", "usif_rows.json").read_text())]


def test_usif_before_removal(shared, words, sentences):
    method = noppa.USIF(m=0, a=USIF_A, normalize="dimension")
    found = encode(words, method, usif_sentences(shared, sentences))
    assert error(found, golden(shared, "usif_m0.npy")) < CLOSE


def test_usif_finds_the_authors_a(shared):
    from noppa.methods.means import derived_a

    lines = shared("frequency", "enwiki_vocab_min200.txt").read_text("utf-8").splitlines()
    counts = np.array([int(line.split()[1]) for line in lines], float)
    assert derived_a(counts / counts.sum(), 11) == pytest.approx(USIF_A, rel=1e-9)


def test_usif_with_the_authors_components(shared, words, sentences):
    """The program estimates its components at random, so they are read off its output: what it took away is linear."""
    pooled, expected = golden(shared, "usif_m0.npy"), golden(shared, "usif_m5.npy")
    taken = np.linalg.lstsq(pooled, pooled - expected, rcond=None)[0]
    values, directions = np.linalg.eigh((taken + taken.T) / 2)
    shares, rows = values[-5:], directions[:, -5:].T
    assert np.allclose(values[:-5], 0, atol=1e-9)
    assert shares.sum() == pytest.approx(1)
    encoder = noppa.Encoder(words, noppa.USIF(m=0, a=USIF_A, normalize="dimension"))
    step = Remove(rows, shares[:, None] * rows, np.zeros(5))
    encoder._fitted = Fitted((step,), {"a": np.array([USIF_A])})
    found = encoder.encode_tokens(usif_sentences(shared, sentences))
    assert error(found, expected) < CLOSE


def test_usif_with_exact_components(shared, words, sentences):
    """Ours are exact, so that they differ from the program's by the error of its random estimate."""
    method = noppa.USIF(m=5, a=USIF_A, normalize="dimension")
    found = encode(words, method, usif_sentences(shared, sentences))
    expected = golden(shared, "usif_m5.npy")
    assert np.abs(found - expected).max() < 6e-4


@pytest.mark.parametrize("k", [1, 3, 6])
def test_dct(shared, words, sentences, k):
    assert (
        error(encode(words, noppa.DCT(k), sentences, {}), golden(shared, f"dct_k{k}.npy")) < CLOSE
    )


def test_s3e(shared, words, sentences):
    given = golden(shared, "s3e_c10.npz")
    label_of = dict(zip(given["words"].tolist(), given["labels"].tolist(), strict=True))
    labels = np.array([*(label_of[word] for word in words.words), 0], np.int32)
    learnt = {"centroids": given["centroids"], "labels": labels}
    method = noppa.S3E(k=10, components=0, variant="reference")
    found, expected = encode(words, method, sentences, learnt), given["embedding"]
    assert error(found[:, :100], expected[:, :100]) < CLOSE
    assert error(found[:, 100:], expected[:, 100:]) < CLOSE


def test_gem(shared, words, sentences):
    given = golden(shared, "gem.npz")
    learnt = {
        "directions": np.ascontiguousarray(given["directions"].T),
        "values": given["singular_values"],
    }
    found = encode(words, noppa.GEM(m=7, k=45, h=17), sentences, learnt)
    assert error(found, given["embedding"]) < CLOSE


def test_gem_coarse_vectors(shared, words, sentences):
    """Equal but for the signs of the singular vectors, which nothing fixes in the authors' program."""
    from noppa.methods.gem import coarse

    given = golden(shared, "gem.npz")["corpus_vectors"]
    for sentence, expected in zip(sentences, given, strict=True):
        vectors = np.array([words[token] for token in sentence], float)
        directions = np.linalg.svd(vectors, full_matrices=False)[2]
        found, wanted = directions @ coarse(vectors, 3), directions @ expected
        assert np.allclose(np.abs(found), np.abs(wanted), rtol=1e-6)


def test_noppa(shared, words, sentences):
    ones = encode(words, noppa.NoPPA(a=None, k=0, position="reference"), sentences, {})
    assert error(ones, golden(shared, "noppa_ones.npy")) < 2e-6
    weighted = encode(words, noppa.NoPPA(a=0.05, k=0, position="reference"), sentences, {})
    assert error(weighted, golden(shared, "noppa_a0.05.npy")) < 2e-6


def test_the_papers_figure_2(shared):
    """All 17 printed cosines, with the vectors that the paper used; it does not say its a, and drew the program's positions."""
    vectors = noppa.WordVectors.load(shared("vectors", "glove.840B.300d.7700.npy"))
    words = vectors.with_counts(shared("frequency", "enwiki_vocab_min200.txt"))
    encoder = noppa.Encoder(words, noppa.NoPPA(a=0.005, k=0, position="reference"))
    for text, printed in CONTRIBUTIONS.items():
        np.testing.assert_array_equal(encoder.explain(text).cosines.round(2), printed)
