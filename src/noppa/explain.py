"""Explanations: what each token, each pair of tokens and each refinement contributed to a vector.

Everything is computed in float64 from the NumPy form of the method, independently of the kernels that encode. A part of a
vector that belongs to no token is listed under a name of its own, so that the parts always add up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.display import Displayed, cut, dataclass_repr, frame, text_table
from noppa.errors import InputError
from noppa.methods.method import Learnt, Method, Split, sentence_of, spread
from noppa.refine import Float, Refinement, Remove, Step
from noppa.words.word_vectors import WordVectors

#: An explanation holds tables of tokens × tokens numbers.
MOST_TOKENS = 2000


@dataclass(frozen=True, eq=False)
class Refined:
    """The effect of one refinement on a vector.

    Attributes:
        before: The vector before, (in,).
        after: The vector after, (out,).
        removed: The part that was removed, (in,); None for a refinement that maps or scales.
        share: Squared length of `removed` relative to `before`; None like `removed`.
    """

    name: str
    before: Float
    after: Float
    removed: Float | None
    share: float | None

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class Explanation(Displayed):
    """One text taken apart: `contributions` and `remainders` add up to `pooled`, `refined` and `constants` to `vector`.

    Attributes:
        tokens: Tokens of the text; a word known only by its pieces appears as these, such as `##ing`.
        known: Whether the vocabulary has each token, (tokens,).
        sources: Index of the tokenizer's token that each token comes from; pieces of one word share it, (tokens,).
        positions: Position that the method gave to each token, -1 for a token that took no part, (tokens,).
        weights: Weight of each token, by frequency or another criterion of the method, (tokens,).
        attention: Equation 13, each row adding up to 1, (tokens, tokens); None for a method or text without attention.
        contributions: What each token adds to the pooled vector, (tokens, width).
        exact: Whether contributions follow from the method's formula. Otherwise each is the change of the vector when
            the token is left out, and the difference to the whole is a remainder.
        remainders: Parts of the pooled vector that belong to no token, by name, (width,) each; most methods have none.
        pooled: The vector before refinement, (width,).
        shares: Contributions along the pooled vector, relative to its length, (tokens,); they add up to 1 without remainders.
        pairs: Shares by way of another token, (tokens, tokens); rows add up to `shares`, the diagonal is the token alone.
        cosines: Cosine of each word, repeated to the width of the pooled vector, with that vector (Figure 2), (tokens,).
        steps: The effect of each refinement, in order.
        refined: Contributions after all refinements, (tokens, dim).
        constants: What the refinements add to any sentence, and the refined remainders, by name, (dim,) each.
        vector: The vector that `encode` returns in float32, (dim,).
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

    def __repr__(self) -> str:
        return f"Explanation({cut(self.text, 80)!r}, {len(self.tokens)} tokens, dim={len(self.vector)})"

    def __str__(self) -> str:
        removed = [f"{step.name} removed {step.share:.1%}" for step in self.steps if step.share]
        return "\n".join([self._title, text_table(self._columns()), *removed])

    @property
    def _title(self) -> str:
        return f"“{cut(self.text)}” by {self.method}, before refinement"

    def _columns(self) -> dict[str, Any]:
        return {
            "token": list(self.tokens),
            "known": self.known,
            "position": self.positions,
            "weight": self.weights,
            "share": self.shares,
            "cosine": self.cosines,
        }

    @property
    def weighted_attention(self) -> Float | None:
        """Attention times the weight of the row's token, w_i A_ij: rows add up to the weights."""
        return None if self.attention is None else self.weights[:, None] * self.attention

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        names = (
            "text method tokens known sources positions weights attention weighted_attention shares pairs cosines "
            "contributions exact remainders pooled constants vector"
        ).split()
        steps = [{"name": step.name, "share_removed": step.share} for step in self.steps]
        return {name: _plain(getattr(self, name)) for name in names} | {"steps": steps}


@dataclass(frozen=True, eq=False)
class PairExplanation(Displayed):
    """The cosine of two texts taken apart: `pairs` (tokens of a, tokens of b) and `remainders` add up to `cosine`.

    There are remainders only if a refinement adds a constant or the method has parts that belong to no token.
    """

    a: Explanation
    b: Explanation
    pairs: Float
    remainders: Mapping[str, float]
    cosine: float

    def __repr__(self) -> str:
        return f"PairExplanation({cut(self.a.text, 60)!r}, {cut(self.b.text, 60)!r}, cosine={self.cosine:.4f})"

    def __str__(self) -> str:
        rest = [f"{name}: {value:+.4f}" for name, value in self.remainders.items()]
        return "\n".join([self._title, text_table(self._columns()), *rest])

    @property
    def _title(self) -> str:
        return f"cosine {self.cosine:.4f} of “{cut(self.a.text, 60)}” and “{cut(self.b.text, 60)}”"

    def aligned(self) -> list[tuple[str, str, float]]:
        """Return pairs of a token of each text with their share of the cosine, largest first."""
        order = np.argsort(-self.pairs, axis=None, kind="stable")
        rows, columns = (numbers.tolist() for numbers in np.unravel_index(order, self.pairs.shape))
        shares = self.pairs.ravel()[order].tolist()
        return [
            (self.a.tokens[row], self.b.tokens[column], share)
            for row, column, share in zip(rows, columns, shares, strict=True)
            if share
        ]

    def _columns(self) -> dict[str, Any]:
        a, b, shares = zip(*self.aligned(), strict=True) if self.pairs.any() else ((), (), ())
        return {"a": list(a), "b": list(b), "share": list(shares)}

    def to_pandas(self) -> Any:
        """Return the share of each token of a (rows) with each token of b (columns) as a pandas frame."""
        return frame(self.pairs, self.a.tokens, self.b.tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "cosine": self.cosine,
            "pairs": self.pairs.tolist(),
            "remainders": dict(self.remainders),
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
        }


