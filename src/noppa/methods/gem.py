"""GEM: geometric embedding of words by what each adds to its context (Yang, Zhu and Chen, 2019)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.constants import IN_SPAN
from noppa.errors import ParameterError
from noppa.methods.method import SUMS, Ids, Kernel, Learnt, Method, Sentence, Split, plain
from noppa.parameters import optional, positive_count, validate_fields, whole
from noppa.refine import Float, Moments
from noppa.words.word_vectors import WordVectors

#: The square of its root, times the square of the largest vector, still fits float64.
MOST_PRODUCT = 1e240

#: The paper's vectors are three sets of 300 dimensions side by side.
PAPER_DIM, PAPER_K, PAPER_H = 900, 45, 17


@dataclass(frozen=True)
class GEM(Method):
    """sum_i (novelty + significance + uniqueness) v_i, without the h corpus directions nearest to the sentence.

    With r the part of v_i outside the span of its window, q = r / |r| and d, s the directions and singular values of the
    corpus: novelty e^(|r| / |v_i|), significance |r| / words in the window, uniqueness e^(-|s_j q·d_j| / h) over the h
    directions with the largest s_j |X d_j|.

    Args:
        m: Number of words of the window on either side.
        k: Number of corpus directions to choose from; None is one per 20 dimensions, as in the paper (45 for 900).
        h: How many of them to choose; None is 17/45 of k, as in the paper.
        t: Power of the singular values of a sentence in its coarse vector, from which the corpus directions come.
    """

    learning: ClassVar = SUMS
    settable: ClassVar = ("k",)
    LEARNT: ClassVar = {"directions": "f8 k dim", "values": "f8 k"}

    m: int = 7
    k: int | None = None
    h: int | None = None
    t: int = 3

    def __post_init__(self) -> None:
        window, power = partial(whole, least=1, most=1000), partial(whole, least=1, most=100)
        validate_fields(
            self, m=window, k=optional(positive_count), h=optional(positive_count), t=power
        )
        if self.h is not None and self.k is not None and self.h > self.k:
            raise ParameterError(
                f"h must be at most k={self.k}, the directions to choose from, not {self.h}"
            )

    def width(self, words: WordVectors) -> int:
        return words.dim

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        k = self._directions(words.dim)
        if k > words.dim or self._removed(k) > k:
            raise ParameterError(
                f"GEM(k={k}, h={self._removed(k)}) needs more directions than the {words.dim} dimensions of the word vectors",
                "lower k and h",
            )
        moments = Moments.empty(words.dim)
        for ids, offsets in sentences:
            rows = [
                coarse(words.vectors(sentence[(sentence >= 0) & (sentence < len(words))]), self.t)
                for sentence in np.split(ids, offsets[1:-1])
            ]
            with np.errstate(over="ignore", invalid="ignore"):
                moments += Moments.from_rows(rows)
        return {"products": moments.products}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        if not np.abs(sums["products"]).max() <= MOST_PRODUCT:
            raise ParameterError(f"the singular values to the power t={self.t} overflow", "lower t")
        squares, directions = np.linalg.eigh(sums["products"])
        values = np.sqrt(np.maximum(squares[::-1], 0))
        return {
            "directions": np.ascontiguousarray(directions.T[::-1][: self._directions(words.dim)]),
            "values": values[: self._directions(words.dim)].copy(),
        }

    def _directions(self, dim: int) -> int:
        return max(1, round(dim * PAPER_K / PAPER_DIM)) if self.k is None else self.k

    def _removed(self, directions: int) -> int:
        return max(1, round(directions * PAPER_H / PAPER_K)) if self.h is None else self.h

    def pooled(self, sentence: Sentence) -> Float:
        alphas, chosen = self._alphas(sentence)
        total = alphas @ sentence.vectors
        return np.asarray(total - (chosen @ total) @ chosen)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        arguments = {
            "directions": np.ascontiguousarray(learnt["directions"], np.float64),
            "values": np.ascontiguousarray(learnt["values"], np.float64),
            "window": self.m,
            "removed": self._removed(len(learnt["values"])),
        }
        return Kernel("gem", words.table, arguments)

    def split(self, sentence: Sentence) -> Split:
        vectors, (alphas, chosen) = sentence.vectors, self._alphas(sentence)
        terms = alphas[:, None] * (vectors - vectors @ chosen.T @ chosen)
        return plain(terms, vectors, alphas)

    def _alphas(self, sentence: Sentence) -> tuple[Float, Float]:
        """Return novelty + significance + uniqueness of each word, (tokens,), and the sentence's h directions, (h, dim)."""
        vectors, learnt = sentence.vectors, sentence.learnt
        shares = learnt["values"] * np.linalg.norm(vectors @ learnt["directions"].T, axis=0)
        removed = self._removed(len(shares))
        chosen = np.argsort(-shares, kind="stable")[:removed]
        directions, values = learnt["directions"][chosen], learnt["values"][chosen]
        alphas = np.full(len(vectors), 2.0)  # a word that adds nothing: e^0 + 0 + e^0
        for i, vector in enumerate(vectors):
            first, last = max(0, i - self.m), min(len(vectors), i + self.m + 1)
            novel = outside(vector, np.delete(vectors[first:last], i - first, axis=0))
            size = np.linalg.norm(novel)
            if size > 0:
                along = np.linalg.norm(values * (directions @ (novel / size)))
                novelty = np.exp(size / np.linalg.norm(vector))
                alphas[i] = novelty + size / (last - first) + np.exp(-along / removed)
        return alphas, directions


def outside(vector: Float, context: Float) -> Float:
    """Return the part of a vector outside the span of others, by Gram-Schmidt; zeros if it is inside."""
    basis = np.empty((0, len(vector)))
    for other in (*context, vector):
        rest = other - (basis @ other) @ basis
        rest -= (basis @ rest) @ basis
        size = np.linalg.norm(rest)
        inside = size <= IN_SPAN * np.linalg.norm(other)
        if other is vector:
            break
        if not inside:
            basis = np.vstack([basis, rest / size])
    return np.zeros_like(vector) if inside else rest


def coarse(vectors: NDArray[np.floating], t: int) -> NDArray[np.float64]:
    """Return sum_j s_j^t u_j over the singular directions u of a sentence, (dim,).

    The sign of a singular vector is arbitrary: its largest entry is made positive, so that every machine agrees.
    """
    if not len(vectors):
        return np.zeros(vectors.shape[1])
    _, values, directions = np.linalg.svd(vectors.astype(float), full_matrices=False)
    signs = np.sign(directions[np.arange(len(directions)), np.abs(directions).argmax(axis=1)])
    with np.errstate(over="ignore", invalid="ignore"):  # `conclude` reports it
        return np.asarray((signs * values**t) @ directions)
