"""Texts longer than a bound: cut, or taken as overlapping windows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from noppa.methods.numpy_form import Rows
from noppa.methods.split import Float, Split, spread


def truncated(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The first `limit` ids of every sentence."""
    lengths = np.minimum(np.diff(offsets), limit)
    bounds = np.append(0, np.cumsum(lengths))
    # As large as what is left: one text may have millions of tokens.
    return ids[np.arange(bounds[-1]) + np.repeat(offsets[:-1] - bounds[:-1], lengths)], bounds


def windows(
    ids: NDArray[np.int32], offsets: NDArray[np.int64], limit: int
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Sentences longer than `limit` as windows of that length, each half over the one before, the last at the end.

    Gives the ids and offsets of all windows, and the sentence that each belongs to.
    """
    pieces, owners = [], []
    for owner, (begin, end) in enumerate(
        zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
    ):
        starts = [begin]
        if end - begin > limit:
            starts = [*range(begin, end - limit, max(1, limit // 2)), end - limit]
        pieces += [ids[start : min(start + limit, end)] for start in starts]
        owners += [owner] * len(starts)
    inner = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    return np.concatenate(pieces) if pieces else ids, inner, np.array(owners, np.int64)


def averaged(
    rows: NDArray[np.floating], known: NDArray[np.int32], owners: NDArray[np.int64], sentences: int
) -> Rows:
    """Windows back to sentences: their mean, weighted by the known tokens of each."""
    total = np.zeros((sentences, rows.shape[1]))
    length = np.zeros(sentences)
    np.add.at(total, owners, rows * known[:, None].astype(float))
    np.add.at(length, owners, known)
    return total / np.maximum(length, 1)[:, None], length.astype(np.int32)


def joined(pieces: Sequence[tuple[Split, NDArray[np.int64]]], tokens: int) -> Split:
    """The split of a text from those of its windows, each with the tokens that it holds, counting by their number.

    A token in several windows has the mean of their attention, and the place that it has in the first.
    """
    if len(pieces) == 1:
        return spread(*pieces[0], tokens)
    total = max(sum(len(inside) for _, inside in pieces), 1)
    width = pieces[0][0].terms.shape[1]
    terms, words = np.zeros((tokens, width)), np.zeros((tokens, width))
    attention, weights = np.zeros((tokens, tokens)), np.zeros(tokens)
    positions, seen = np.full(tokens, -1), np.zeros(tokens)
    for split, inside in reversed(pieces):
        terms[inside] += len(inside) / total * split.terms
        words[inside], weights[inside], positions[inside] = (
            split.words,
            split.weights,
            split.positions,
        )
        attention[np.ix_(inside, inside)] += len(inside) * np.asarray(split.attention)
        seen[inside] += len(inside)
    attention /= np.maximum(seen, 1)[:, None]

    def pairs(direction: Float) -> Float:
        along = np.zeros((tokens, tokens))
        for split, inside in pieces:
            if split.pairs is not None:
                along[np.ix_(inside, inside)] += len(inside) / total * split.pairs(direction)
        return along

    return Split(terms, words, weights, positions, attention, pairs)
