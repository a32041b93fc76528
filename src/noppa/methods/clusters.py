"""Methods that sum the words of each k-means cluster of the corpus: VLAWE and S3E."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.methods.k_means import k_means, nearest
from noppa.methods.method import (
    SUMS,
    Ids,
    Kernel,
    Learnt,
    Method,
    Sentence,
    Split,
    plain,
    spread,
    vector_blocks,
    word_counts,
)
from noppa.parameters import (
    boolean,
    count,
    number,
    one_of,
    optional,
    positive,
    positive_count,
    seed_number,
    validate_fields,
)
from noppa.refine import CommonComponents, Float, Normalize, Refinement, Whitening
from noppa.words.word_vectors import WordVectors

#: The name of the part of a vector that belongs to no word.
CANCELLED = "residuals that cancel"
MOST_POWER = 4


class Clustered(Method):
    """Base class of methods that learn k centroids of the corpus's distinct words, weighted by `weights`."""

    learning: ClassVar = SUMS
    uses_order = False
    LEARNT: ClassVar = {"centroids": "f8 k dim", "labels": "i4 words+1 <k"}

    k: int
    seed: int

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": word_counts(sentences, len(words))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        seen, weights = np.flatnonzero(sums["seen"]), self.weights(words, {})
        if len(seen) < self.k:
            raise ParameterError(
                f"{type(self).__name__}(k={self.k}) needs a corpus of at least {self.k} distinct known words, and this one "
                f"has {len(seen)}",
                "fit on more text or lower k",
            )
        mass = None if weights is None else weights[seen]
        centroids = k_means(words.vectors(seen), self.k, mass, self.seed)
        blocks = [nearest(block, centroids) for block in vector_blocks(words)]
        zero_word = nearest(np.zeros((1, words.dim)), centroids)
        return {"centroids": centroids, "labels": np.concatenate([*blocks, zero_word])}

    def cluster_arguments(self, learnt: Learnt) -> dict[str, NDArray[Any]]:
        """Return the clusters as the kernels take them."""
        return {
            "labels": np.ascontiguousarray(learnt["labels"]),
            "centroids": np.ascontiguousarray(learnt["centroids"], kernels.REAL),
        }


@dataclass(frozen=True)
class VLAWE(Clustered):
    """For each of k codewords c the sum of v - c over the words nearest to it; signed powers of all, then length one.

    Vectors of locally aggregated word embeddings (Ionescu and Butnaru, 2019).

    Args:
        k: Number of codewords, the k-means centroids of the corpus's distinct words.
        power: Exponent of the power normalization.
        pca: How many principal components to keep (the paper's compact variant), taken of the powers around zero before
            scaling to length one, as the authors' program does; None keeps all k * dim numbers.
        seed: Seed of the k-means.
    """

    settable: ClassVar = ("k",)

    k: int = 10
    power: float = 0.5
    pca: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        validate_fields(
            self, k=positive_count, power=_power, pca=optional(positive_count), seed=seed_number
        )
        if self.pca is not None and self.power > 1:
            raise ParameterError(f"power must be at most 1 with pca={self.pca}, not {self.power}")

    def width(self, words: WordVectors) -> int:
        return words.dim * self.k

    def refinements(self) -> tuple[Refinement, ...]:
        if self.pca is None:
            return ()
        return (Whitening(self.pca, strength=0, centred=False), Normalize())

    # Pooled rows have length one; with `pca`, they are scaled after the projection.

    def pooled(self, sentence: Sentence) -> Float:
        labels, centroids = sentence.learnt["labels"][sentence.ids], sentence.learnt["centroids"]
        sums = slot_sums(sentence.vectors - centroids[labels], labels, self.k).ravel()
        return raised(sums, self.power, self.pca is None)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        arguments = {"power": self.power, "unit": self.pca is None}
        return Kernel("vlawe", words.table, {**self.cluster_arguments(learnt), **arguments})

    def split(self, sentence: Sentence) -> Split:
        vectors, labels = sentence.vectors, sentence.learnt["labels"][sentence.ids]
        residual = vectors - sentence.learnt["centroids"][labels]
        terms, cancelled = power_terms(residual, labels, self.k, self.power, self.pca is None)
        split = plain(terms, np.tile(vectors, self.k), np.ones(len(vectors)))
        return replace(split, rest={CANCELLED: cancelled} if cancelled.any() else {})


