"""A pooled vector split over the tokens of its sentence: what each method tells `noppa.explain.explanation` about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.formulas import mean_terms
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float64]
Ids = NDArray[np.int32]

DROPPED = -1


@dataclass(frozen=True, eq=False)
class Split:
    """One sentence taken apart, all in float64; the sum of `terms` and of `rest` is the pooled vector.

    terms: what each token adds to the pooled vector, (tokens, width).
    words: each word by itself, made as long as a pooled vector, for its cosine with the sentence, (tokens, width).
    weights: how much each word counts before anything depends on the sentence's length, (tokens,).
    positions: the place that the method gave to each token, -1 for one that took no part, (tokens,).
    attention: equation 13 where the method has it, (tokens, tokens).
    pairs: from a direction (width,) to what token i gives along it by way of token j, (tokens, tokens), its rows adding
        up to those of `terms`; None where a token gives everything by itself.
    rest: what belongs to no token, (width,), by the name of the reason.
    """

    terms: Float
    words: Float
    weights: Float
    positions: NDArray[np.int64]
    attention: Float | None = None
    pairs: Callable[[Float], Float] | None = None
    rest: Mapping[str, Float] = field(default_factory=dict)


def rows_of(words: WordVectors, ids: Ids) -> Float:
    """The vectors of ids, zeros for the zero word, (tokens, dim)."""
    rows = np.zeros((len(ids), words.dim))
    real = ids < len(words)
    rows[real] = words.vectors(ids[real])
    return rows


def kept_of(ids: Ids) -> NDArray[np.int64]:
    """Where the tokens stand that are not dropped."""
    return np.flatnonzero(ids != DROPPED)


def plain(
    terms: Float, words: Float, weights: Float, pairs: Callable[[Float], Float] | None = None
) -> Split:
    """A split of a sentence whose tokens all take part, in their order."""
    return Split(terms, words, weights, np.arange(len(terms)), pairs=pairs)


def mean_split(
    vectors: Float,
    weights: Float | None = None,
    divisor: str = "tokens",
    scaled: bool = False,
    shown: Float | None = None,
) -> Split:
    """The split of a weighted sum, as in `formulas.mean_terms`; `shown` are the weights to tell of, if they are others."""
    factors = np.ones(len(vectors)) if weights is None else weights
    terms = mean_terms(vectors, factors, divisor, scaled)
    return plain(terms, vectors, factors if shown is None else shown)


def spread(split: Split, kept: NDArray[np.int64], tokens: int) -> Split:
    """The split of a sentence of `tokens` tokens from that of the tokens `kept`: the others add nothing."""

    def rows(values: Float) -> Float:
        wide = np.zeros((tokens, *values.shape[1:]))
        wide[kept] = values
        return wide

    def square(values: Float) -> Float:
        wide = np.zeros((tokens, tokens))
        wide[np.ix_(kept, kept)] = values
        return wide

    pairs, positions = split.pairs, np.full(tokens, -1)
    positions[kept] = split.positions
    return replace(
        split,
        terms=rows(split.terms),
        words=rows(split.words),
        weights=rows(split.weights),
        positions=positions,
        attention=None if split.attention is None else square(split.attention),
        pairs=None if pairs is None else lambda direction: square(pairs(direction)),
    )
