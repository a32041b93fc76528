"""The plain mean of the word vectors: the baseline of every other method."""

from __future__ import annotations

from dataclasses import dataclass

from noppa.methods.method import Kernel, Learnt, Method, mean_kernel, mean_terms
from noppa.refine import Float
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class Average(Method):
    """1/n sum_i v_i. It has no parameters and learns nothing."""

    uses_order = False
    is_mean = True

    def width(self, words: WordVectors) -> int:
        return words.dim

    def terms(self, vectors: Float, weights: Float) -> Float:
        return mean_terms(vectors, weights)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(words.table, None)
