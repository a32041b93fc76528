"""VLAWE: vectors of locally aggregated word embeddings (Ionescu and Butnaru, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.methods.corpus import Ids, counts
from noppa.methods.k_means import centroids_of_corpus, labels_of
from noppa.methods.numpy_form import Learnt, Sentence
from noppa.methods.protocol import SUMS, Kernel, Method
from noppa.methods.split import Float, Split, plain
from noppa.parameters import (
    number,
    optional,
    positive,
    positive_count,
    seed_number,
    validate_fields,
)
from noppa.refine import Normalize, Refinement, Whitening
from noppa.words.word_vectors import WordVectors

#: Why a number of a VLAWE vector belongs to no word.
CANCELLED = "residuals that cancel"
MOST_POWER = 4


@dataclass(frozen=True)
class VLAWE(Method):
    """For each of k codewords c the sum of v - c over the words nearest to it; signed powers of all, then length one.

    k: codewords, the k-means centroids of the corpus's different words. power: of the power normalization.
    pca: how many principal components to keep, the paper's compact variant, taken of the powers around zero and before the
        length is made one, as the authors' program does; None keeps all k * dim numbers.
    seed: of the k-means.
    """

    learning: ClassVar = SUMS
    uses_order = False
    settable: ClassVar = ("k",)
    mean_obstacle = "VLAWE takes powers of sums over the words nearest to each codeword"
    COST: ClassVar = "(n + k) d"
    LEARNT: ClassVar = {"centroids": "f8 k dim", "labels": "i4 words+1 <k"}

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

    @property
    def _unit(self) -> bool:
        """Whether pooled rows have length one: components are taken before."""
        return self.pca is None

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": counts(sentences, len(words))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        centroids = centroids_of_corpus(
            words, sums["seen"], self.k, None, self.seed, f"VLAWE(k={self.k})"
        )
        return {"centroids": centroids, "labels": labels_of(words, centroids)}

    def pooled(self, sentence: Sentence) -> Float:
        labels, centroids = sentence.learnt["labels"][sentence.ids], sentence.learnt["centroids"]
        sums = slot_sums(sentence.vectors - centroids[labels], labels, self.k).ravel()
        return raised(sums, self.power, self._unit)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        arguments = {
            "labels": np.ascontiguousarray(learnt["labels"]),
            "centroids": np.ascontiguousarray(learnt["centroids"], kernels.REAL),
            "power": self.power,
            "unit": self._unit,
        }
        return Kernel("vlawe", words.table, arguments)

    def split(self, sentence: Sentence) -> Split:
        vectors, labels = sentence.vectors, sentence.learnt["labels"][sentence.ids]
        residual = vectors - sentence.learnt["centroids"][labels]
        terms, cancelled = power_terms(residual, labels, self.k, self.power, self._unit)
        split = plain(terms, np.tile(vectors, self.k), np.ones(len(vectors)))
        return replace(split, rest={CANCELLED: cancelled} if cancelled.any() else {})


def _power(value: Any, name: str) -> float:
    """Above 0 and small enough that a sum of the largest vectors, to this power and squared, stays finite."""
    return number(positive(value, name), name, 0, MOST_POWER)


def slot_sums(rows: Float, labels: NDArray[np.int32], slots: int) -> Float:
    """The sum of the rows (tokens, dim) of each label, (slots, dim)."""
    sums = np.zeros((slots, rows.shape[1]))
    np.add.at(sums, labels, rows)
    return sums


def raised(sums: Float, power: float, unit: bool = True) -> Float:
    """Each number to a power, its sign kept, and all of them to length one unless `unit` is False."""
    powers = np.sign(sums) * np.abs(sums) ** power
    length = np.linalg.norm(powers) if unit else 1.0
    return np.asarray(powers / length if length > 0 else powers)


def power_terms(
    residual: Float, labels: NDArray[np.int32], slots: int, power: float, unit: bool = True
) -> tuple[Float, Float]:
    """Each number of `raised` divided among the words in proportion to their residuals, (tokens, slots * dim).

    Where residuals cancel, the power of what rounding leaves of their sum has no such shares: that comes second,
    (slots * dim,).
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
