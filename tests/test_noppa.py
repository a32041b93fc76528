"""Compare NoPPA with the paper's equations and the authors' output, and check its settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import _native
from noppa.methods.method import NumpyPooler, sentence_of
from noppa.methods.noppa import positions
from tests.conftest import made_texts, made_words

Shared = Callable[..., Path]


def by_the_book(words: noppa.WordVectors, text: str, a: float | None) -> np.ndarray:
    """Algorithm 1, line by line, for a text of known words."""
    tokens = text.split()
    vectors = np.array([words[token] for token in tokens], float)
    n, d = vectors.shape
    positional = np.zeros((n, d))
    for i in range(n):
        for m in range(d):
            angle = i / 10000 ** (2 * (m // 2) / d)
            positional[i, m] = vectors[i, m] + (np.sin(angle) if m % 2 == 0 else np.cos(angle))
    total = np.zeros(2 * d)
    assert words.probabilities is not None
    for i, token in enumerate(tokens):
        scores = np.array([positional[i] @ positional[j] / np.sqrt(d) for j in range(n)])
        attention = np.exp(scores) / np.exp(scores).sum()
        context = sum(
            attention[j] * np.log2(1 + (positional[i] - positional[j]) ** 2) for j in range(n)
        )
        p = words.probabilities[words.words.index(token)]
        weight = 1 if a is None else a / (p + a / 2)
        total += weight * np.concatenate([context, vectors[i]]) / n
    return total


@pytest.mark.parametrize("a", [0.05, 0.01, None])
def test_algorithm_1(words: noppa.WordVectors, a: float | None) -> None:
    encoder = noppa.Encoder(words, noppa.NoPPA(a=a, k=0))
    for text in made_texts(20, words):
        wanted = by_the_book(words, text, a)
        assert np.abs(encoder.encode(text) - wanted).max() < 1e-5 * np.linalg.norm(wanted)


@pytest.mark.parametrize(("name", "a"), [("noppa_a0.05.npy", 0.05), ("noppa_ones.npy", None)])
def test_the_authors_own_output(
    glove: noppa.WordVectors, shared: Shared, name: str, a: float | None
) -> None:
    golden = np.load(shared("golden", name))
    sentences = json.loads(shared("golden", "sentences.json").read_text())
    encoder = noppa.Encoder(glove, noppa.NoPPA(a=a, k=0, position="reference"))
    norms = np.linalg.norm(golden, axis=1, keepdims=True)
    assert (np.abs(encoder.encode_tokens(sentences) - golden) < 1e-5 * norms).all()

    ids, offsets = glove.vocabulary.look_up_tokens(sentences)
    twin, _ = NumpyPooler(encoder.method, glove, {}).rows(ids, offsets)
    assert np.abs(twin - golden).max() < 1e-12


def test_position_formulas_differ_as_documented() -> None:
    """D4: 205 of 300 dimensions are constant under the authors' formula, 111 under the paper's."""
    constant = {
        formula: int((positions(30, 300, formula).std(axis=0) < 0.01).sum())
        for formula in ("paper", "reference")
    }
    assert constant == {"paper": 111, "reference": 205}
    squares = (positions(30, 300, "paper") ** 2).sum(axis=1)
    assert np.allclose(squares, 150)


def test_ablations_are_settings(words: noppa.WordVectors) -> None:
    texts = made_texts(200, words)
    rows = {
        name: noppa.Encoder(words, method).fit(texts).encode(texts)
        for name, method in {
            "CE-avg": noppa.NoPPA(a=None, k=0),
            "CE-avg+NR": noppa.NoPPA(a=None, k=3),
            "CE+SFW": noppa.NoPPA(a=0.05, k=0),
            "NoPPA": noppa.NoPPA(a=0.05, k=3),
        }.items()
    }
    assert len({row.tobytes() for row in rows.values()}) == 4
    assert np.linalg.matrix_rank(rows["NoPPA"].astype(float), tol=1e-3) == 14 - 3


def test_word_order_matters_only_with_positions(words: noppa.WordVectors) -> None:
    one, other = "the girl eats a cake", "a cake eats the girl"
    ordered = noppa.Encoder(words, noppa.NoPPA(k=0))
    bag = noppa.Encoder(words, noppa.NoPPA(k=0, position=None))
    assert np.abs(ordered.encode(one) - ordered.encode(other)).max() > 1e-3
    assert np.allclose(bag.encode(one), bag.encode(other), atol=1e-6)


def test_unknown_words_may_take_a_position(words: noppa.WordVectors) -> None:
    text, without = "the girl zzz eats", "the girl eats"
    passing = noppa.Encoder(words, noppa.NoPPA(k=0))
    taking = noppa.Encoder(words, noppa.NoPPA(k=0, unknown_takes_position=True))
    assert (passing.encode(text) == passing.encode(without)).all()
    assert np.abs(taking.encode(text) - taking.encode(without)).max() > 1e-4


class TestLongTexts:
    words = made_words(dim=5, extra=50)
    text = " ".join(np.random.default_rng(0).choice(words.words, 900))

    def encoder(self, **options: object) -> noppa.Encoder:
        return noppa.Encoder(self.words, noppa.NoPPA(k=0, **options))  # type: ignore[arg-type]

    def test_exact_by_default(self) -> None:
        ids, offsets = self.words.vocabulary.look_up([self.text], 1)
        twin, _ = NumpyPooler(self.encoder().method, self.words, {}).rows(ids, offsets)
        error = np.linalg.norm(self.encoder().encode(self.text) - twin[0])
        assert error < 1e-5 * np.linalg.norm(twin[0])

    def test_error_names_the_text(self) -> None:
        with pytest.raises(noppa.NoppaError, match="text 1 has 900 tokens and max_tokens is 100"):
            self.encoder(max_tokens=100).encode(["the girl", self.text])

    def test_truncate_keeps_the_first_tokens_and_says_so(self) -> None:
        cut = " ".join(self.text.split()[:100])
        with pytest.warns(noppa.NoppaWarning, match="1 texts were cut to max_tokens=100"):
            rows = self.encoder(max_tokens=100, policy="truncate").encode(["the girl", self.text])
        assert (rows == self.encoder().encode(["the girl", cut])).all()

    def test_windows_are_averaged_by_length(self) -> None:
        tokens = self.text.split()
        starts = [*range(0, 800, 50), 800]
        parts = self.encoder().encode([" ".join(tokens[at : at + 100]) for at in starts])
        encoder = self.encoder(max_tokens=100, policy="window")
        rows = encoder.encode(["the girl", self.text, "a zzz"])
        assert np.allclose(rows[1], parts.mean(axis=0), atol=1e-6)
        assert (rows[[0, 2]] == self.encoder().encode(["the girl", "a zzz"])).all()


def test_twenty_thousand_tokens_in_linear_memory() -> None:
    """Scratch is O(n d): the vectors, not an n x n matrix, which would take 1.6 GB here."""
    assert _native.instruction_set()
    words = made_words(dim=4, extra=100)
    text = " ".join(np.random.default_rng(1).choice(words.words, 20_000))
    row = noppa.Encoder(words, noppa.NoPPA(k=0)).encode(text)
    assert np.isfinite(row).all()
    assert (row[:4] > 0).all()


@pytest.mark.parametrize("tokens", [65, 255, 256, 257, 700])
def test_threads_that_share_a_long_text_change_no_byte(instruction_set: str, tokens: int) -> None:
    """Compare bytes alone, in a batch and with any number of threads, and with the NumPy form."""
    random = np.random.default_rng(tokens)
    names = [f"w{word}" for word in range(50)]
    words = noppa.WordVectors(names, random.standard_normal((50, 21)), np.full(50, 0.02))
    text = " ".join(random.choice(names, tokens))
    unknown = " ".join(["-"] * tokens) + " w1 w2 w3"
    for parts in (("context", "word"), noppa.NoPPA.RICH):
        method = noppa.NoPPA(k=0, parts=parts)
        encoder = noppa.Encoder(words, method)
        rows = encoder.encode([text, "w1 w2", unknown, text], threads=1)
        ids = encoder.words.lexicon.look_up([text], 1)[0]
        twin = method.row(sentence_of(words, {}, ids, method.weights(words, {})))
        assert np.linalg.norm(rows[0] - twin) < 2e-6 * np.linalg.norm(twin)
        for threads in (2, 3, 7):
            assert encoder.encode(text, threads=threads).tobytes() == rows[0].tobytes()
            assert encoder.encode(unknown, threads=threads).tobytes() == rows[2].tobytes()
            batch = encoder.encode([text, "w1 w2", unknown, text], threads=threads)
            assert batch.tobytes() == rows.tobytes()
