"""S3E: semantic subspace sentence embedding (Wang, Chen, Wang and Kuo, 2020)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.methods.k_means import centroids_of_corpus, labels_of
from noppa.methods.method import (
    SUMS,
    Ids,
    Kernel,
    Learnt,
    Method,
    Sentence,
    Split,
    inverse_frequency_weight,
    plain,
    spread,
    word_counts,
)
from noppa.methods.vlawe import slot_sums
from noppa.parameters import (
    boolean,
    count,
    one_of,
    positive,
    positive_count,
    seed_number,
    validate_fields,
)
from noppa.refine import CommonComponents, Float, Refinement
from noppa.words.word_vectors import WordVectors


@dataclass(frozen=True)
class S3E(Method):
    """The weighted average, then the covariance of k semantic groups of words, without the first common component.

    Within a group g with centroid c: phi_g = sum_i w_i (v_i - c), w = a / (a + p). Between groups: the covariance of
    phi over the dimensions, as its upper triangle (off-diagonal times sqrt 2) of length one.

    Args:
        k: Number of groups, by k-means over the corpus's distinct words with weights w.
        a: Strength of the weight.
        components: How many common components to remove; 0 for none.
        average: Whether to include the weighted average.
        variant: "paper", or "reference" for the authors' program, which takes each word once and sums w_i v_i - c.
        seed: Seed of the k-means.
    """

    needs_probabilities = True
    learning: ClassVar = SUMS
    uses_order = False
    settable: ClassVar = ("a", "k")
    LEARNT: ClassVar = {"centroids": "f8 k dim", "labels": "i4 words+1 <k"}

    k: int = 10
    a: float = 1e-3
    components: int = 1
    average: bool = True
    variant: str = "paper"
    seed: int = 0

    def __post_init__(self) -> None:
        validate_fields(
            self, k=positive_count, a=positive, components=count, average=boolean, seed=seed_number
        )
        validate_fields(self, variant=partial(one_of, choices=("paper", "reference")))

    def width(self, words: WordVectors) -> int:
        return self.k * (self.k + 1) // 2 + (words.dim if self.average else 0)

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def weigh(self, probabilities: Float) -> Float:
        return inverse_frequency_weight(probabilities, self.a)

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": word_counts(sentences, len(words))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        weights = self.weights(words, {})
        centroids = centroids_of_corpus(
            words, sums["seen"], self.k, weights, self.seed, f"S3E(k={self.k})"
        )
        return {"centroids": centroids, "labels": labels_of(words, centroids)}

    def pooled(self, sentence: Sentence) -> Float:
        sentence = self._counted(sentence)
        sums = slot_sums(self._residuals(sentence), self._labels(sentence), self.k)
        factor, row, column = triangle(self.k)
        cells = factor * (sums @ sums.T)[row, column]
        length = np.linalg.norm(cells)
        cells = cells / length if length > 0 else cells
        average = sentence.weights @ sentence.vectors / len(sentence)
        return np.concatenate([average, cells]) if self.average else np.asarray(cells)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        weights = self.weights(words, learnt)
        arguments = {
            "weights": None if weights is None else weights.astype(kernels.REAL),
            "labels": np.ascontiguousarray(learnt["labels"]),
            "centroids": np.ascontiguousarray(learnt["centroids"], kernels.REAL),
            "average": self.average,
            "published": self.variant == "reference",
        }
        return Kernel("s3e", words.table, arguments)

    def split(self, sentence: Sentence) -> Split:
        """Divide the row among the tokens: a covariance is a sum over pairs of words, and each word gets one half."""
        counted = self._counted(sentence)
        vectors, weights, labels = counted.vectors, counted.weights, self._labels(counted)
        residual = self._residuals(counted)
        sums, (factor, row, column) = slot_sums(residual, labels, self.k), triangle(self.k)
        length = np.linalg.norm(factor * (sums @ sums.T)[row, column]) or 1.0
        first_slot = (labels[:, None] == row) * (residual @ sums.T)[:, column]
        second_slot = (labels[:, None] == column) * (residual @ sums.T)[:, row]
        terms = [factor * (first_slot + second_slot) / (2 * length)]
        average = weights[:, None] * vectors / len(counted)
        shown = [np.zeros((len(counted), len(row)))]
        if self.average:
            terms, shown = [average, *terms], [vectors, *shown]

        def pairs(direction: Float) -> Float:
            cells = np.zeros((self.k, self.k))
            cells[row, column] = factor * direction[-len(row) :] / (2 * length)
            along = (cells + cells.T)[np.ix_(labels, labels)] * (residual @ residual.T)
            if self.average:
                along += np.diag(average @ direction[: vectors.shape[1]])
            return np.asarray(along)

        split = plain(np.hstack(terms), np.hstack(shown), weights, pairs)
        return spread(split, np.searchsorted(sentence.places, counted.places), len(sentence))

    def _counted(self, sentence: Sentence) -> Sentence:
        """Return the tokens that count: the authors' program takes each word once, where it first occurs."""
        if self.variant == "paper":
            return sentence
        return sentence.only(np.sort(np.unique(sentence.ids, return_index=True)[1]))

    def _labels(self, sentence: Sentence) -> NDArray[np.int32]:
        return np.asarray(sentence.learnt["labels"][sentence.ids])

    def _residuals(self, sentence: Sentence) -> Float:
        """Return w_i (v_i - c), or w_i v_i - c for the reference, without its mean over the dimensions, (tokens, dim)."""
        weights = sentence.weights[:, None]
        centres = sentence.learnt["centroids"][self._labels(sentence)]
        rows = weights * sentence.vectors - (weights if self.variant == "paper" else 1) * centres
        return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def triangle(k: int) -> tuple[Float, NDArray[np.int64], NDArray[np.int64]]:
    """Return the factor, the row and the column of each cell in the upper triangle of a (k, k) table."""
    row, column = np.triu_indices(k)
    return np.where(row == column, 1, np.sqrt(2)), row, column
