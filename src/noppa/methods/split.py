"""A pooled vector divided over the tokens of its sentence: what each method tells `noppa.explain` about itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]

#: Why a part of a vector belongs to no token where tokens were left out one at a time.
SHARED = "shared by several tokens (each was left out in turn)"


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
    exact: whether the terms follow from the method's formula; else they were measured by leaving each token out.
    """

    terms: Float
    words: Float
    weights: Float
    positions: NDArray[np.int64]
    attention: Float | None = None
    pairs: Callable[[Float], Float] | None = None
    rest: Mapping[str, Float] = field(default_factory=dict)
    exact: bool = True


def plain(
    terms: Float, words: Float, weights: Float, pairs: Callable[[Float], Float] | None = None
) -> Split:
    """The split of a sentence whose tokens all take part, in their order."""
    return Split(terms, words, weights, np.arange(len(terms)), pairs=pairs)


def left_out(row: Float, without: Float, words: Float, weights: Float) -> Split:
    """The split of a row (width,) from the rows (tokens, width) of the sentence without each of its tokens."""
    split = plain(row - without, words, weights)
    rest = row - split.terms.sum(axis=0)
    return replace(split, rest={SHARED: rest} if len(without) > 1 else {}, exact=False)


def spread(split: Split, places: NDArray[np.int64], tokens: int) -> Split:
    """The split of a text of `tokens` tokens from that of the ones at `places`: the others add nothing."""

    def rows(values: Float) -> Float:
        wide = np.zeros((tokens, *values.shape[1:]))
        wide[places] = values
        return wide

    def square(values: Float) -> Float:
        wide = np.zeros((tokens, tokens))
        wide[np.ix_(places, places)] = values
        return wide

    pairs, positions = split.pairs, np.full(tokens, -1)
    positions[places] = split.positions
    return replace(
        split,
        terms=rows(split.terms),
        words=rows(split.words),
        weights=rows(split.weights),
        positions=positions,
        attention=None if split.attention is None else square(split.attention),
        pairs=None if pairs is None else lambda direction: square(pairs(direction)),
    )
