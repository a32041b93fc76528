"""NoPPA and its siblings for the vectors (tokens, dim) of one sentence, in float64: what `noppa.kernels.reference` runs."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

Float = NDArray[np.float64]
Whole = NDArray[np.int32]

#: Equation 12 and the cheaper kernels, of the difference of two positional vectors; the index is the native number.
PAIR_KERNELS: dict[str, Callable[[Float], Float]] = {
    "log2": lambda difference: np.log2(1 + difference**2),
    "abs": np.abs,
    "square": np.square,
}

#: What NoPPA can concatenate; the index is the native number, and `dct1`, … `dct9999` follow.
PARTS = ("context", "word", "ordered", "product", "max", "min", "std")

#: Those that are sums over pairs of words.
PAIR_PARTS = ("context", "ordered", "product")

#: What a weighted sum is divided by; the index is the native number.
DIVISORS = ("tokens", "weights", "one")

#: A vector whose part outside the others is below this share of its length lies in their span.
IN_SPAN = 1e-6


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
    if name in PARTS:
        return PARTS.index(name)
    order = re.fullmatch("dct([1-9][0-9]{0,3})", name)
    return len(PARTS) + int(order[1]) if order else -1


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


def mean_terms(vectors: Float, weights: Float, divisor: str, scaled: bool) -> Float:
    """w_i v_i over the number of words, their weights, or one, (tokens, dim); `scaled` first divides each dimension by its norm."""
    if scaled:
        norms = np.linalg.norm(vectors, axis=0)
        vectors = vectors / np.where(norms > 0, norms, 1)
    amount = {"tokens": len(vectors), "weights": weights.sum(), "one": 1.0}[divisor]
    return np.asarray(weights[:, None] * vectors / amount if amount > 0 else 0 * vectors)


def dct_waves(tokens: int, k: int) -> Float:
    """The first k waves of the orthonormal DCT-II over the words, (k, tokens); short sentences are padded to k words."""
    length = max(tokens, k)
    order, place = np.arange(k)[:, None], np.arange(tokens)
    waves = np.cos(np.pi * (2 * place + 1) * order / (2 * length))
    return np.asarray(np.sqrt(np.where(order, 2, 1) / length) * waves)


def dct(vectors: Float, k: int) -> Float:
    """The first k coefficients over the words, (k * dim,); short sentences end in zeros."""
    return np.ravel(dct_waves(len(vectors), k) @ vectors)


def residuals(residual: Float, labels: Whole, slots: int) -> Float:
    """The sum of each slot's rows, (slots, dim)."""
    sums = np.zeros((slots, residual.shape[1]))
    np.add.at(sums, labels, residual)
    return sums


def vlawe(vectors: Float, labels: Whole, centroids: Float, power: float) -> Float:
    """Residual sums of every codeword, each to `power` with its sign kept, then length one."""
    sums = np.ravel(residuals(vectors - centroids[labels], labels, len(centroids)))
    raised = np.sign(sums) * np.abs(sums) ** power
    length = np.linalg.norm(raised)
    return np.asarray(raised / length if length > 0 else raised)


def s3e_residuals(
    vectors: Float, weights: Float, labels: Whole, centroids: Float, published: bool
) -> Float:
    """w_i (v_i - c), or w_i v_i - c as published, without its mean over the dimensions, (tokens, dim)."""
    centres = centroids[labels] * (1 if published else weights[:, None])
    rows = weights[:, None] * vectors - centres
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def s3e(
    vectors: Float, weights: Float, labels: Whole, centroids: Float, average: bool, published: bool
) -> Float:
    """[weighted average ;] upper triangle of the covariance of the clusters' residual sums, of length one."""
    residual = s3e_residuals(vectors, weights, labels, centroids, published)
    sums = residuals(residual, labels, len(centroids))
    covariance = np.sqrt(2) * sums @ sums.T
    covariance[np.diag_indices(len(sums))] /= np.sqrt(2)
    triangle = covariance[np.triu_indices(len(sums))]
    length = np.linalg.norm(triangle)
    triangle = triangle / length if length > 0 else triangle
    return np.concatenate([weights @ vectors / len(vectors), triangle]) if average else triangle


def gem_weights(
    vectors: Float, directions: Float, values: Float, window: int, removed: int
) -> tuple[Float, Float]:
    """Novelty + significance + uniqueness of each word, (tokens,), and the directions that the sentence lies along most."""
    shares = values * np.linalg.norm(vectors @ directions.T, axis=0)
    chosen = np.argsort(-shares, kind="stable")[:removed]
    directions, values = directions[chosen], values[chosen]
    alphas = np.full(len(vectors), 2.0)  # a word that adds nothing: e^0 + 0 + e^0
    for i, vector in enumerate(vectors):
        first, last = max(0, i - window), min(len(vectors), i + window + 1)
        novel = outside(vector, np.delete(vectors[first:last], i - first, axis=0))
        size = np.linalg.norm(novel)
        if size > 0:
            uniqueness = np.exp(-np.linalg.norm(values * (directions @ (novel / size))) / removed)
            alphas[i] = np.exp(size / np.linalg.norm(vector)) + size / (last - first) + uniqueness
    return alphas, directions


def gem(vectors: Float, directions: Float, values: Float, window: int, removed: int) -> Float:
    """sum_i (novelty + significance + uniqueness) v_i without the directions that the sentence lies along most."""
    alphas, chosen = gem_weights(vectors, directions, values, window, removed)
    total = alphas @ vectors
    return np.asarray(total - (chosen @ total) @ chosen)


def outside(vector: Float, context: Float) -> Float:
    """The part of a vector outside the span of others, by Gram-Schmidt; zeros where it lies inside."""
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
