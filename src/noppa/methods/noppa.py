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

from noppa.errors import ParameterError, warn
from noppa.kernels import formulas
from noppa.kernels.backend import kernels
from noppa.methods.noppa_split import joined, noppa_split
from noppa.methods.protocol import Learnt, Pooler, Rows
from noppa.methods.split import Split
from noppa.methods.windows import averaged, truncated, windows
from noppa.parameters import any_number, boolean, one_of, optional, positive, settle, shown, whole
from noppa.refine import NoiseRemoval, Refinement
from noppa.words.word_vectors import WordVectors

KERNELS = tuple(formulas.PAIR_KERNELS)
PARTS = ("context", "word")
POLICIES = ("error", "truncate", "window")


@dataclass(frozen=True)
class NoPPA:
    """The paper's method. Its ablations are settings: CE-avg is `a=None, k=0`, CE-avg+NR `a=None`, CE+SFW `k=0`.

    a: strength of the smooth frequency weight a / (p + a/2); None gives every word weight 1.
    k: how many of the last singular directions noise removal takes out; 0 for none.
    position: "paper" (equation 11), "reference" (the authors' code), or None.
    noise: "paper" or "reference", see `NoiseRemoval`.
    kernel: "log2" is equation 12; "abs" |x| and "square" x² are cheaper, for the paper's call to try others.
    parts: what to concatenate, in this order. The paper's two halves are "context" and "word". "ordered" is the context
        with the sign of the difference, later word minus earlier one, which keeps their order; "product" has v'_i v'_j in
        place of the kernel; "max", "min" and "std" are those of the words; "dct1", "dct2", … are the word half times
        cos(pi (2t + 1) j / 2n), t counting the words and j being the number. `NoPPA.RICH` is a good set of seven.
    attend_self: whether a word attends to itself. It adds nothing to the sum, but takes its share of the softmax.
    unknown_takes_position: whether a skipped unknown word still counts as a position.
    max_tokens, policy: a bound on the tokens of a text and what to do beyond it: "error", "truncate" (the first ones,
        with a warning), or "window" (overlapping windows of that many tokens, averaged by their length).
    """

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
    parts: tuple[str, ...] = PARTS
    attend_self: bool = True
    unknown_takes_position: bool = False
    max_tokens: int | None = None
    policy: str = "error"

    def __post_init__(self) -> None:
        settle(
            self,
            a=optional(lambda a, name: positive(a, f"{name} (None for no frequency weight)")),
            k=any_number,
            position=partial(one_of, choices=("paper", "reference", None)),
            noise=partial(one_of, choices=("paper", "reference")),
            kernel=partial(one_of, choices=KERNELS),
            parts=_checked_parts,
            attend_self=boolean,
            unknown_takes_position=boolean,
            max_tokens=optional(partial(whole, least=2)),
            policy=partial(one_of, choices=POLICIES),
        )

    def width(self, words: WordVectors) -> int:
        return words.dim * len(self.parts)

    def refinements(self) -> tuple[Refinement, ...]:
        return (NoiseRemoval(self.k, self.noise),) if self.k else ()

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        return _Pooler(self, words)

    def weights(self, words: WordVectors) -> NDArray[np.float64] | None:
        """The weight of each word and, last, of the zero word, which is as rare as the rarest, (words + 1,)."""
        if self.a is None:
            return None
        known = words.needed_probabilities(f"NoPPA(a={self.a:g})")
        return smooth_frequency_weight(np.append(known, known.min()), self.a)

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        every, weights = np.arange(len(ids), dtype=np.int32), self.weights(words)
        pieces = [every]
        if self.max_tokens is not None and len(ids) > self.max_tokens:
            if self.policy == "error":
                raise _too_long(0, len(ids), self.max_tokens)
            pieces = [every[: self.max_tokens]]
            if self.policy == "window":
                found, inner, _ = windows(every, np.array([0, len(ids)]), self.max_tokens)
                pieces = np.split(found, inner[1:-1])
        parts = [noppa_split(self, words, weights, ids, piece) for piece in pieces]
        return joined(parts, len(ids))


