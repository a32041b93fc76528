"""SIF: smooth inverse frequency (Arora, Liang and Ma, 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from noppa.methods.method import (
    Kernel,
    Learnt,
    Method,
    inverse_frequency_weight,
    mean_kernel,
    mean_terms,
)
from noppa.parameters import count, positive, validate_fields
from noppa.refine import CommonComponents, Float, Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class SIF(Method):
    """1/n sum_i a / (a + p_i) v_i, without the first common component of the corpus.

    Args:
        a: Strength of the weight.
        components: How many common components to remove; 0 for none.
    """

    needs_probabilities = True
    uses_order = False
    settable: ClassVar = ("a",)
    is_mean = True

    a: float = 1e-3
    components: int = 1

    def __post_init__(self) -> None:
        validate_fields(self, a=positive, components=count)

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def weigh(self, probabilities: Float) -> Float:
        return inverse_frequency_weight(probabilities, self.a)

    def terms(self, vectors: Float, weights: Float) -> Float:
        return mean_terms(vectors, weights)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(words.table, self.weights(words, learnt))
