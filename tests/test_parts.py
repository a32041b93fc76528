"""Concatenate other parts of NoPPA than the paper's two."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.constants import PART
from noppa.errors import ParameterError
from noppa.methods.noppa import PAIR_PARTS, attention, positions

from .conftest import made_texts, made_words
from .test_kernels import DIMS, native_rows, numpy_rows, stored

ALL = (*PART, "dct1", "dct2", "dct7")


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("kernel", ["log2", "abs", "square"])
def test_native_equals_twin(instruction_set: str, dim: int, kernel: str) -> None:
    method, words = noppa.NoPPA(k=0, kernel=kernel, parts=ALL[::-1]), stored("float32", dim)
    rows, known = native_rows(method, words)
    wanted, counts = numpy_rows(method, words)
    assert (known == counts).all()
    for part in range(len(ALL)):
        here = slice(part * dim, (part + 1) * dim)
        error = np.linalg.norm(rows[:, here] - wanted[:, here], axis=1)
        size = np.linalg.norm(wanted[:, here], axis=1) + 1e-3 * np.linalg.norm(wanted, axis=1)
        assert (error <= 1e-5 * size).all(), ALL[::-1][part]


def test_a_part_does_not_depend_on_the_others() -> None:
    words = made_words()
    texts = made_texts(20, words)
    rows = noppa.Encoder(words, noppa.NoPPA(k=0, parts=ALL)).encode(texts)
    for at, part in enumerate(ALL):
        alone = noppa.Encoder(words, noppa.NoPPA(k=0, parts=(part,))).encode(texts)
        assert np.array_equal(alone, rows[:, at * words.dim : (at + 1) * words.dim]), part


def test_parts_by_hand() -> None:
    words = made_words()
    tokens = "the girl eats a cake".split()
    v = np.array([words[token] for token in tokens], float)
    w = np.array([0.05 / (words.probabilities[words.words.index(t)] + 0.025) for t in tokens])
    moved = v + positions(5, 7, "paper")
    shares = attention(moved)
    ordered, product = np.zeros(7), np.zeros(7)
    for i in range(5):
        for j in range(5):
            if i == j:
                continue
            kernel = np.log2(1 + (moved[j] - moved[i]) ** 2)
            ordered += (
                w[i] * shares[i, j] * np.sign(j - i) * np.sign(moved[j] - moved[i]) * kernel / 5
            )
            product += w[i] * shares[i, j] * moved[i] * moved[j] / 5
    cosine = [np.cos(np.pi * (2 * t + 1) * 2 / 10) for t in range(5)]
    expected = [ordered, product, v.max(axis=0), v.min(axis=0), v.std(axis=0), (w * cosine) @ v / 5]
    method = noppa.NoPPA(k=0, parts=("ordered", "product", "max", "min", "std", "dct2"))
    found = noppa.Encoder(words, method).encode(" ".join(tokens))
    assert np.allclose(found, np.concatenate(expected), atol=2e-6)


def test_ordered_turns_its_sign_with_the_sentence() -> None:
    """Without positions, reversing a sentence keeps the context and negates the ordered part."""
    method = noppa.NoPPA(k=0, position=None, parts=("context", "ordered"))
    encoder = noppa.Encoder(made_words(), method)
    there, back = encoder.encode("the girl eats cake"), encoder.encode("cake eats girl the")
    assert np.allclose(there[:7], back[:7], atol=1e-6)
    assert np.allclose(there[7:], -back[7:], atol=1e-6)
    assert np.abs(there[7:]).max() > 0.01


@pytest.mark.parametrize("columns", [(0, 3), (2, 7), (6, 7), (0, 7)])
def test_pair_parts_are_those_of_words_with_these_columns_alone(columns: tuple[int, int]) -> None:
    words, parts = made_words(), ("context", "max", "ordered", "word", "product")
    texts, method = made_texts(20, words), noppa.NoPPA(k=0, parts=parts)
    both = [noppa.Encoder(some, method).encode(texts) for some in (words, words.columns(*columns))]
    whole, few = (np.split(rows, 5, axis=1) for rows in both)
    expected = [few[at] if part in PAIR_PARTS else whole[at] for at, part in enumerate(parts)]
    cut = noppa.Encoder(words, replace(method, pair_columns=columns))
    assert cut.dim == sum(part.shape[1] for part in expected)
    assert np.allclose(cut.encode(texts), np.hstack(expected), rtol=1e-5, atol=1e-6)


def test_pair_columns_are_saved(tmp_path: Path) -> None:
    method = noppa.NoPPA(k=0, pair_columns=np.array([2, 5]))  # type: ignore[arg-type]
    encoder = noppa.Encoder(made_words(), method)
    encoder.save(tmp_path / "cut")
    loaded = noppa.load(tmp_path / "cut")
    assert loaded.method == encoder.method == noppa.NoPPA(k=0, pair_columns=(2, 5))
    assert loaded.encode("the girl eats").tobytes() == encoder.encode("the girl eats").tobytes()


def test_pair_columns_that_the_words_lack() -> None:
    with pytest.raises(ParameterError, match=r"pair_columns=\(5, 8\) are not within the 7"):
        noppa.Encoder(made_words(), noppa.NoPPA(k=0, pair_columns=(5, 8)))


def test_the_same_bytes_in_any_company(instruction_set: str) -> None:
    words = made_words(dim=37, extra=30)
    texts = made_texts(60, words, longest=90, seed=5)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0, parts=ALL))
    whole = encoder.encode(texts, threads=1)
    assert encoder.encode(texts, threads=3).tobytes() == whole.tobytes()
    alone = np.array([encoder.encode(text) for text in texts])
    assert alone.tobytes() == whole.tobytes()
