"""uSIF: unsupervised smooth inverse frequency (Ethayarajh, 2018), which finds its own a."""

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
    smooth_frequency_weight,
)
from noppa.parameters import count, one_of, optional, positive, validate_fields
from noppa.refine import CommonComponents, Float, Refinement
from noppa.words.word_vectors import WordVectors

#: One over less than this would leave float32.
SHORTEST = 1e-30


@dataclass(frozen=True)
class USIF(Method):
    """1/n sum_i a / (p_i + a/2) v_i / |v_i|, without m common components, each in proportion to its variance.

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
    uses_order = False
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

    def width(self, words: WordVectors) -> int:
        return words.dim

    def refinements(self) -> tuple[Refinement, ...]:
        return (CommonComponents(self.m, weighted=True),) if self.m else ()

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        return {"lengths": np.array([0, 0] if self.a or self.n else lengths(sentences))}

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        probabilities = words.needed_probabilities("USIF")
        if self.a is not None:
            return {"a": np.array([self.a])}
        return {"a": np.array([derived_a(probabilities, self.n or mean_length(sums["lengths"]))])}

    def weights(self, words: WordVectors, learnt: Learnt) -> Float:
        return smooth_frequency_weight(probabilities_of(words, "USIF"), float(learnt["a"][0]))

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel:
        weights = self.weights(words, learnt)
        if self.normalize == "word":
            weights = weights / lengths_of(words)
        scaled = self.normalize == "dimension"
        return mean_kernel(words.table, weights, scaled=scaled)

    def terms(self, vectors: Float, weights: Float) -> Float:
        if self.normalize == "word":
            weights = weights / or_one(np.linalg.norm(vectors, axis=1))
        return mean_terms(vectors, weights, scaled=self.normalize == "dimension")


def lengths(sentences: Iterable[Ids]) -> tuple[int, int]:
    """Return the number of known words, and of sentences with at least one."""
    tokens = counted = 0
    for ids, offsets in sentences:
        known = known_tokens(ids, offsets)
        tokens, counted = tokens + int(known.sum()), counted + int((known > 0).sum())
    return tokens, counted


def mean_length(sums: NDArray[np.int64]) -> float:
    """Return the mean number of known words of the sentences with at least one, from `lengths`."""
    tokens, counted = sums.tolist()
    if not counted:
        raise ParameterError("the corpus has no known word to take the mean length from", "set n")
    return float(tokens / counted)


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


def lengths_of(words: WordVectors, block: int = 1 << 14) -> Float:
    """Return the length of each word vector, and 1 for the zero word, (words + 1,)."""
    lengths = np.ones(len(words) + 1)
    for at in range(0, len(words), block):
        rows = words.vectors(np.arange(at, min(at + block, len(words)))).astype(float)
        lengths[at : at + len(rows)] = np.linalg.norm(rows, axis=1)
    return or_one(lengths)


def or_one(lengths: Float) -> Float:
    """Replace lengths that are too short to divide by in float32 by 1."""
    return np.where(lengths > SHORTEST, lengths, 1)
