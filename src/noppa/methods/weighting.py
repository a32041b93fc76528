"""What the methods that add up weighted words share: one weight a word, one for the zero word, one kernel call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.kernels.formulas import DIVISORS
from noppa.methods.protocol import Pooler, Rows
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float64]


def probabilities_of(words: WordVectors, method: str) -> Float:
    """The probability of each word and, last, of the zero word, which is as rare as the rarest, (words + 1,)."""
    known = words.needed_probabilities(method)
    return np.append(known, known.min())


def inverse_frequency_weight(probabilities: Float, a: float) -> Float:
    """SIF's weight a / (a + p), which lies between 0 and 1."""
    return np.asarray(a / (a + probabilities))


def weighted_mean(
    words: WordVectors, weights: Float | None, divisor: str = "tokens", scaled: bool = False
) -> Pooler:
    """A pooler that adds up words by their weights (words + 1,); `divisor` and `scaled` as in `formulas.mean_terms`."""
    table, number = words.table, DIVISORS.index(divisor)
    real = None if weights is None else weights.astype(kernels.REAL)

    def pool(
        ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
    ) -> Rows:
        return kernels.pool_mean(table, real, number, scaled, ids, offsets, steps, threads)

    return pool
