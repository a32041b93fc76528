"""Weighted sums of word vectors: the plain average, TF-IDF, SIF and uSIF by frequency, and DCT by position."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.methods.method import (
    SUMS,
    Ids,
    Kernel,
    Learnt,
    Method,
    known_tokens,
    mean_kernel,
    mean_terms,
    probabilities_of,
    sentence_numbers,
    smooth_frequency_weight,
    vector_blocks,
)
from noppa.parameters import count, one_of, optional, positive, positive_count, validate_fields
from noppa.refine import CommonComponents, Float, Refinement
from noppa.words.word_vectors import WordVectors

#: One over less than this would leave float32.
SHORTEST = 1e-30


class Mean(Method):
    """Base class of 1/n sum_i w_i v_i, or sum_i w_i v_i / sum_i w_i if `divisor` is "weights"."""

    uses_order = False
    is_mean = True
    divisor: ClassVar = "tokens"

    def width(self, words: WordVectors) -> int:
        return words.dim

    def terms(self, vectors: Float, weights: Float) -> Float:
        return mean_terms(vectors, weights, self.divisor)

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return mean_kernel(words.table, self.weights(words, learnt), self.divisor)


@dataclass(frozen=True)
class Average(Mean):
    """1/n sum_i v_i: the baseline of every other method. It has no parameters and learns nothing."""


@dataclass(frozen=True)
class TfIdf(Mean):
    """sum_i idf_i v_i / sum_i idf_i with the smoothed idf = ln((1 + N) / (1 + df)) + 1; each sentence is a document.

    A word counts as often as it occurs, which is its term frequency; a word that is not in the corpus has df = 0.
    """

    learning: ClassVar = SUMS
    is_mean = False
    divisor: ClassVar = "weights"
    LEARNT: ClassVar = {"idf": "f4|f8 words+1 positive"}

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        total, having = 0, np.zeros(len(words) + 1)
        for ids, offsets in sentences:
            total += len(offsets) - 1
            pairs = sentence_numbers(offsets) * (len(words) + 2) + ids
            once = np.unique(pairs[ids >= 0]) % (len(words) + 2)
            having += np.bincount(once, minlength=len(words) + 1)
        return {"total": np.array(total), "having": having}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        return {"idf": np.log((1 + sums["total"]) / (1 + sums["having"])) + 1}

    def weights(self, words: WordVectors, learnt: Learnt) -> Float:
        return np.asarray(learnt["idf"])


@dataclass(frozen=True)
class SIF(Mean):
    """1/n sum_i a / (a + p_i) v_i, without the first common component of the corpus (Arora, Liang and Ma, 2017).

    Args:
        a: Strength of the weight.
        components: How many common components to remove; 0 for none.
    """

    needs_probabilities = True
    settable: ClassVar = ("a",)

    a: float = 1e-3
    components: int = 1

    def __post_init__(self) -> None:
        validate_fields(self, a=positive, components=count)

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.components),) if self.components else ()

    def weigh(self, probabilities: Float) -> Float:
        return np.asarray(self.a / (self.a + probabilities))


@dataclass(frozen=True)
class USIF(Mean):
    """1/n sum_i a / (p_i + a/2) v_i / |v_i|, without m common components, each in proportion to its variance.

    Unsupervised SIF, which derives its own a (Ethayarajh, 2018).

    Args:
        m: How many components to remove; 0 for none.
        n: Expected length of a sentence; None takes the mean length of the corpus.
        a: None derives it from n and the word probabilities: a = (1 - alpha) / (alpha |V| / 2), where alpha is the share
            of the vocabulary that is more probable than 1 - (1 - 1/|V|)^n.
        normalize: "word" scales each word vector to length one, as the angular model requires; "dimension" scales each
            dimension by its norm over the sentence's words, as the author's program does; None does not scale.
    """

    needs_probabilities = True
    learning: ClassVar = SUMS
    settable: ClassVar = ("a",)
    LEARNT: ClassVar = {"a": "f8 1 positive"}

    m: int = 5
    n: float | None = None
    a: float | None = None
    normalize: str | None = "word"

    def __post_init__(self) -> None:
        validate_fields(self, m=count, n=optional(positive), a=optional(positive))
        validate_fields(self, normalize=partial(one_of, choices=("word", "dimension", None)))

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        return self.normalize != "dimension"

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.m, weighted=True),) if self.m else ()

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """Count the known words, and the sentences with at least one."""
        lengths = np.zeros(2, np.int64)
        for ids, offsets in sentences:
            known = known_tokens(ids, offsets)
            lengths += known.sum(), np.count_nonzero(known)
        return {"lengths": lengths}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        probabilities = words.needed_probabilities("USIF")
        if self.a is not None:
            return {"a": np.array([self.a])}
        tokens, sentences = sums["lengths"].tolist()
        if self.n is None and not sentences:
            raise ParameterError(
                "the corpus has no known word to take the mean length from", "set n"
            )
        return {"a": np.array([derived_a(probabilities, self.n or tokens / sentences)])}

    def weights(self, words: WordVectors, learnt: Learnt) -> Float:
        return smooth_frequency_weight(probabilities_of(words, "USIF"), float(learnt["a"][0]))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        weights = self.weights(words, learnt)
        if self.normalize == "word":
            lengths = [np.linalg.norm(block, axis=1) for block in vector_blocks(words)]
            weights = weights / or_one(np.concatenate([*lengths, [1.0]]))
        return mean_kernel(words.table, weights, scaled=self.normalize == "dimension")

    def terms(self, vectors: Float, weights: Float) -> Float:
        if self.normalize == "word":
            weights = weights / or_one(np.linalg.norm(vectors, axis=1))
        return mean_terms(vectors, weights, scaled=self.normalize == "dimension")


def derived_a(probabilities: Float, n: float) -> float:
    """Return the paper's a for sentences of n words."""
    size = len(probabilities)
    alpha = float((probabilities > 1 - (1 - 1 / size) ** n).mean())
    if not 0 < alpha < 1:
        raise ParameterError(
            f"USIF() cannot derive a: {alpha:.0%} of the {size} words are more probable than a walk of {n:g} words expects",
            "set a",
        )
    return (1 - alpha) / (alpha * size / 2)


