"""GEM: geometric embedding of words by what each adds to its context (Yang, Zhu and Chen, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.kernels.backend import kernels
from noppa.kernels.formulas import gem_weights
from noppa.methods.corpus import Ids
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Split, kept_of, plain, rows_of, spread
from noppa.parameters import settle, some, whole
from noppa.refine import Moments, Refinement
from noppa.words.word_vectors import WordVectors

#: The square of its root, times that of the largest vector, is still a float64.
MOST_PRODUCT = 1e240


@dataclass(frozen=True)
class GEM:
    """sum_i (novelty + significance + uniqueness) v_i, without the h corpus directions nearest to the sentence.

    With r the part of v_i outside the span of its window, q = r / |r| and d, s the directions and singular values of the
    corpus: novelty e^(|r| / |v_i|), significance |r| / words in the window, uniqueness e^(-|s_j q·d_j| / h) over the h
    directions with the largest s_j |X d_j|.

    m: words of the window on either side. k: corpus directions to choose from. h: how many to choose.
    t: power of the singular values of a sentence in its coarse vector, from which the corpus directions come.
    """

    LEARNT: ClassVar = {"directions": "f8 k dim", "values": "f8 k"}

    m: int = 7
    k: int = 45
    h: int = 17
    t: int = 3

    def __post_init__(self) -> None:
        window, power = partial(whole, least=1, most=1000), partial(whole, least=1, most=100)
        settle(self, m=window, k=some, h=some, t=power)
        if self.h > self.k:
            raise ParameterError(
                f"h must be at most k={self.k}, the directions to choose from, not {self.h}"
            )

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return ()

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        if self.k > words.dim:
            raise ParameterError(
                f"GEM(k={self.k}) wants more directions than the {words.dim} dimensions of the word vectors: lower k and h"
            )
        moments = Moments.empty(words.dim)
        for ids, offsets in sentences:
            rows = [
                coarse(words.vectors(sentence[(sentence >= 0) & (sentence < len(words))]), self.t)
                for sentence in np.split(ids, offsets[1:-1])
            ]
            with np.errstate(over="ignore", invalid="ignore"):
                moments += Moments.of(rows)
        return {"products": moments.products}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        if not np.abs(sums["products"]).max() <= MOST_PRODUCT:
            raise ParameterError(
                f"GEM(t={self.t}) raises singular values beyond what numbers can hold: lower t"
            )
        squares, directions = np.linalg.eigh(sums["products"])
        values = np.sqrt(np.maximum(squares[::-1], 0))
        return {
            "directions": np.ascontiguousarray(directions.T[::-1][: self.k]),
            "values": values[: self.k].copy(),
        }

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        table = words.table
        directions = np.ascontiguousarray(learnt["directions"], np.float64)
        values = np.ascontiguousarray(learnt["values"], np.float64)

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            return kernels.pool_gem(
                table, directions, values, self.m, self.h, ids, offsets, steps, threads
            )

        return pool

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        kept = kept_of(ids)
        vectors = rows_of(words, ids[kept])
        alphas, chosen = gem_weights(
            vectors, learnt["directions"], learnt["values"], self.m, self.h
        )
        terms = alphas[:, None] * (vectors - vectors @ chosen.T @ chosen)
        return spread(plain(terms, vectors, alphas), kept, len(ids))


def coarse(vectors: NDArray[np.floating], t: int) -> NDArray[np.float64]:
    """sum_j s_j^t u_j over the singular directions u of a sentence, (dim,).

    A singular vector has no sign of its own; here its largest entry is positive, so that every machine agrees.
    """
    if not len(vectors):
        return np.zeros(vectors.shape[1])
    _, values, directions = np.linalg.svd(vectors.astype(float), full_matrices=False)
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    with np.errstate(over="ignore", invalid="ignore"):  # `conclude` tells of it
        return np.asarray((signs * values**t) @ directions)
