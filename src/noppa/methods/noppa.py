"""NoPPA: the Non-Parametric Pairwise Attention Random Walk Model (equations 9 to 15 of the paper).

A pooled vector is [context ; word], each `dim` long:

    context = 1/n sum_i w_i sum_j A_ij K(v'_j - v'_i)        word = 1/n sum_i w_i v_i

with v' the word vectors plus positions (equation 10), A the softmax of their dot products (13), K the kernel (12) and
w = a / (p + a/2) the smooth frequency weight (9). Refinement is noise removal (14, 15). The functions below the class are
the equations for the vectors (tokens, dim) of one sentence, in float64.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from noppa import _native as kernels
from noppa.constants import COSINES, MOST_COSINES, PAIR_KERNEL, PART
from noppa.errors import ParameterError, warn
from noppa.methods.method import (
    Bounds,
    Ids,
    Kernel,
    Learnt,
    Method,
    NumpyPooler,
    Pooler,
    Rows,
    Sentence,
    Split,
    Tokens,
    smooth_frequency_weight,
    spread,
)
from noppa.parameters import (
    boolean,
    count,
    one_of,
    optional,
    positive,
    short_repr,
    validate_fields,
    whole,
)
from noppa.refine import Float, NoiseRemoval, Refinement
from noppa.words.word_vectors import WordVectors

#: Equation 12 and the cheaper kernels, of the difference of two positional vectors.
PAIR_KERNELS: dict[str, Callable[[Float], Float]] = {
    "log2": lambda difference: np.log2(1 + difference**2),
    "abs": np.abs,
    "square": np.square,
}

#: Parts that are sums over pairs of words.
PAIR_PARTS = ("context", "ordered", "product")


@dataclass(frozen=True)
class NoPPA(Method):
    """The paper's method, equations 9 and 10. Its ablations are settings.

    CE-avg is `a=None, k=0`, CE-avg+NR `a=None`, CE+SFW `k=0`; the defaults are the full model.

    Args:
        a: Strength of the smooth frequency weight a / (p + a/2); None gives every word weight 1.
        k: How many of the last singular directions noise removal removes; 0 for none.
        position: "paper" (equation 11), "reference" (the authors' code), or None.
        noise: "paper" or "reference", see `NoiseRemoval`.
        kernel: "log2" is equation 12; "abs" |x| and "square" x² are cheaper alternatives.
        parts: What to concatenate, in this order. The paper's halves are "context" and "word". "ordered" is the context
            with the sign of the difference, later word minus earlier word, which keeps their order; "product" has v'_i v'_j
            instead of the kernel; "max", "min" and "std" are taken over the words; "dct1", "dct2", … are the word half
            times cos(pi (2t + 1) j / 2n), with t counting the words and j the number. `NoPPA.RICH` is a good set of seven.
        attend_self: Whether a word attends to itself. It adds nothing to the sum, but takes its share of the softmax.
        unknown_takes_position: Whether a skipped unknown word still counts as a position.
        max_tokens: Largest number of tokens of a text; None for no limit.
        policy: For longer texts: "error", "truncate" (keep the first tokens, with a warning), or "window" (overlapping
            windows of that many tokens, averaged by their length).
        pair_columns: (start, stop): equations 10 to 13 use only these columns of the word vectors, so "context", "ordered"
            and "product" are that wide; all other parts have every column. None uses all columns.
    """

    attends: ClassVar = True
    settable: ClassVar = ("a", "k", "parts", "position", "kernel")
    #: The parts that forward selection on training and development data found best (bench/parts.py).
    RICH: ClassVar[tuple[str, ...]] = (
        "context",
        "word",
        "ordered",
        "product",
        "max",
        "dct1",
        "min",
    )

    a: float | None = 0.05
    k: int = 12
    position: str | None = "paper"
    noise: str = "paper"
    kernel: str = "log2"
    parts: tuple[str, ...] = ("context", "word")
    attend_self: bool = True
    unknown_takes_position: bool = False
    max_tokens: int | None = None
    policy: str = "error"
    pair_columns: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        validate_fields(
            self,
            a=optional(positive),
            k=count,
            position=partial(one_of, choices=("paper", "reference", None)),
            noise=partial(one_of, choices=("paper", "reference")),
            kernel=partial(one_of, choices=tuple(PAIR_KERNELS)),
            parts=_valid_parts,
            attend_self=boolean,
            unknown_takes_position=boolean,
            max_tokens=optional(partial(whole, least=2)),
            policy=partial(one_of, choices=("error", "truncate", "window")),
            pair_columns=optional(_valid_columns),
        )

    @property
    def needs_probabilities(self) -> bool:  # type: ignore[override]
        return self.a is not None

    @property
    def uses_order(self) -> bool:  # type: ignore[override]
        attending = any(part in PAIR_PARTS for part in self.parts)
        placed = any(part == "ordered" or part.startswith("dct") for part in self.parts)
        return placed or (attending and self.position is not None)

    @property
    def is_mean(self) -> bool:  # type: ignore[override]
        return self.parts == ("word",) and self.max_tokens is None

    def width(self, words: WordVectors) -> int:
        return sum(self._widths(words.dim))

    def check(self, words: WordVectors) -> None:
        if self.pair_columns is not None and self.pair_columns[1] > words.dim:
            raise ParameterError(
                f"pair_columns={self.pair_columns} are not within the {words.dim} columns of the words"
            )
        super().check(words)

    def _widths(self, dim: int) -> list[int]:
        """Return the length of each part."""
        compared = self._pair_width(dim)
        return [compared if part in PAIR_PARTS else dim for part in self.parts]

    @property
    def _compared(self) -> slice:
        """The columns in which words attend to each other and are compared."""
        return slice(*(self.pair_columns or (None,)))

    def _pair_width(self, dim: int) -> int:
        start, stop = self.pair_columns or (0, dim)
        return stop - start

    def refinements(self) -> tuple[Refinement, ...]:
        return (NoiseRemoval(self.k, self.noise),) if self.k else ()

    def weigh(self, probabilities: Float) -> Float:
        assert self.a is not None
        return smooth_frequency_weight(probabilities, self.a)

    # One sentence

    def pooled(self, sentence: Sentence) -> Float:
        return np.concatenate([terms.sum(axis=0) for terms in self._terms(sentence)])

    def _terms(self, sentence: Sentence) -> list[Float]:
        """Return what each word adds to each part (equation 9 before its outer sum), (tokens, width of the part)."""
        if not len(sentence):
            return [np.zeros((0, width)) for width in self._widths(sentence.words.dim)]
        options = (sentence.weights, self.kernel, self.attend_self)
        positional = self._positional(sentence)
        return [noppa_terms(part, sentence.vectors, positional, *options) for part in self.parts]

    def _positional(self, sentence: Sentence) -> Float:
        """Return equation 10: word vectors plus positions, in the columns in which pairs are compared, (tokens, columns)."""
        vectors = sentence.vectors[:, self._compared]
        if self.position is None:
            return vectors
        places = self._places(sentence)
        return vectors + positions(places, vectors.shape[1], self.position)

    def _places(self, sentence: Sentence) -> NDArray[np.int64]:
        return sentence.places if self.unknown_takes_position else np.arange(len(sentence))

    # Explanations

    def split(self, sentence: Sentence) -> Split:
        """Divide the pooled row among the tokens; a text longer than `max_tokens` is split as its policy pools it."""
        limit = self.max_tokens
        if limit is None or sentence.length <= limit:
            return self._split(sentence)
        if self.policy == "error":
            raise _too_long(0, sentence.length, limit)
        every = np.arange(sentence.length, dtype=np.int32)
        pieces = [every[:limit]]
        if self.policy == "window":
            flat, bounds, _ = windows(every, np.array([0, len(every)]), limit)
            pieces = np.split(flat, bounds[1:-1])
        splits = []
        for piece in pieces:
            inside = np.flatnonzero(np.isin(sentence.places, piece))
            places = sentence.places[inside] - piece[0]
            splits.append((self._split(sentence.only(inside, places)), inside))
        return joined(splits, len(sentence))

    def _split(self, sentence: Sentence) -> Split:
        tokens, terms, positional = len(sentence), self._terms(sentence), self._positional(sentence)
        attended = np.zeros((0, 0))
        edges = np.cumsum(self._widths(sentence.words.dim))[:-1]
        if tokens:
            attended = attention(positional, self.attend_self)

        def pairs(direction: Float) -> Float:
            """Return equation 12 pair by pair, along a direction."""
            along = np.zeros((tokens, tokens))
            coefficients = sentence.weights[:, None] * attended / max(tokens, 1)
            np.fill_diagonal(coefficients, 0)
            parts = zip(self.parts, np.split(direction, edges), terms, strict=True)
            for name, part, term in parts:
                if name in PAIR_PARTS:
                    for i in range(tokens):
                        values = paired(name, positional, i, self.kernel)
                        along[i] += coefficients[i] * (values @ part)
                else:
                    along += np.diag(term @ part)
            return along

        each = dict.fromkeys(PAIR_PARTS, sentence.vectors[:, self._compared])
        words = np.hstack([each.get(part, sentence.vectors) for part in self.parts])
        places = self._places(sentence)
        return Split(np.hstack(terms), words, sentence.weights, places, attended, pairs)

    # Batches

    def native(
        self, words: WordVectors, learnt: Learnt, positions: NDArray[Any] | None = None
    ) -> Kernel:
        arguments = {
            "weights": self.native_weights(words, learnt),
            "positions": positions,
            "kernel": PAIR_KERNEL[self.kernel],
            "attend_self": self.attend_self,
            "dropped_take_position": self.unknown_takes_position,
            "parts": [part_number(part) for part in self.parts],
            "pair_columns": None if self.pair_columns is None else list(self.pair_columns),
        }
        return Kernel("noppa", words.table, arguments)

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        pooler: Pooler = super().pooler(words, learnt)
        if not isinstance(pooler, NumpyPooler):
            pooler = _Positioned(self, words)
        return pooler if self.max_tokens is None else _bounded(pooler, self.max_tokens, self.policy)


def _valid_parts(value: Any, name: str) -> tuple[str, ...]:
    try:
        parts = () if isinstance(value, str) else tuple(value)
    except TypeError:
        parts = ()
    unknown = [part for part in parts if not isinstance(part, str) or part_number(part) < 0]
    if not parts or unknown or len(set(parts)) < len(parts):
        raise ParameterError(
            f"{name} must be some of {', '.join(PART)}, dct1, dct2, … dct{MOST_COSINES}, each once, "
            f"not {short_repr(value)}"
        )
    return parts


def _valid_columns(value: Any, name: str) -> tuple[int, int]:
    try:
        start, stop = [count(column, f"a column of {name}") for column in value]
    except (TypeError, ValueError):
        start = stop = 0
    if start >= stop:
        raise ParameterError(
            f"{name} must be (start, stop), the first column and the one after the last, not {short_repr(value)}"
        )
    return start, stop


def _too_long(text: int, tokens: int, limit: int) -> ParameterError:
    return ParameterError(
        f"text {text} has {tokens} tokens and max_tokens is {limit}",
        "raise max_tokens, or choose policy='truncate' or 'window'",
    )


def _bounded(pool_within: Pooler, limit: int, policy: str) -> Pooler:
    """Wrap a pooler so that it never gets more than `limit` tokens of one text."""

    def pool(ids: Tokens, offsets: Bounds, steps: kernels.Steps, threads: int) -> Rows:
        # a batch of few tokens has no long text
        if len(ids) <= limit or not (over := np.flatnonzero(np.diff(offsets) > limit)).size:
            return pool_within(ids, offsets, steps, threads)
        if policy == "error":
            raise _too_long(over[0], offsets[over[0] + 1] - offsets[over[0]], limit)
        if policy == "truncate":
            warn(
                f"{len(over)} texts were cut to max_tokens={limit} tokens, the first is text {over[0]}"
            )
            return pool_within(*truncated(ids, offsets, limit), steps, threads)
        ids, inner, owners = windows(ids, offsets, limit)
        rows, known = pool_within(ids, inner, kernels.Steps([]), threads)
        rows, known = averaged(rows, known, owners, len(offsets) - 1)
        return kernels.apply_steps(rows.astype(kernels.REAL), known, steps, threads), known

    return pool


class _Positioned:
    """The native kernel with a table of positions that grows with the longest text so far."""

    FEWEST, MOST_CACHED = 64, 4096

    def __init__(self, method: NoPPA, words: WordVectors) -> None:
        self.method, self.words = method, words
        #: The longest possible text and the kernel for it: one attribute, so that threads replace both at once.
        self.ready = self._build(self.FEWEST)

    def __call__(self, ids: Tokens, offsets: Bounds, steps: kernels.Steps, threads: int) -> Rows:
        most, pool = self.ready
        if len(ids) > most:
            longest = int(np.diff(offsets).max(initial=0))
            if longest > self.MOST_CACHED:
                most, pool = self._build(longest)
            elif longest > most:
                self.ready = most, pool = self._build(1 << (longest - 1).bit_length())
        return pool(ids, offsets, steps, threads)

    def _build(self, count: int) -> tuple[int, Pooler]:
        formula, dim = self.method.position, self.method._pair_width(self.words.dim)
        if formula is None:
            return np.iinfo(np.int64).max, kernels.Pooling(*self.method.native(self.words, {}))
        table = np.zeros((count, dim + -dim % kernels.POSITION_UNIT), kernels.REAL)
        # by blocks, since a position takes twice the memory while it is computed
        for start in range(0, count, 1024):
            block = np.arange(start, min(start + 1024, count))
            table[block, :dim] = positions(block, dim, formula)
        return count, kernels.Pooling(*self.method.native(self.words, {}, table))


# Equations 10 to 13


def positions(places: int | NDArray[np.int64], dim: int, formula: str) -> Float:
    """Return equation 11 for the given positions, or for 0 … places - 1, (positions, dim).

    "paper": dimensions 2m and 2m + 1 share the angle pos / 10000^(2m/d). "reference": the authors' code uses the
    dimension's index instead of m, so the exponent is doubled and no two dimensions share an angle.
    """
    index = np.arange(dim)
    exponent = 2 * (index // 2) / dim if formula == "paper" else 2 * index / dim
    place = np.arange(places) if isinstance(places, int) else places
    angle = place[:, None] / np.power(10000.0, exponent)
    return np.where(index % 2 == 0, np.sin(angle), np.cos(angle))


def attention(positional: ArrayLike, attend_self: bool = True) -> Float:
    """Return equation 13: softmax of v'_i · v'_j / sqrt(d) over j, (tokens, tokens); each row sums to 1."""
    vectors = np.asarray(positional, np.float64)
    scores = vectors @ vectors.T / np.sqrt(vectors.shape[1])
    if not attend_self:
        np.fill_diagonal(scores, -np.inf)
        if len(scores) == 1:
            return np.zeros((1, 1))
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@cache
def part_number(name: str) -> int:
    """Return the native number of a part, -1 for an unknown name."""
    if name in PART:
        return PART[name]
    order = re.fullmatch("dct([1-9][0-9]{0,8})", name)
    return COSINES + int(order[1]) if order and int(order[1]) <= MOST_COSINES else -1


def paired(name: str, positional: Float, i: int, kernel: str) -> Float:
    """Return what word i contributes with each other word to a part of pairs, (tokens, dim); "context" is half of equation 12."""
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
    """Return equation 9's inner sum w_i / n sum_j A_ij f_ij of each word i, (tokens, dim), without f_ii."""
    tokens = len(positional)
    shares = attention(positional, attend_self)
    np.fill_diagonal(shares, 0)
    rows = [shares[i] @ paired(name, positional, i, kernel) for i in range(tokens)]
    return np.asarray(weights[:, None] * np.array(rows) / tokens)


def noppa_terms(
    name: str, vectors: Float, positional: Float, weights: Float, kernel: str, attend_self: bool
) -> Float:
    """Return what each word adds to one part of a pooled vector, (tokens, dim): equation 9 before its outer sum.

    A maximum is attributed to the first word that has it; a standard deviation to each word by its squared distance.
    """
    tokens = len(vectors)
    if name in PAIR_PARTS:
        return pair_terms(name, positional, weights, kernel, attend_self)
    if name == "word":
        return np.asarray(weights[:, None] * vectors / tokens)
    if name.startswith("dct"):
        waves = np.cos(np.pi * (2 * np.arange(tokens) + 1) * int(name[3:]) / (2 * tokens))
        return np.asarray((weights * waves)[:, None] * vectors / tokens)
    if name == "std":
        squares = (vectors - vectors.mean(axis=0)) ** 2 / tokens
        spread = np.sqrt(squares.sum(axis=0))
        return np.asarray(squares / np.where(spread > 0, spread, 1))
    terms, columns = np.zeros_like(vectors), np.arange(vectors.shape[1])
    first = vectors.argmax(axis=0) if name == "max" else vectors.argmin(axis=0)
    terms[first, columns] = vectors[first, columns]
    return terms


# Texts longer than max_tokens


def truncated(ids: Tokens, offsets: Bounds, limit: int) -> Ids:
    """Return the first `limit` ids of every sentence."""
    lengths = np.minimum(np.diff(offsets), limit)
    bounds = np.append(0, np.cumsum(lengths))
    # As large as the result: one text may have millions of tokens.
    return ids[np.arange(bounds[-1]) + np.repeat(offsets[:-1] - bounds[:-1], lengths)], bounds


def windows(ids: Tokens, offsets: Bounds, limit: int) -> tuple[Tokens, Bounds, NDArray[np.int64]]:
    """Divide sentences longer than `limit` into half-overlapping windows of that length, the last one at the end.

    Returns the ids and offsets of all windows, and the sentence that each belongs to.
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
    """Return the mean of each sentence's windows, weighted by their known tokens."""
    total = np.zeros((sentences, rows.shape[1]))
    length = np.zeros(sentences)
    np.add.at(total, owners, rows * known[:, None].astype(float))
    np.add.at(length, owners, known)
    return total / np.maximum(length, 1)[:, None], length.astype(np.int32)


def joined(pieces: Sequence[tuple[Split, NDArray[np.int64]]], tokens: int) -> Split:
    """Combine the splits of a text's windows, each with the tokens it contains, weighted by their number.

    A token in several windows gets the mean of their attention, and its position in the first.
    """
    splits = [spread(split, inside, tokens) for split, inside in pieces]
    first, *others = splits
    if not others:
        return first
    sizes = np.array([len(inside) for _, inside in pieces])
    shares = sizes / max(sizes.sum(), 1)
    words, weights, positions = first.words.copy(), first.weights.copy(), first.positions.copy()
    attention, seen = np.zeros((tokens, tokens)), np.zeros(tokens)
    for split, size, (_, inside) in zip(splits, sizes, pieces, strict=True):
        new = inside[positions[inside] < 0]
        words[new], weights[new] = split.words[new], split.weights[new]
        positions[new] = split.positions[new]
        attention += size * np.asarray(split.attention)
        seen[inside] += size

    def weighted(values: Iterable[Float]) -> Float:
        return np.asarray(sum(map(np.multiply, shares, values)))

    return Split(
        weighted(split.terms for split in splits),
        words,
        weights,
        positions,
        attention / np.maximum(seen, 1)[:, None],
        lambda direction: weighted(split.pairs(direction) for split in splits if split.pairs),
    )
