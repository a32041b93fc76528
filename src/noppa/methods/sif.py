"""SIF: smooth inverse frequency (Arora, Liang and Ma, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from noppa.methods.protocol import Learnt, Pooler
from noppa.methods.weighting import inverse_frequency_weight, probabilities_of, weighted_mean
from noppa.parameters import positive, whole
from noppa.refine import CommonComponents, Refinement
from noppa.words import WordVectors


@dataclass(frozen=True)
class SIF:
    """1/n sum_i a / (a + p_i) v_i, without the first common component of the corpus.

    a: strength of the weight. components: how many common components to take out; 0 for none.
    """

    a: float = 1e-3
    components: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", positive(self.a, "a"))
        object.__setattr__(self, "components", whole(self.components, "components"))

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        probabilities = probabilities_of(words, f"SIF(a={self.a:g})")
        return weighted_mean(words, inverse_frequency_weight(probabilities, self.a))
