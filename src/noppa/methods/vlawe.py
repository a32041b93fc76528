"""VLAWE: vectors of locally aggregated word embeddings (Ionescu and Butnaru, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.methods.k_means import centroids_of_corpus, labels_of
from noppa.methods.method import (
    SUMS,
    Ids,
    Kernel,
    Learnt,
    Method,
    Sentence,
    Split,
    plain,
    word_counts,
)
from noppa.parameters import (
    number,
    optional,
    positive,
    positive_count,
    seed_number,
    validate_fields,
)
from noppa.refine import Float, Normalize, Refinement, Whitening
from noppa.words.word_vectors import WordVectors

#: The name of the part of a vector that belongs to no word.
CANCELLED = "residuals that cancel"
MOST_POWER = 4


@dataclass(frozen=True)
class VLAWE(Method):
    """For each of k codewords c the sum of v - c over the words nearest to it; signed powers of all, then length one.

    Args:
        k: Number of codewords, the k-means centroids of the corpus's distinct words.
        power: Exponent of the power normalization.
        pca: How many principal components to keep (the paper's compact variant), taken of the powers around zero before
            scaling to length one, as the authors' program does; None keeps all k * dim numbers.
        seed: Seed of the k-means.
    """

    learning: ClassVar = SUMS
    uses_order = False
    settable: ClassVar = ("k",)
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
        """Whether pooled rows have length one; with `pca`, they are scaled after the projection."""
        return self.pca is None

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"seen": word_counts(sentences, len(words))}

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