def explain(
    text: str,
    tokens: Sequence[str],
    words: WordVectors,
    method: Method,
    learnt: Learnt,
    steps: Sequence[Step],
    refinements: Sequence[Refinement],
) -> Explanation:
    """Explain the vector of a text, given its tokens and everything that its encoder knows."""
    pieces, ids, known, sources = look_up_pieces(words, tokens)
    if len(ids) > MOST_TOKENS:
        raise InputError(
            f"the text has {len(ids)} tokens, and an explanation takes up to {MOST_TOKENS}",
            "explain a part of it",
        )
    empty = not (ids >= 0).any()
    if empty:
        zeros = np.zeros((len(ids), method.width(words)))
        split = Split(zeros, zeros, np.zeros(len(ids)), np.full(len(ids), -1))
    else:
        sentence = sentence_of(words, learnt, ids, method.weights(words, learnt))
        split = spread(method.explained(sentence), sentence.places, len(ids))
    pooled = split.terms.sum(axis=0) + sum(split.rest.values())
    square = pooled @ pooled
    direction = pooled / (square if square > 0 else 1)
    shares = split.terms @ direction
    lengths = np.linalg.norm(split.words, axis=1) * np.linalg.norm(pooled)
    effects, refined, constants = _refine(split, pooled, steps, refinements, empty)
    return Explanation(
        text=text,
        method=repr(method),
        tokens=pieces,
        known=known,
        sources=sources,
        positions=split.positions,
        weights=split.weights,
        attention=split.attention,
        contributions=split.terms,
        exact=split.exact,
        remainders=split.rest,
        pooled=pooled,
        shares=shares,
        pairs=np.diag(shares) if split.pairs is None else split.pairs(direction),
        cosines=split.words @ pooled / np.where(lengths > 0, lengths, 1),
        steps=effects,
        refined=refined,
        constants=constants,
        vector=refined.sum(axis=0) + sum(constants.values()),
    )


def explain_pair(a: Explanation, b: Explanation) -> PairExplanation:
    """Explain the cosine of two texts of one encoder; it is 0 if one of them has no known word."""
    scale = float(np.linalg.norm(a.vector) * np.linalg.norm(b.vector)) or 1.0
    pairs = a.refined @ b.refined.T / scale
    first, second = (sum(text.constants.values(), np.zeros(len(text.vector))) for text in (a, b))
    remainders = {}
    if a.constants or b.constants:
        remainders = {
            "words of a with constants of b": float(a.refined.sum(axis=0) @ second / scale),
            "constants of a with words of b": float(first @ b.refined.sum(axis=0) / scale),
            "constants of a with constants of b": float(first @ second / scale),
        }
    return PairExplanation(a, b, pairs, remainders, float(a.vector @ b.vector / scale))


def look_up_pieces(
    words: WordVectors, tokens: Sequence[str]
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.bool_], NDArray[np.int64]]:
    """Return the tokens as the kernels see them: their names, ids, whether they are known, and their source token."""
    alone = [[token] for token in tokens]
    ids, offsets = words.vocabulary.look_up_tokens(alone)
    whole, _ = words.lexicon.known.look_up_tokens(alone)
    counts = np.diff(offsets)
    sources = np.repeat(np.arange(len(tokens)), counts)
    by_pieces = words.unknown in ("pieces", "ngrams")
    known = (np.asarray(whole) >= 0)[sources] | (by_pieces & (np.asarray(ids) >= 0))
    text, bounds = words.lexicon.text, words.lexicon.bounds
    names = tuple(
        tokens[source]
        if counts[source] == 1
        else text[bounds[row] : bounds[row + 1]].tobytes().decode()
        for row, source in zip(ids.tolist(), sources.tolist(), strict=True)
    )
    return names, np.asarray(ids, np.int32), known, sources


def _refine(
    split: Split,
    pooled: Float,
    steps: Sequence[Step],
    refinements: Sequence[Refinement],
    empty: bool,
) -> tuple[tuple[Refined, ...], Float, dict[str, Float]]:
    """Apply every step to the terms and the rest; also return the effect of each step."""
    effects: list[Refined] = []
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
            with np.errstate(over="ignore"):
                ratio = np.float64(removed @ removed) / (before @ before or 1.0)
            share = float(min(ratio, np.finfo(float).max)) if before.any() else 0.0
        effects.append(Refined(repr(refinement), before, whole, removed, share))
    tokens = len(split.terms)
    return tuple(effects), rows[:tokens], dict(zip(names, rows[tokens:], strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: vector.tolist() for name, vector in value.items()}
    return list(value) if isinstance(value, tuple) else value
