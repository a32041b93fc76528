"""FastSent: a sum of word vectors that predicts the neighbouring sentences (Hill, Cho and Korhonen, 2016)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.kernels.formulas import DIVISORS
from noppa.methods.corpus import Ids
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Split, kept_of, mean_split, spread
from noppa.methods.trained import TRAINED, TRAINING, trained, trained_rows, trained_table
from noppa.parameters import boolean, settle
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class FastSent:
    """sum_i u_i, with u trained so that the sum predicts the words of the sentences before and after.

    The texts given to `fit` are the sentences of a running text, in order. Training starts from the word vectors.

    autoencode: predict the sentence's own words, too (the paper's FastSent+AE). epochs: passes over the corpus.
    rate: of learning, falling to 0. negatives: noise words against each true one. t: words more frequent than this are
        predicted less often. seed: of everything drawn.
    """

    LEARNT: ClassVar = {**TRAINED, "pairs": "f4 0 dim"}

    autoencode: bool = False
    epochs: int = 5
    rate: float = 0.025
    negatives: int = 5
    t: float = 1e-4
    seed: int = 0

    def __post_init__(self) -> None:
        settle(self, autoencode=boolean, **TRAINING)

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return ()

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return trained(words, sentences, self, adjacent=True, itself=self.autoencode)

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        table, divisor = trained_table(words, learnt), DIVISORS.index("one")

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            return kernels.pool_mean(table, None, divisor, False, ids, offsets, steps, threads)

        return pool

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        kept = kept_of(ids)
        vectors = trained_rows(words, learnt, ids[kept])
        return spread(mean_split(vectors, divisor="one"), kept, len(ids))
