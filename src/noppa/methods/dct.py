"""DCT: the first coefficients of a discrete cosine transform over the words (Almarwani, Aldarmaki and Diab, 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.kernels.formulas import dct_waves
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Split, kept_of, plain, rows_of, spread
from noppa.parameters import settle, some
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class DCT:
    """[c_0 ; … ; c_(k-1)] with c_j = s_j sum_t v_t cos(pi (2t + 1) j / 2n), orthonormal: s_0 = sqrt(1/n), s_j = sqrt(2/n).

    k: how many coefficients; c_0 is the sum of the words over sqrt(n), the others keep their order. A sentence of fewer
        than k words is padded with zero vectors.
    """

    k: int = 3

    def __post_init__(self) -> None:
        settle(self, k=some)

    def width(self, words: WordVectors) -> int:
        return words.dim * self.k

    def refinements(self) -> tuple[Refinement, ...]:
        return ()

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        table = words.table

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            return kernels.pool_dct(table, self.k, ids, offsets, steps, threads)

        return pool

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        kept = kept_of(ids)
        vectors, tokens = rows_of(words, ids[kept]), len(kept)
        terms = dct_waves(tokens, self.k).T[:, :, None] * vectors[:, None, :]
        found = plain(terms.reshape(tokens, -1), np.tile(vectors, self.k), np.ones(tokens))
        return spread(found, kept, len(ids))
