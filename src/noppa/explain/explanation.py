"""A sentence vector explained: what each token, each pair of tokens and each refinement did to it.

Everything is computed in float64 from the formulas of the NumPy twin, apart from the kernels that encode. What a
method cannot put down to a token has a name of its own and is never left out: `contributions` and `remainders` add up
to `pooled`, and `refined` and `constants` to `vector`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import InputError
from noppa.methods.numpy_form import Learnt, sentence_of
from noppa.methods.protocol import Method
from noppa.methods.split import Split, spread
from noppa.refine import Refinement, Remove, Step
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float64]

#: The tables of an explanation hold tokens × tokens numbers.
MOST_TOKENS = 2000


@dataclass(frozen=True, eq=False)
class Refined:
    """One refinement at work: the vector before, (in,), and after, (out,).

    removed: what it took away, (in,), and share: of the squared length; None for one that maps or scales.
    """

    name: str
    before: Float
    after: Float
    removed: Float | None
    share: float | None


@dataclass(frozen=True, eq=False)
class Explanation:
    """One text taken apart.

    tokens: those of the encoder's tokenizer; a word known by its pieces is there as these, such as `##ing`.
    known: whether the vocabulary has them, (tokens,). sources: the number of the tokenizer's token that each comes from,
        which pieces of one word share, (tokens,).
    positions: the place that the method gave to each, -1 for one that took no part, (tokens,).
    weights: by word frequency or whatever else the method weighs by, (tokens,).
    attention: equation 13, each row adding up to 1, (tokens, tokens); None for a method or a text without.
    contributions: what each token adds to the pooled vector, (tokens, width).
    exact: whether they follow from the method's formula; else each is what the vector loses without the token, and what
        these do not add up to is a remainder.
    remainders: what belongs to no token, by name, (width,) each; most methods have none.
    pooled: the sum of both, the vector before refinement, (width,).
    shares: contributions along the pooled vector, relative to its length, (tokens,); they add up to 1 where nothing remains.
    pairs: shares by way of another token, (tokens, tokens), adding up to `shares` over each row; the diagonal is what a
        token gives by itself.
    cosines: of each word, repeated to the width of the pooled vector, with that vector: the paper's Figure 2, (tokens,).
    steps: what each refinement did, in order.
    refined: contributions after all refinements, (tokens, dim). constants: what the refinements add to any sentence, and
        the remainders after them, by name, (dim,) each.
    vector: the sum of both, which `encode` gives in float32, (dim,).
    """

    text: str
    method: str
    tokens: tuple[str, ...]
    known: NDArray[np.bool_]
    sources: NDArray[np.int64]
    positions: NDArray[np.int64]
    weights: Float
    attention: Float | None
    contributions: Float
    exact: bool
    remainders: Mapping[str, Float]
    pooled: Float
    shares: Float
    pairs: Float
    cosines: Float
    steps: tuple[Refined, ...]
    refined: Float
    constants: Mapping[str, Float]
    vector: Float

    @property
    def weighted_attention(self) -> Float | None:
        """Attention times the weight of the row's token, w_i A_ij: rows add up to the weights, not to 1."""
        return None if self.attention is None else self.weights[:, None] * self.attention

    def described(self) -> dict[str, Any]:
        """Everything as JSON."""
        weighted = self.weighted_attention
        return {
            "text": self.text,
            "method": self.method,
            "tokens": list(self.tokens),
            "known": self.known.tolist(),
            "sources": self.sources.tolist(),
            "positions": self.positions.tolist(),
            "weights": self.weights.tolist(),
            "attention": None if self.attention is None else self.attention.tolist(),
            "weighted_attention": None if weighted is None else weighted.tolist(),
            "shares": self.shares.tolist(),
            "pairs": self.pairs.tolist(),
            "cosines": self.cosines.tolist(),
            "contributions": self.contributions.tolist(),
            "exact": self.exact,
            "remainders": _lists(self.remainders),
            "pooled": self.pooled.tolist(),
            "steps": [{"name": step.name, "share_removed": step.share} for step in self.steps],
            "constants": _lists(self.constants),
            "vector": self.vector.tolist(),
        }


@dataclass(frozen=True, eq=False)
class PairExplanation:
    """The cosine of two texts divided: `pairs` (tokens of a, tokens of b) and `remainders` add up to `cosine`.

    The remainders are there only where a refinement adds a constant or a method gives something that no token owns.
    """

    a: Explanation
    b: Explanation
    pairs: Float
    remainders: Mapping[str, float]
    cosine: float

    def described(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "cosine": self.cosine,
            "pairs": self.pairs.tolist(),
            "remainders": dict(self.remainders),
            "a": self.a.described(),
            "b": self.b.described(),
        }


@dataclass(frozen=True, eq=False)
class Looked:
    """Tokens as the kernels see them, one an id: a word known by its pieces is several.

    known: whether the vocabulary has each, as a word or a piece. sources: the number of the text's own token that each
    comes from. All (tokens,).
    """

    tokens: tuple[str, ...]
    ids: NDArray[np.int32]
    known: NDArray[np.bool_]
    sources: NDArray[np.int64]


