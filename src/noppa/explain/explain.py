"""A sentence vector explained: what each token, each pair of tokens and each refinement did to it.

Everything is computed in float64 from the NumPy form of the method, apart from the kernels that encode. What a method
cannot put down to a token has a name of its own and is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.errors import InputError
from noppa.explain.explanation import Explanation, Float, PairExplanation, Refined
from noppa.methods.numpy_form import Learnt, sentence_of
from noppa.methods.protocol import Method
from noppa.methods.split import Split, spread
from noppa.refine import Refinement, Remove, Step
from noppa.words.word_vectors import WordVectors

#: The tables of an explanation hold tokens × tokens numbers.
MOST_TOKENS = 2000


@dataclass(frozen=True, eq=False)
class Lookup:
    """Tokens as the kernels see them, one an id: a word known by its pieces is several.

    known: whether the vocabulary has each, as a word or a piece. sources: the number of the text's own token that each
    comes from. All (tokens,).
    """

    tokens: tuple[str, ...]
    ids: NDArray[np.int32]
    known: NDArray[np.bool_]
    sources: NDArray[np.int64]


def looked_up(words: WordVectors, tokens: Sequence[str]) -> Lookup:
    """The tokens of a text with their ids, by the vocabulary's policy for unknown words."""
    alone = [[token] for token in tokens]
    ids, offsets = words.vocabulary.look_up_tokens(alone)
    whole, _ = words.lexicon.known.look_up_tokens(alone)
    counts = np.diff(offsets)
    sources = np.repeat(np.arange(len(tokens)), counts)
    by_pieces = words.unknown in ("pieces", "ngrams")
    known = (np.asarray(whole) >= 0)[sources] | (by_pieces & (np.asarray(ids) >= 0))
    text, bounds = words.lexicon.text, words.lexicon.bounds
    shown = [
        tokens[source]
        if counts[source] == 1
        else text[bounds[row] : bounds[row + 1]].tobytes().decode()
        for row, source in zip(ids.tolist(), sources.tolist(), strict=True)
    ]
    return Lookup(tuple(shown), np.asarray(ids, np.int32), known, sources)


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
    lookup = looked_up(words, tokens)
    ids = lookup.ids
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
        tokens=lookup.tokens,
        known=lookup.known,
        sources=lookup.sources,
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
