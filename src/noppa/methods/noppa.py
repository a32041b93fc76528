"""NoPPA: the Non-Parametric Pairwise Attention Random Walk Model (equations 9 to 15 of the paper).

A pooled vector is [context ; word], each `dim` long:

    context = 1/n sum_i w_i sum_j A_ij K(v'_j - v'_i)        word = 1/n sum_i w_i v_i

with v' the word vectors plus positions (equation 10), A the softmax of their dot products (13), K the kernel (12) and
w = a / (p + a/2) the smooth frequency weight (9). Refinement is noise removal (14, 15).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import MOST_COSINES, PAIR_KERNEL
from noppa.errors import ParameterError, warn
from noppa.methods import equations
from noppa.methods.numpy_form import Learnt, NumpyPooler, Rows, Sentence
from noppa.methods.protocol import Kernel, Method, Pooler
from noppa.methods.split import Float, Split
from noppa.methods.weighting import smooth_frequency_weight
from noppa.methods.windows import averaged, joined, truncated, windows
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
from noppa.refine import NoiseRemoval, Refinement
from noppa.words.word_vectors import WordVectors

KERNELS = tuple(equations.PAIR_KERNELS)
PARTS = ("context", "word")
POLICIES = ("error", "truncate", "window")


@dataclass(frozen=True)
class NoPPA(Method):
    """The paper's method, equations 9 and 10. Its ablations are settings.

    CE-avg is `a=None, k=0`, CE-avg+NR `a=None`, CE+SFW `k=0`, and all of it the full model.

    a: strength of the smooth frequency weight a / (p + a/2); None gives every word weight 1.
    k: how many of the last singular directions noise removal takes out; 0 for none.
    position: "paper" (equation 11), "reference" (the authors' code), or None.
    noise: "paper" or "reference", see `NoiseRemoval`.
    kernel: "log2" is equation 12; "abs" |x| and "square" x² are cheaper, for the paper's call to try others.
    parts: what to concatenate, in this order. The paper's two halves are "context" and "word". "ordered" is the context
        with the sign of the difference, later word minus earlier one, which keeps their order; "product" has v'_i v'_j in
        place of the kernel; "max", "min" and "std" are those of the words; "dct1", "dct2", … are the word half times
        cos(pi (2t + 1) j / 2n), t counting the words and j being the number. `NoPPA.RICH` is a good set of seven.
    pair_columns: (start, stop): equations 10 to 13 see these columns of the word vectors alone, so "context", "ordered" and
        "product" are that wide; all other parts have every column. None is all of them.
    attend_self: whether a word attends to itself. It adds nothing to the sum, but takes its share of the softmax.
    unknown_takes_position: whether a skipped unknown word still counts as a position.
    max_tokens, policy: a bound on the tokens of a text and what to do beyond it: "error", "truncate" (the first ones,
        with a warning), or "window" (overlapping windows of that many tokens, averaged by their length).
    """

    attends: ClassVar = True
    settable: ClassVar = ("a", "k", "parts", "position", "kernel")
    COST: ClassVar = "n² d"
    #: The parts that forward selection on training and development data found best.
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
    parts: tuple[str, ...] = PARTS
    attend_self: bool = True
    unknown_takes_position: bool = False
    max_tokens: int | None = None
    policy: str = "error"
    pair_columns: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        validate_fields(
            self,
            a=optional(lambda a, name: positive(a, f"{name} (None for no frequency weight)")),
            k=count,
            position=partial(one_of, choices=("paper", "reference", None)),
            noise=partial(one_of, choices=("paper", "reference")),
            kernel=partial(one_of, choices=KERNELS),
            parts=_checked_parts,
            attend_self=boolean,
            unknown_takes_position=boolean,
            max_tokens=optional(partial(whole, least=2)),
            policy=partial(one_of, choices=POLICIES),
            pair_columns=optional(_checked_columns),
        )

    @property
    def needs_probabilities(self) -> bool:  # type: ignore[override]
        return self.a is not None

    @property
    def uses_order(self) -> bool:  # type: ignore[override]
        attending = any(part in equations.PAIR_PARTS for part in self.parts)
        placed = any(part == "ordered" or part.startswith("dct") for part in self.parts)
        return placed or (attending and self.position is not None)

    @property
    def mean_obstacle(self) -> str:  # type: ignore[override]
        others = [part for part in self.parts if part != "word"]
        if others:
            return f"NoPPA's part {others[0]!r} is no sum over words, it depends on pairs of them or on their order"
        return f"NoPPA(max_tokens={self.max_tokens}) bounds the text" if self.max_tokens else ""

    def width(self, words: WordVectors) -> int:
        return sum(self._widths(words.dim))

    def check(self, words: WordVectors) -> None:
        if self.pair_columns is not None and self.pair_columns[1] > words.dim:
            raise ParameterError(
                f"pair_columns={self.pair_columns} do not lie within the {words.dim} columns of the words"
            )
        super().check(words)

    def _widths(self, dim: int) -> list[int]:
        """How long each part is."""
        compared = self._pair_width(dim)
        return [compared if part in equations.PAIR_PARTS else dim for part in self.parts]

    @property
    def _compared(self) -> slice:
        """The columns in which words attend to each other and are compared."""
        return slice(*(self.pair_columns or (None,)))

    def _pair_width(self, dim: int) -> int:
        return len(range(dim)[self._compared])

    def refinements(self) -> tuple[Refinement, ...]:
        return (NoiseRemoval(self.k, self.noise),) if self.k else ()

    @property
    def without_fit(self) -> str:
        return ", or set k=0"

    def weigh(self, probabilities: Float) -> Float:
        assert self.a is not None
        return smooth_frequency_weight(probabilities, self.a)

    # One sentence

    def pooled(self, sentence: Sentence) -> Float:
        return np.concatenate([terms.sum(axis=0) for terms in self._terms(sentence)])

    def _terms(self, sentence: Sentence) -> list[Float]:
        """Equation 9 before its outer sum: what each word adds to each part, (tokens, width of the part)."""
        if not len(sentence):
            return [np.zeros((0, width)) for width in self._widths(sentence.words.dim)]
        options = (sentence.weights, self.kernel, self.attend_self)
        positional = self._positional(sentence)
        numbers = map(equations.part_number, self.parts)
        return [
            equations.noppa_terms(number, sentence.vectors, positional, *options)
            for number in numbers
        ]

    def _positional(self, sentence: Sentence) -> Float:
        """Equation 10: word vectors plus positions, in the columns that pairs are compared in, (tokens, columns)."""
        vectors = sentence.vectors[:, self._compared]
        if self.position is None:
            return vectors
        places = self._places(sentence)
        return vectors + equations.positions(places, vectors.shape[1], self.position)

    def _places(self, sentence: Sentence) -> NDArray[np.int64]:
        return sentence.places if self.unknown_takes_position else np.arange(len(sentence))

    # One sentence taken apart

    def split(self, sentence: Sentence) -> Split:
        """Of a text beyond `max_tokens`, what the policy makes of it."""
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
        attention = np.zeros((0, 0))
        edges = np.cumsum(self._widths(sentence.words.dim))[:-1]
        if tokens:
            attention = equations.attention(positional, self.attend_self)

        def pairs(direction: Float) -> Float:
            """Equation 12 pair by pair, along a direction."""
            along = np.zeros((tokens, tokens))
            coefficients = sentence.weights[:, None] * attention / max(tokens, 1)
            np.fill_diagonal(coefficients, 0)
            parts = zip(self.parts, np.split(direction, edges), terms, strict=True)
            for name, part, term in parts:
                if name in equations.PAIR_PARTS:
                    for i in range(tokens):
                        values = equations.paired(name, positional, i, self.kernel)
                        along[i] += coefficients[i] * (values @ part)
                else:
                    along += np.diag(term @ part)
            return along

        each = dict.fromkeys(equations.PAIR_PARTS, sentence.vectors[:, self._compared])
        words = np.hstack([each.get(part, sentence.vectors) for part in self.parts])
        places = self._places(sentence)
        return Split(np.hstack(terms), words, sentence.weights, places, attention, pairs)

    # Batches

    def native(
        self, words: WordVectors, learnt: Learnt, positions: NDArray[Any] | None = None
    ) -> Kernel:
        weights = self.weights(words, learnt)
        arguments = {
            "weights": None if weights is None else weights.astype(kernels.REAL),
            "positions": positions,
            "kernel": PAIR_KERNEL[self.kernel],
            "attend_self": self.attend_self,
            "dropped_take_position": self.unknown_takes_position,
            "parts": [equations.part_number(part) for part in self.parts],
            "pair_columns": None if self.pair_columns is None else list(self.pair_columns),
        }
        return Kernel("noppa", words.table, arguments)

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        pooler: Pooler = super().pooler(words, learnt)
        if not isinstance(pooler, NumpyPooler):
            pooler = _Positioned(self, words)
        return pooler if self.max_tokens is None else _Bounded(pooler, self.max_tokens, self.policy)


def _checked_parts(value: Any, name: str) -> tuple[str, ...]:
    try:
        given = [] if isinstance(value, str) else list(value)
    except TypeError:
        given = []
    parts = tuple(
        part for part in given if isinstance(part, str) and equations.part_number(part) >= 0
    )
    if not parts or len(parts) < len(given) or len(set(parts)) < len(parts):
        raise ParameterError(
            f"{name} must be some of {', '.join(equations.PARTS)}, dct1, dct2, … dct{MOST_COSINES}, each once, "
            f"not {short_repr(value)}"
        )
    return parts


def _checked_columns(value: Any, name: str) -> tuple[int, int]:
    try:
        start, stop = (count(each, f"a column of {name}") for each in value)
    except (TypeError, ValueError):
        start = stop = 0
    if start >= stop:
        raise ParameterError(
            f"{name} must be (start, stop), the first column and the one after the last, not {short_repr(value)}"
        )
    return start, stop


def _too_long(text: int, tokens: int, limit: int) -> ParameterError:
    return ParameterError(
        f"text {text} has {tokens} tokens and max_tokens is {limit}: "
        "raise it, or choose policy='truncate' or 'window'"
    )


class _Bounded:
    """A pooler for texts of any length that never gives more than `limit` tokens of one to the pooler within."""

    def __init__(self, within: Pooler, limit: int, policy: str) -> None:
        self.within, self.limit, self.policy = within, limit, policy

    def __call__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        steps: kernels.Steps,
        threads: int,
    ) -> Rows:
        limit = self.limit
        # a small batch needs no look at the lengths of its texts
        if len(ids) <= limit or not (over := np.flatnonzero(np.diff(offsets) > limit)).size:
            return self.within(ids, offsets, steps, threads)
        if self.policy == "error":
            raise _too_long(over[0], offsets[over[0] + 1] - offsets[over[0]], limit)
        if self.policy == "truncate":
            warn(
                f"{len(over)} texts were cut to max_tokens={limit} tokens, the first is text {over[0]}"
            )
            return self.within(*truncated(ids, offsets, limit), steps, threads)
        ids, inner, owners = windows(ids, offsets, limit)
        rows, known = self.within(ids, inner, kernels.Steps([]), threads)
        rows, known = averaged(rows, known, owners, len(offsets) - 1)
        return kernels.apply_steps(rows.astype(kernels.REAL), known, steps, threads), known


class _Positioned:
    """The native kernel with as many positions as the longest text so far needed."""

    FEWEST, MOST_CACHED = 64, 4096

    def __init__(self, method: NoPPA, words: WordVectors) -> None:
        self.method, self.words = method, words
        #: How long a text may be, and the kernel for texts up to that long: one attribute, for threads to swap at once.
        self.ready = self._made(self.FEWEST)

    def __call__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        steps: kernels.Steps,
        threads: int,
    ) -> Rows:
        most, pool = self.ready
        if len(ids) > most:
            longest = int(np.diff(offsets).max(initial=0))
            if longest > self.MOST_CACHED:
                most, pool = self._made(longest)
            elif longest > most:
                self.ready = most, pool = self._made(1 << (longest - 1).bit_length())
        return pool(ids, offsets, steps, threads)

    def _made(self, count: int) -> tuple[int, Pooler]:
        formula, dim = self.method.position, self.method._pair_width(self.words.dim)
        if formula is None:
            return np.iinfo(np.int64).max, kernels.Pooling(*self.method.native(self.words, {}))
        table = np.zeros((count, dim + -dim % kernels.POSITION_UNIT), kernels.REAL)
        # by blocks, since a position takes twice the memory while it is computed
        for start in range(0, count, 1024):
            block = np.arange(start, min(start + 1024, count))
            table[block, :dim] = equations.positions(block, dim, formula)
        return count, kernels.Pooling(*self.method.native(self.words, {}, table))
