"""NoPPA's vector split over its tokens: equation 9 before its outer sum, and equation 12 pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from noppa.kernels import formulas
from noppa.methods.split import Float, Ids, Split, kept_of, rows_of, spread
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from noppa.methods.noppa import NoPPA

#: The split of some tokens of a text, and where in the text they stand.
Piece = tuple[Split, NDArray[np.int64]]


def noppa_split(
    method: NoPPA,
    words: WordVectors,
    table: Float | None,
    ids: Ids,
    window: NDArray[np.int32],
) -> Piece:
    """Equation 10, then 9 term by term, for one window, the tokens at these places.

    `table` holds the weights (words + 1,).
    """
    inside = kept_of(ids[window])
    kept = window[inside].astype(np.int64)
    places = inside if method.unknown_takes_position else np.arange(len(kept))
    vectors, tokens = rows_of(words, ids[kept]), len(kept)
    weights = np.ones(tokens) if table is None else table[ids[kept]]
    positional = vectors
    if method.position is not None:
        positional = vectors + formulas.positions(places, words.dim, method.position)
    numbers = [formulas.part_number(part) for part in method.parts]
    shares = formulas.attention(positional, method.attend_self) if tokens else np.zeros((0, 0))
    options = (vectors, positional, weights, method.kernel, method.attend_self)
    terms = [
        formulas.noppa_terms(number, *options) if tokens else np.zeros((0, words.dim))
        for number in numbers
    ]

    def pairs(direction: Float) -> Float:
        along = np.zeros((tokens, tokens))
        coefficients = weights[:, None] * shares / max(tokens, 1)
        np.fill_diagonal(coefficients, 0)
        for name, part, term in zip(
            method.parts, np.split(direction, len(numbers)), terms, strict=True
        ):
            if name in formulas.PAIR_PARTS:
                for i in range(tokens):
                    values = formulas.paired(name, positional, i, method.kernel)
                    along[i] += coefficients[i] * (values @ part)
            else:
                along += np.diag(term @ part)
        return along

    repeated = np.tile(vectors, len(numbers))
    return Split(np.hstack(terms), repeated, weights, places, shares, pairs), kept


def joined(pieces: Sequence[Piece], tokens: int) -> Split:
    """The split of a text from those of its windows, each counting by its known tokens.

    A token in several windows has the mean of their attention, and the place that it has in the first.
    """
    if len(pieces) == 1:
        return spread(*pieces[0], tokens)
    total = max(sum(len(kept) for _, kept in pieces), 1)
    width = pieces[0][0].terms.shape[1]
    terms, words = np.zeros((tokens, width)), np.zeros((tokens, width))
    attention, weights = np.zeros((tokens, tokens)), np.zeros(tokens)
    positions, seen = np.full(tokens, -1), np.zeros(tokens)
    for split, kept in reversed(pieces):
        terms[kept] += len(kept) / total * split.terms
        words[kept], weights[kept], positions[kept] = split.words, split.weights, split.positions
        attention[np.ix_(kept, kept)] += len(kept) * np.asarray(split.attention)
        seen[kept] += len(kept)
    attention /= np.maximum(seen, 1)[:, None]

    def pairs(direction: Float) -> Float:
        along = np.zeros((tokens, tokens))
        for split, kept in pieces:
            if split.pairs is not None:
                along[np.ix_(kept, kept)] += len(kept) / total * split.pairs(direction)
        return along

    return Split(terms, words, weights, positions, attention, pairs)
