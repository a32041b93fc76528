"""`check_method`: tests every promise of a method. Our tests run it for each of our methods; run it for yours.

from noppa.encoder.contract import check_method

check_method(Mine(power=3))
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from noppa.encoder.encoder import Encoder
from noppa.errors import NoppaWarning
from noppa.methods.registry import METHODS
from noppa.words.word_vectors import WordVectors

#: Explanations are float64, vectors float32.
CLOSE = 1e-4
VOCABULARY = (
    "the a girl boy eats sees cake pie dog cat red green small big quickly slowly and but".split()
)


def check_method(method: Any) -> None:
    """Fit, encode, save, load, pickle and explain with a method on random words.

    Saving is tested only if the class is registered.

    Raises:
        AssertionError: A promise is broken; the message names it.
    """
    random = np.random.default_rng(0)
    matrix = random.normal(size=(len(VOCABULARY), 7)).astype(np.float32)
    words = WordVectors(VOCABULARY, matrix, random.dirichlet(np.ones(len(VOCABULARY))))
    texts = [" ".join(random.choice(VOCABULARY, size)) for size in random.integers(2, 13, 60)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoppaWarning)
        encoder = Encoder(words, method)
        dim = encoder.dim
        rows = encoder.fit(text for text in texts).encode(texts)
        _check_rows(encoder, rows, texts, dim)
        _check_declarations(encoder, rows, texts)
        _check_explanation(encoder, texts[1])
        _check_copies(encoder, rows, texts)


def _check_rows(encoder: Encoder, rows: Any, texts: list[str], dim: int) -> None:
    assert rows.shape == (len(texts), dim), "fit must not change dim: width() returned another one"
    assert rows.dtype == np.float32, "vectors are float32"
    assert np.isfinite(rows).all(), "vectors are finite"
    assert rows.any(axis=1).all(), "a text with known words has a vector that is not zeros"
    unknown = encoder.encode(["unheard-of", "unheard-of girl"])
    assert unknown.any(axis=1).tolist() == [False, True], (
        "only a text without a known word has a vector of zeros"
    )
    assert encoder.encode([]).shape == (0, dim), "encoding no texts returns an array (0, dim)"
    alone = np.stack([encoder.encode(text) for text in texts])
    assert alone.tobytes() == rows.tobytes(), "a text has the same bytes alone and in a batch"
    threaded = encoder.encode(texts[::-1], threads=3)[::-1]
    assert threaded.tobytes() == rows.tobytes(), (
        "the number of threads and the order of texts change no byte"
    )


def _check_declarations(encoder: Encoder, rows: Any, texts: list[str]) -> None:
    method, random = encoder.method, np.random.default_rng(1)
    shuffled = encoder.encode([" ".join(random.permutation(text.split())) for text in texts])
    same = np.allclose(shuffled, rows, atol=CLOSE)
    assert same != method.uses_order, (
        f"uses_order is {method.uses_order}, but order changes {'nothing' if same else 'vectors'}"
    )
    learnt, declared = sorted(encoder.fitted.learnt), sorted(method.LEARNT)
    assert learnt == declared, f"it learns {learnt}, but LEARNT declares {declared}"
    if not method.needs_probabilities:
        bare = WordVectors(encoder.words.words, encoder.words.matrix)
        Encoder(bare, method).fit(texts).encode(texts)


def _check_explanation(encoder: Encoder, text: str) -> None:
    explanation, vector = encoder.explain(text), encoder.encode(text)
    whole = explanation.contributions.sum(axis=0) + sum(explanation.remainders.values())
    assert np.allclose(whole, explanation.pooled), (
        "contributions and remainders add up to the pooled vector"
    )
    assert np.allclose(explanation.vector, vector, atol=CLOSE * np.abs(vector).max()), (
        "an explanation has the vector of encode"
    )


def _check_copies(encoder: Encoder, rows: Any, texts: list[str]) -> None:
    copied = pickle.loads(pickle.dumps(encoder))
    assert copied.encode(texts).tobytes() == rows.tobytes(), (
        "a pickled encoder gives the same bytes"
    )
    if type(encoder.method) in METHODS.values():
        with tempfile.TemporaryDirectory() as folder:
            encoder.save(Path(folder, "saved"))
            loaded = Encoder.load(Path(folder, "saved")).encode(texts)
        assert loaded.tobytes() == rows.tobytes(), "a saved encoder gives the same bytes"
