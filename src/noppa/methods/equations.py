"""Equations 9 to 13 of the paper for the vectors (tokens, dim) of one sentence, in float64."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa.constants import COSINES, MOST_COSINES, PART

Float = NDArray[np.float64]

#: Equation 12 and the cheaper kernels, of the difference of two positional vectors.
PAIR_KERNELS: dict[str, Callable[[Float], Float]] = {
    "log2": lambda difference: np.log2(1 + difference**2),
    "abs": np.abs,
    "square": np.square,
}

#: What NoPPA can concatenate; `dct1`, … `dct9999` follow.
PARTS = tuple(PART)

#: Those that are sums over pairs of words.
PAIR_PARTS = ("context", "ordered", "product")


def positions(places: int | NDArray[np.int64], dim: int, formula: str) -> Float:
    """Equation 11 for the given positions, or for 0 … places - 1, (positions, dim).

    `paper`: dimensions 2m and 2m + 1 share the angle pos / 10000^(2m/d). `reference`: the authors' code puts the
    dimension's own index in place of m, so that the exponent is doubled and no two dimensions share an angle.
    """
    index = np.arange(dim)
    exponent = 2 * (index // 2) / dim if formula == "paper" else 2 * index / dim
    place = np.arange(places) if isinstance(places, int) else places
    angle = place[:, None] / np.power(10000.0, exponent)
    return np.where(index % 2 == 0, np.sin(angle), np.cos(angle))


def attention(positional: ArrayLike, attend_self: bool = True) -> Float:
    """Equation 13: softmax of v'_i · v'_j / sqrt(d) over j, (tokens, tokens); each row sums to 1."""
    vectors = np.asarray(positional, np.float64)
    scores = vectors @ vectors.T / np.sqrt(vectors.shape[1])
    if not attend_self:
        np.fill_diagonal(scores, -np.inf)
        if len(scores) == 1:
            return np.zeros((1, 1))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def part_number(name: str) -> int:
    """The native number of a part, -1 where there is none of that name."""
    if name in PART:
        return PART[name]
    order = re.fullmatch("dct([1-9][0-9]{0,8})", name)
    return COSINES + int(order[1]) if order and int(order[1]) <= MOST_COSINES else -1


def paired(name: str, positional: Float, i: int, kernel: str) -> Float:
    """What word i gives together with each word in a part of pairs, (tokens, dim); `context` is half of equation 12."""
    if name == "product":
        return np.asarray(positional * positional[i])
    difference = positional - positional[i]
    values = PAIR_KERNELS[kernel](difference)
    if name == "ordered":
        later = np.sign(np.arange(len(positional)) - i)[:, None]
        values = later * np.sign(difference) * values
    return np.asarray(values)


def pair_terms(
    name: str, positional: Float, weights: Float, kernel: str, attend_self: bool
) -> Float:
    """Equation 9's inner sum: w_i / n sum_j A_ij f_ij of each word i, (tokens, dim); f_ii counts for nothing."""
    tokens = len(positional)
    shares = attention(positional, attend_self)
    np.fill_diagonal(shares, 0)
    rows = [shares[i] @ paired(name, positional, i, kernel) for i in range(tokens)]
    return np.asarray(weights[:, None] * np.array(rows) / tokens)


def noppa_terms(
    part: int, vectors: Float, positional: Float, weights: Float, kernel: str, attend_self: bool
) -> Float:
    """What each word adds to one part of a pooled vector, (tokens, dim): equation 9 before its outer sum.

    A maximum belongs to the first word that has it; a standard deviation to each word by its squared distance.
    """
    tokens, name = len(vectors), PARTS[part] if part < len(PARTS) else "dct"
    if name in PAIR_PARTS:
        return pair_terms(name, positional, weights, kernel, attend_self)
    if name == "word":
        return np.asarray(weights[:, None] * vectors / tokens)
    if name == "dct":
        waves = np.cos(np.pi * (2 * np.arange(tokens) + 1) * (part - len(PARTS)) / (2 * tokens))
        return np.asarray((weights * waves)[:, None] * vectors / tokens)
    if name == "std":
        squares = (vectors - vectors.mean(axis=0)) ** 2 / tokens
        spread = np.sqrt(squares.sum(axis=0))
        return np.asarray(squares / np.where(spread > 0, spread, 1))
    terms, columns = np.zeros_like(vectors), np.arange(vectors.shape[1])
    first = vectors.argmax(axis=0) if name == "max" else vectors.argmin(axis=0)
    terms[first, columns] = vectors[first, columns]
    return terms
