"""VLAWE: vectors of locally aggregated word embeddings (Ionescu and Butnaru, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.methods.corpus import Ids, counts
from noppa.methods.k_means import centroids_of_corpus, labels_of
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Float, Split, kept_of, plain, rows_of, spread
from noppa.parameters import number, optional, positive, seed_number, settle, some
from noppa.refine import Refinement, Whitening
from noppa.words.word_vectors import WordVectors

#: Why a number of a VLAWE vector belongs to no word.
CANCELLED = "residuals that cancel"
MOST_POWER = 4


@dataclass(frozen=True)
class VLAWE:
    """For each of k codewords c the sum of v - c over the words nearest to it; signed powers of all, then length one.

    k: codewords, the k-means centroids of the corpus's different words. power: of the power normalisation.
    pca: how many principal components to keep, the paper's compact variant; None keeps all k * dim numbers.
    seed: of the k-means.
    """

    LEARNT: ClassVar = {"centroids": "f8 k dim", "labels": "i4 words+1 <k"}

    k: int = 10
    power: float = 0.5
    pca: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        settle(self, k=some, power=_power, pca=optional(some), seed=seed_number)

    def width(self, words: WordVectors) -> int:
        return words.dim * self.k

    def refinements(self) -> tuple[Refinement, ...]:
        return () if self.pca is None else (Whitening(self.pca, strength=0),)

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": counts(sentences, len(words))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        centroids = centroids_of_corpus(
            words, sums["seen"], self.k, None, self.seed, f"VLAWE(k={self.k})"
        )
        return {"centroids": centroids, "labels": labels_of(words, centroids)}

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        table, labels = words.table, np.ascontiguousarray(learnt["labels"])
        centroids = np.ascontiguousarray(learnt["centroids"], kernels.REAL)

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            return kernels.pool_vlawe(
                table, labels, centroids, self.power, ids, offsets, steps, threads
            )

        return pool

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        kept = kept_of(ids)
        vectors, labels = rows_of(words, ids[kept]), learnt["labels"][ids[kept]]
        terms, cancelled = power_terms(
            vectors - learnt["centroids"][labels], labels, self.k, self.power
        )
        found = plain(terms, np.tile(vectors, self.k), np.ones(len(kept)))
        rest = {CANCELLED: cancelled} if cancelled.any() else {}
        return spread(replace(found, rest=rest), kept, len(ids))


def _power(value: Any, name: str) -> float:
    """Above 0 and small enough that a sum of the largest vectors, to this power and squared, stays finite."""
    return number(positive(value, name), name, 0, MOST_POWER)


def power_terms(
    residual: Float, labels: NDArray[np.int32], slots: int, power: float
) -> tuple[Float, Float]:
    """Each number of `formulas.vlawe` divided among the words in proportion to their residuals, (tokens, slots * dim).

    Where residuals cancel, the power of what rounding leaves of their sum has no such shares: that comes second,
    (slots * dim,).
    """
    tokens, dim = residual.shape
    slotted = np.zeros((tokens, slots, dim))
    slotted[np.arange(tokens), labels] = residual
    wide = slotted.reshape(tokens, slots * dim)
    sums = wide.sum(axis=0)
    raised = np.sign(sums) * np.abs(sums) ** power
    length = np.linalg.norm(raised)
    raised = raised / length if length > 0 else raised
    shared = np.abs(sums) > 1e-9 * np.abs(wide).sum(axis=0)
    terms = wide * np.where(shared, raised / np.where(shared, sums, 1), 0)
    return terms, np.where(shared, 0, raised)
