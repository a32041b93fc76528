"""The plain mean of the word vectors: what every other method has to beat."""

from __future__ import annotations

from dataclasses import dataclass

from noppa.methods.protocol import Learnt, Pooler
from noppa.methods.split import Ids, Split, kept_of, mean_split, rows_of, spread
from noppa.methods.weighting import weighted_mean
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class Average:
    """1/n sum_i v_i. It has no parameters and learns nothing."""

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return ()

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        return weighted_mean(words, None)

    def split(self, words: WordVectors, learnt: Learnt, ids: Ids) -> Split:
        kept = kept_of(ids)
        return spread(mean_split(rows_of(words, ids[kept])), kept, len(ids))