def smooth_frequency_weight(probabilities: NDArray[np.float64], a: float) -> NDArray[np.float64]:
    """Equation 9's weight a / (p + a/2), which lies between 0 and 2."""
    return np.asarray(a / (probabilities + a / 2))


def _checked_parts(value: Any, name: str) -> tuple[str, ...]:
    try:
        given = [] if isinstance(value, str) else list(value)
    except TypeError:
        given = []
    parts = tuple(
        part for part in given if isinstance(part, str) and formulas.part_number(part) >= 0
    )
    if not parts or len(parts) < len(given) or len(set(parts)) < len(parts):
        raise ParameterError(
            f"{name} must be some of {', '.join(formulas.PARTS)}, dct1, dct2, … dct9999, each once, "
            f"not {shown(value)}"
        )
    return parts


def _too_long(text: int, tokens: int, limit: int) -> ParameterError:
    return ParameterError(
        f"text {text} has {tokens} tokens and max_tokens is {limit}: "
        "raise it, or choose policy='truncate' or 'window'"
    )


class _Pooler:
    """NoPPA over given words: their weights, and as many positions as the longest text so far needed."""

    KEPT_POSITIONS = 4096

    def __init__(self, method: NoPPA, words: WordVectors) -> None:
        self.method = method
        self.table = words.table
        self.dim = words.dim
        self.parts = [formulas.part_number(part) for part in method.parts]
        weights = method.weights(words)
        self.weights = None if weights is None else weights.astype(kernels.REAL)
        self.places = self._positions(64)

    def __call__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        steps: kernels.Steps,
        threads: int,
    ) -> Rows:
        limit = self.method.max_tokens
        longest = len(
            ids
        )  # of a small batch this bound is enough, and the lengths need not be looked at
        if longest > min(limit or longest, self.KEPT_POSITIONS):
            longest = int(np.diff(offsets).max(initial=0))
        if limit is None or longest <= limit:
            return self._pool(ids, offsets, longest, steps, threads)
        over = np.flatnonzero(np.diff(offsets) > limit)
        if self.method.policy == "error":
            raise _too_long(over[0], offsets[over[0] + 1] - offsets[over[0]], limit)
        if self.method.policy == "truncate":
            warn(
                f"{len(over)} texts were cut to max_tokens={limit} tokens, the first is text {over[0]}"
            )
            return self._pool(*truncated(ids, offsets, limit), limit, steps, threads)
        ids, inner, owners = windows(ids, offsets, limit)
        rows, known = self._pool(ids, inner, limit, kernels.Steps([]), threads)
        rows, known = averaged(rows, known, owners, len(offsets) - 1)
        return kernels.apply_steps(rows.astype(kernels.REAL), known, steps, threads), known

    def _pool(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        longest: int,
        steps: kernels.Steps,
        threads: int,
    ) -> Rows:
        places = self.places
        if places is not None and longest > len(places):
            kept = longest <= self.KEPT_POSITIONS
            places = self._positions(1 << (longest - 1).bit_length() if kept else longest)
            if kept:
                self.places = places
        method = self.method
        return kernels.pool_noppa(
            self.table,
            self.weights,
            places,
            KERNELS.index(method.kernel),
            method.attend_self,
            method.unknown_takes_position,
            self.parts,
            ids,
            offsets,
            steps,
            threads,
        )

    def _positions(self, count: int) -> NDArray[np.float64] | None:
        if self.method.position is None:
            return None
        wide = self.dim + -self.dim % kernels.POSITION_UNIT
        places = np.zeros((count, wide), kernels.REAL)
        for start in range(0, count, 1024):  # the float64 of a block, not of all, lies in memory
            block = np.arange(start, min(start + 1024, count))
            places[block, : self.dim] = formulas.positions(block, self.dim, self.method.position)
        return places