def looked_up(words: WordVectors, tokens: Sequence[str]) -> Looked:
    """The tokens of a text with their ids, by the vocabulary's policy for unknown words."""
    alone = [[token] for token in tokens]
    ids, offsets = words.vocabulary.look_up_tokens(alone)
    whole, _ = words.lexicon.known.look_up_tokens(alone)
    counts = np.diff(offsets)
    sources = np.repeat(np.arange(len(tokens)), counts)
    by_pieces = words.unknown == "pieces"
    known = (np.asarray(whole) >= 0)[sources] | (by_pieces & (np.asarray(ids) >= 0))
    text, bounds = words.lexicon.text, words.lexicon.bounds
    shown = [
        tokens[source]
        if counts[source] == 1
        else text[bounds[row] : bounds[row + 1]].tobytes().decode()
        for row, source in zip(ids.tolist(), sources.tolist(), strict=True)
    ]
    return Looked(tuple(shown), np.asarray(ids, np.int32), known, sources)


def explanation(
    text: str,
    tokens: Sequence[str],
    words: WordVectors,
    method: Method,
    learnt: Learnt,
    steps: Sequence[Step],
    refinements: Sequence[Refinement],
) -> Explanation:
    """A text explained, given its tokens and everything that its encoder knows."""
    looked = looked_up(words, tokens)
    ids = looked.ids
    if len(ids) > MOST_TOKENS:
        raise InputError(
            f"the text has {len(ids)} tokens, and an explanation takes up to {MOST_TOKENS}: explain a part of it"
        )
    empty = not (ids >= 0).any()
    split = _nothing(len(ids), method.width(words))
    if not empty:
        sentence = sentence_of(words, learnt, ids, method.weights(words, learnt))
        split = spread(method.explained(sentence), sentence.places, len(ids))
    pooled = split.terms.sum(axis=0) + sum(split.rest.values())
    square = pooled @ pooled
    direction = pooled / (square if square > 0 else 1)
    shares = split.terms @ direction
    pairs = np.diag(shares) if split.pairs is None else split.pairs(direction)
    done, refined, constants = _refined(split, pooled, steps, refinements, empty)
    vector = refined.sum(axis=0) + sum(constants.values())
    return Explanation(
        text=text,
        method=repr(method),
        tokens=looked.tokens,
        known=looked.known,
        sources=looked.sources,
        positions=split.positions,
        weights=split.weights,
        attention=split.attention,
        contributions=split.terms,
        exact=split.exact,
        remainders=split.rest,
        pooled=pooled,
        shares=shares,
        pairs=pairs,
        cosines=_cosines(split.words, pooled),
        steps=done,
        refined=refined,
        constants=constants,
        vector=vector,
    )


def pair_explanation(a: Explanation, b: Explanation) -> PairExplanation:
    """The cosine of two explained texts of one encoder; 0 where one has no known word."""
    scale = float(np.linalg.norm(a.vector) * np.linalg.norm(b.vector)) or 1.0
    pairs = a.refined @ b.refined.T / scale
    first, second = (sum(one.constants.values(), np.zeros(len(one.vector))) for one in (a, b))
    remainders = {}
    if a.constants or b.constants:
        remainders = {
            "words of a with constants of b": float(a.refined.sum(axis=0) @ second / scale),
            "constants of a with words of b": float(first @ b.refined.sum(axis=0) / scale),
            "constants of a with constants of b": float(first @ second / scale),
        }
    return PairExplanation(a, b, pairs, remainders, float(a.vector @ b.vector / scale))


def _refined(
    split: Split,
    pooled: Float,
    steps: Sequence[Step],
    refinements: Sequence[Refinement],
    empty: bool,
) -> tuple[tuple[Refined, ...], Float, dict[str, Float]]:
    """Every step: what it did, and the terms and the named rest after all of them."""
    done: list[Refined] = []
    names, rows = list(split.rest), np.array([*split.terms, *split.rest.values()])
    rows, whole = rows.reshape(-1, len(pooled)), pooled
    for step, refinement in zip(steps, refinements, strict=True):
        before = whole
        rows, constant = step.split(rows, whole)
        if constant is not None and not empty:  # a text without a known word stays zeros
            names.append(f"constant of {refinement!r}")
            rows = np.vstack([rows, constant])
        whole = rows.sum(axis=0)
        removed = before - whole if isinstance(step, Remove) else None
        share = None
        if removed is not None:
            share = _ratio(float(removed @ removed), float(before @ before))
        done.append(Refined(repr(refinement), before, whole, removed, share))
    tokens = len(split.terms)
    return tuple(done), rows[:tokens], dict(zip(names, rows[tokens:], strict=True))


def _ratio(part: float, whole: float) -> float:
    """0 where the whole is nothing, and never beyond what a float holds."""
    with np.errstate(over="ignore"):
        return float(min(np.float64(part) / whole, np.finfo(float).max)) if whole > 0 else 0.0


def _cosines(words: Float, pooled: Float) -> Float:
    lengths = np.linalg.norm(words, axis=1) * np.linalg.norm(pooled)
    return np.asarray(words @ pooled / np.where(lengths > 0, lengths, 1))


def _nothing(tokens: int, width: int) -> Split:
    """The split of a text in which no word is known."""
    zeros = np.zeros((tokens, width))
    return Split(zeros, zeros, np.zeros(tokens), np.full(tokens, -1))


def _lists(vectors: Mapping[str, Float]) -> dict[str, list[float]]:
    return {name: vector.tolist() for name, vector in vectors.items()}