def _power(value: Any, name: str) -> float:
    """Validate a power: above 0, and small enough that powers of the largest sums stay finite."""
    return number(positive(value, name), name, 0, MOST_POWER)


def slot_sums(rows: Float, labels: NDArray[np.int32], slots: int) -> Float:
    """Return the sum of the rows (tokens, dim) of each label, (slots, dim)."""
    sums = np.zeros((slots, rows.shape[1]))
    np.add.at(sums, labels, rows)
    return sums


def raised(sums: Float, power: float, unit: bool = True) -> Float:
    """Raise each number to a power, keeping its sign, and scale the result to length one if `unit`."""
    powers = np.sign(sums) * np.abs(sums) ** power
    length = np.linalg.norm(powers) if unit else 1.0
    return np.asarray(powers / length if length > 0 else powers)


def power_terms(
    residual: Float, labels: NDArray[np.int32], slots: int, power: float, unit: bool = True
) -> tuple[Float, Float]:
    """Divide each number of `raised` among the words in proportion to their residuals, (tokens, slots * dim).

    If residuals cancel, the power of the rounding error cannot be divided: it is returned second, (slots * dim,).
    """
    tokens, dim = residual.shape
    slotted = np.zeros((tokens, slots, dim))
    slotted[np.arange(tokens), labels] = residual
    wide = slotted.reshape(tokens, slots * dim)
    sums = wide.sum(axis=0)
    powers = raised(sums, power, unit)
    shared = np.abs(sums) > 1e-9 * np.abs(wide).sum(axis=0)
    terms = wide * np.where(shared, powers / np.where(shared, sums, 1), 0)
    return terms, np.where(shared, 0, powers)


@dataclass(frozen=True)
class S3E(Clustered):
    """The weighted average, then the covariance of k semantic groups of words, without the first common component.

    Semantic subspace sentence embedding (Wang, Chen, Wang and Kuo, 2020).

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
    settable: ClassVar = ("a", "k")

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
        return np.asarray(self.a / (self.a + probabilities))

    def pooled(self, sentence: Sentence) -> Float:
        sentence = self._counted(sentence)
        sums = slot_sums(self._residuals(sentence), sentence.learnt["labels"][sentence.ids], self.k)
        factor, row, column = triangle(self.k)
        cells = factor * (sums @ sums.T)[row, column]
        length = np.linalg.norm(cells)
        cells = cells / length if length > 0 else cells
        average = sentence.weights @ sentence.vectors / len(sentence)
        return np.concatenate([average, cells]) if self.average else np.asarray(cells)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        arguments = {
            "weights": self.native_weights(words, learnt),
            "average": self.average,
            "published": self.variant == "reference",
        }
        return Kernel("s3e", words.table, {**self.cluster_arguments(learnt), **arguments})

    def split(self, sentence: Sentence) -> Split:
        """Divide the row among the tokens: a covariance is a sum over pairs of words, and each word gets one half."""
        counted = self._counted(sentence)
        vectors, weights = counted.vectors, counted.weights
        labels = counted.learnt["labels"][counted.ids]
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

    def _residuals(self, sentence: Sentence) -> Float:
        """Return w_i (v_i - c), or w_i v_i - c for the reference, without its mean over the dimensions, (tokens, dim)."""
        weights = sentence.weights[:, None]
        centres = sentence.learnt["centroids"][sentence.learnt["labels"][sentence.ids]]
        rows = weights * sentence.vectors - (weights if self.variant == "paper" else 1) * centres
        return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def triangle(k: int) -> tuple[Float, NDArray[np.int64], NDArray[np.int64]]:
    """Return the factor, the row and the column of each cell in the upper triangle of a (k, k) table."""
    row, column = np.triu_indices(k)
    return np.where(row == column, 1, np.sqrt(2)), row, column
