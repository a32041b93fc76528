"""Weights of words by their probabilities, and the weighted mean that several methods are."""

from __future__ import annotations

from typing import Any

import numpy as np

from noppa import _native as kernels
from noppa.constants import DIVISOR
from noppa.methods.split import Float
from noppa.words.word_vectors import WordVectors


def probabilities_of(words: WordVectors, method: str) -> Float:
    """The probability of each word and, last, of the zero word, which is as rare as the rarest, (words + 1,)."""
    known = words.needed_probabilities(method)
    return np.append(known, known.min())


def smooth_frequency_weight(probabilities: Float, a: float) -> Float:
    """Equation 9's weight a / (p + a/2), which lies between 0 and 2."""
    return np.asarray(a / (probabilities + a / 2))


def inverse_frequency_weight(probabilities: Float, a: float) -> Float:
    """SIF's weight a / (a + p), which lies between 0 and 1."""
    return np.asarray(a / (a + probabilities))


def mean_terms(
    vectors: Float, weights: Float, divisor: str = "tokens", scaled: bool = False
) -> Float:
    """w_i v_i over the number of words, their weights, or one, (tokens, dim).

    scaled: divide each dimension by its norm over the sentence first.
    """
    if scaled:
        norms = np.linalg.norm(vectors, axis=0)
        vectors = vectors / np.where(norms > 0, norms, 1)
    amount = {"tokens": len(vectors), "weights": weights.sum(), "one": 1.0}[divisor]
    return np.asarray(weights[:, None] * vectors / amount if amount > 0 else 0 * vectors)


def mean_arguments(
    weights: Float | None, divisor: str = "tokens", scaled: bool = False
) -> dict[str, Any]:
    """The arguments of the kernel `mean`, whose twin `mean_terms` is; weights (words + 1,)."""
    return {
        "weights": None if weights is None else weights.astype(kernels.REAL),
        "divisor": DIVISOR[divisor],
        "scaled": scaled,
    }
