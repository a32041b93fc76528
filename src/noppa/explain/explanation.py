"""What an explanation holds: `contributions` and `remainders` add up to `pooled`, `refined` and `constants` to `vector`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.display import Displayed, Grid, Table, View, Words, cut, dataclass_repr, frame, text_of

Float = NDArray[np.float64]


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

    __repr__ = dataclass_repr


@dataclass(frozen=True, eq=False)
class Explanation(Displayed):
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

    def __repr__(self) -> str:
        return f"Explanation({cut(self.text, 80)!r}, {len(self.tokens)} tokens, dim={len(self.vector)})"

    def __str__(self) -> str:
        return text_of(self._view())

    def to_pandas(self) -> Any:
        """A row for each token: what is known of it alone."""
        return frame(self._columns())

    def _columns(self) -> dict[str, Any]:
        return {
            "token": list(self.tokens),
            "known": self.known,
            "position": self.positions,
            "weight": self.weights,
            "share": self.shares,
            "cosine": self.cosines,
        }

    def _view(self) -> View:
        columns = self._columns()
        rows = list(zip(*columns.values(), strict=True))
        notes = [f"{self.method}; a share is what a token gives to the vector before refinement"]
        notes += [f"{step.name} removed {step.share:.1%}" for step in self.steps if step.share]
        words = Words(self.tokens, self.shares.tolist())
        return View(f"“{self.text}”", [words, Table(list(columns), rows), *notes])

    @property
    def weighted_attention(self) -> Float | None:
        """Attention times the weight of the row's token, w_i A_ij: rows add up to the weights, not to 1."""
        return None if self.attention is None else self.weights[:, None] * self.attention

    def to_dict(self) -> dict[str, Any]:
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
class PairExplanation(Displayed):
    """The cosine of two texts divided: `pairs` (tokens of a, tokens of b) and `remainders` add up to `cosine`.

    The remainders are there only where a refinement adds a constant or a method gives something that no token owns.
    """

    a: Explanation
    b: Explanation
    pairs: Float
    remainders: Mapping[str, float]
    cosine: float

    def __repr__(self) -> str:
        return f"PairExplanation({cut(self.a.text, 60)!r}, {cut(self.b.text, 60)!r}, cosine={self.cosine:.4f})"

    def __str__(self) -> str:
        return text_of(self._view())

    def to_pandas(self) -> Any:
        """What each token of the first text (row) and of the second (column) give to the cosine together."""
        return frame(self.pairs, self.a.tokens, self.b.tokens)

    def _view(self) -> View:
        title = f"cosine {self.cosine:.4f} of “{cut(self.a.text, 60)}” and “{cut(self.b.text, 60)}”"
        rest = [f"{name}: {value:+.4f}" for name, value in self.remainders.items()]
        return View(title, [Grid(self.a.tokens, self.b.tokens, self.pairs), *rest])

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "cosine": self.cosine,
            "pairs": self.pairs.tolist(),
            "remainders": dict(self.remainders),
            "a": self.a.to_dict(),
            "b": self.b.to_dict(),
        }


def _lists(vectors: Mapping[str, Float]) -> dict[str, list[float]]:
    return {name: vector.tolist() for name, vector in vectors.items()}
