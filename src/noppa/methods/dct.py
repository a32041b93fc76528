"""DCT: the first coefficients of a discrete cosine transform over the words (Almarwani, Aldarmaki and Diab, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from noppa.methods.method import Kernel, Learnt, Method
from noppa.parameters import positive_count, validate_fields
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class DCT(Method):
    """[c_0 ; … ; c_(k-1)] with c_j = s_j sum_t v_t cos(pi (2t + 1) j / 2n), orthonormal: s_0 = sqrt(1/n), s_j = sqrt(2/n).

    Args:
        k: How many coefficients. c_0 is the sum of the words over sqrt(n); the others keep their order. A sentence of
            fewer than k words is padded with zero vectors.
    """

    settable: ClassVar = ("k",)

    k: int = 3

    def __post_init__(self) -> None:
        validate_fields(self, k=positive_count)

    def width(self, words: WordVectors) -> int:
        return words.dim * self.k

    def terms(self, vectors: Float, weights: Float) -> Float:
        terms = waves(len(vectors), self.k).T[:, :, None] * vectors[:, None, :]
        return np.asarray(terms.reshape(len(vectors), -1))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return Kernel("dct", words.table, {"k": self.k})


def waves(tokens: int, k: int) -> Float:
    """Return the first k waves of the orthonormal DCT-II over the words, (k, tokens), padded to at least k words."""
    length = max(tokens, k)
    order, place = np.arange(k)[:, None], np.arange(tokens)
    values = np.cos(np.pi * (2 * place + 1) * order / (2 * length))
    return np.asarray(np.sqrt(np.where(order, 2, 1) / length) * values)
