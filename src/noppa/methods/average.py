"""The plain mean of the word vectors: what every other method has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noppa.methods.numpy_form import Learnt
from noppa.methods.protocol import Kernel, Method
from noppa.methods.split import Float
from noppa.methods.weighting import mean_arguments, mean_terms
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class Average(Method):
    """1/n sum_i v_i. It has no parameters and learns nothing."""

    uses_order = False
    mean_obstacle = ""
    COST: ClassVar = "n d"

    def width(self, words: WordVectors) -> int:
        return words.dim

    def terms(self, vectors: Float, weights: Float) -> Float:
        return mean_terms(vectors, weights)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return Kernel("mean", words.table, mean_arguments(None))
