"""S3E: semantic subspace sentence embedding (Wang, Chen, Wang and Kuo, 2020)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.kernels.formulas import residuals, s3e_residuals
from noppa.methods.corpus import Ids, counts
from noppa.methods.k_means import centroids_of_corpus, labels_of
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Float, Split, kept_of, plain, rows_of, spread
from noppa.methods.weighting import inverse_frequency_weight, probabilities_of
from noppa.parameters import any_number, boolean, one_of, positive, seed_number, settle, some
from noppa.refine import CommonComponents, Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class S3E:
    """Covariance of k semantic groups of words, after their weighted average; then the first common component goes.

    Within a group g with centroid c: phi_g = sum_i w_i (v_i - c), w = a / (a + p). Between groups: the covariance of
    phi over the dimensions, as its upper triangle (off-diagonal times sqrt 2) of length one.

    k: groups, by k-means over the corpus's different words with weights w. a: strength of the weight.
    components: how many common components to take out; 0 for none. average: whether the weighted average comes first.
    variant: "paper"; or "reference", the authors' program, which takes each word once and sums w_i v_i - c.
    seed: of the k-means.
    """

    LEARNT: ClassVar = {"centroids": "f8 k dim", "labels": "i4 words+1 <k"}

    k: int = 10
    a: float = 1e-3
    components: int = 1
    average: bool = True
    variant: str = "paper"
    seed: int = 0

    def __post_init__(self) -> None:
        settle(self, k=some, a=positive, components=any_number, average=boolean, seed=seed_number)
        settle(self, variant=partial(one_of, choices=("paper", "reference")))

    def width(self, words: WordVectors) -> int:
        return self.k * (self.k + 1) // 2 + (words.dim if self.average else 0)

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def weights(self, words: WordVectors) -> NDArray[np.float64]:
        return inverse_frequency_weight(probabilities_of(words, f"S3E(a={self.a:g})"), self.a)

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": counts(sentences, len(words))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        centroids = centroids_of_corpus(
            words, sums["seen"], self.k, self.weights(words), self.seed, f"S3E(k={self.k})"
        )
        return {"centroids": centroids, "labels": labels_of(words, centroids)}

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        weights = self.weights(words).astype(kernels.REAL)
        table, labels = words.table, np.ascontiguousarray(learnt["labels"])
        centroids = np.ascontiguousarray(learnt["centroids"], kernels.REAL)
        options = (self.average, self.variant == "reference")

        def pool(
            ids: NDArray[np.int32], offsets: NDArray[np.int64], steps: kernels.Steps, threads: int
        ) -> Rows:
            return kernels.pool_s3e(
                table, weights, labels, centroids, *options, ids, offsets, steps, threads
            )

        return pool

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        """A covariance is a sum over pairs of words, of which each word gets one half."""
        kept, published = kept_of(ids), self.variant == "reference"
        if published:  # each word once
            kept = kept[np.sort(np.unique(ids[kept], return_index=True)[1])]
        vectors, weights = rows_of(words, ids[kept]), self.weights(words)[ids[kept]]
        labels, centroids = learnt["labels"][ids[kept]], learnt["centroids"]
        residual = s3e_residuals(vectors, weights, labels, centroids, published)
        sums, (row, column) = residuals(residual, labels, self.k), np.triu_indices(self.k)
        factor = np.where(row == column, 1, np.sqrt(2))
        length = np.linalg.norm(factor * (sums @ sums.T)[row, column]) or 1.0
        mine = (labels[:, None] == row) * (residual @ sums.T)[:, column]
        others = (labels[:, None] == column) * (residual @ sums.T)[:, row]
        terms = [factor * (mine + others) / (2 * length)]
        average = weights[:, None] * vectors / len(kept)
        shown = [np.zeros((len(kept), len(row)))]
        if self.average:
            terms, shown = [average, *terms], [vectors, *shown]

        def pairs(direction: Float) -> Float:
            cells = np.zeros((self.k, self.k))
            cells[row, column] = factor * direction[-len(row) :] / (2 * length)
            along = (cells + cells.T)[np.ix_(labels, labels)] * (residual @ residual.T)
            if self.average:
                along += np.diag(average @ direction[: words.dim])
            return np.asarray(along)

        found = plain(np.hstack(terms), np.hstack(shown), weights, pairs)
        return spread(found, kept, len(ids))
