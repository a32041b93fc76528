"""SIF: smooth inverse frequency (Arora, Liang and Ma, 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from noppa.methods.protocol import Learnt, Pooler
from noppa.methods.split import Ids, Split, kept_of, mean_split, rows_of, spread
from noppa.methods.weighting import (
    Float,
    inverse_frequency_weight,
    probabilities_of,
    weighted_mean,
)
from noppa.parameters import any_number, positive, settle
from noppa.refine import CommonComponents, Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class SIF:
    """1/n sum_i a / (a + p_i) v_i, without the first common component of the corpus.

    a: strength of the weight. components: how many common components to take out; 0 for none.
    """

    a: float = 1e-3
    components: int = 1

    def __post_init__(self) -> None:
        settle(self, a=positive, components=any_number)

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def weights(self, words: WordVectors) -> Float:
        return inverse_frequency_weight(probabilities_of(words, f"SIF(a={self.a:g})"), self.a)

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        return weighted_mean(words, self.weights(words))

    def split(self, words: WordVectors, learnt: Learnt, ids: Ids) -> Split:
        kept = kept_of(ids)
        found = mean_split(rows_of(words, ids[kept]), self.weights(words)[ids[kept]])
        return spread(found, kept, len(ids))