def or_one(lengths: Float) -> Float:
    """Replace lengths that are too short to divide by in float32 by 1."""
    return np.where(lengths > SHORTEST, lengths, 1)


@dataclass(frozen=True)
class DCT(Method):
    """[c_0 ; … ; c_(k-1)] with c_j = s_j sum_t v_t cos(pi (2t + 1) j / 2n), orthonormal: s_0 = sqrt(1/n), s_j = sqrt(2/n).

    The first coefficients of a discrete cosine transform over the words (Almarwani, Aldarmaki and Diab, 2019).

    Args:
        k: How many coefficients. c_0 is the sum of the words over sqrt(n); the others keep their order. A sentence of
            fewer than k words is padded with zero vectors.
    """

    settable: ClassVar = ("k",)

    k: int = 3

    def __post_init__(self) -> None:
        validate_fields(self, k=positive_count)

    def width(self, words: WordVectors) -> int:
        return words.dim * self.k

    def terms(self, vectors: Float, weights: Float) -> Float:
        terms = waves(len(vectors), self.k).T[:, :, None] * vectors[:, None, :]
        return np.asarray(terms.reshape(len(vectors), -1))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        return Kernel("dct", words.table, {"k": self.k})


def waves(tokens: int, k: int) -> Float:
    """Return the first k waves of the orthonormal DCT-II over the words, (k, tokens), padded to at least k words."""
    length = max(tokens, k)
    order, place = np.arange(k)[:, None], np.arange(tokens)
    values = np.cos(np.pi * (2 * place + 1) * order / (2 * length))
    return np.asarray(np.sqrt(np.where(order, 2, 1) / length) * values)
