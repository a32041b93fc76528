"""One query over all parts of an index: cosines, BM25, and their weighted sum.

Every number is computed over the rows that are alive, so that the same texts give the same results however they came into
the index: at once or one by one, after deletions, before or after it was compacted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.kernels.row_search import best
from noppa.search.index_state import Part, State
from noppa.search.postings import K1, B, inverse_frequency, terms_of
from noppa.search.row_table import Row
from noppa.search.stored_vectors import Vectors, float_rows
from noppa.search.where import Condition
from noppa.text.tokens import Split

HYBRID, MEANING, WORDS = "hybrid", "meaning", "words"
MODES = (HYBRID, MEANING, WORDS)
#: What the cosine counts in a hybrid score; BM25, as a share of the most that the query could reach, counts the rest.
#: Equal shares: bench/retrieval.py finds the mean quality of its tuning queries nearly the same from 0.3 to 0.6.
WEIGHT = 0.5

Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """A row of the index, and its score in each way to look at it; NaN where a way took no part."""

    number: int
    score: float
    cosine: float
    bm25: float


@dataclass(frozen=True)
class Term:
    """A term of a query, and what holding it is worth: more where it is rare, and where the query repeats it."""

    text: str
    weight: float


class Collection:
    """The rows of a state, numbered in the order in which they were added, of which `conditions` let some pass."""

    def __init__(
        self,
        state: State,
        conditions: Sequence[Condition] = (),
        split: Split = kernels.tokenize,
    ) -> None:
        self.parts, self.split = state.parts, split
        self.starts = np.cumsum([0, *(len(part.segment) for part in self.parts)])
        self.texts = sum(part.count for part in self.parts)
        self.mean_length = sum(part.length for part in self.parts) / max(1, self.texts) or 1.0
        self.allowed = [_allowed(part, conditions) for part in self.parts]

    @cached_property
    def count(self) -> int:
        """How many rows may be found."""
        masks = zip(self.parts, self.allowed, strict=True)
        return sum(len(part.segment) if mask is None else int(mask.sum()) for part, mask in masks)

    # Meaning

    def nearest(
        self, query: Vectors, bonus: list[Scores] | None, count: int, exact: bool, threads: int
    ) -> tuple[Rows, Scores]:
        """Numbers and scores (up to `count`,) of the rows nearest to a query (dim,), plus their bonus.

        exact: False to pass over most cells of a large segment, where there is no bonus: to sort that takes as long.
        """
        numbers = [np.empty((1, 0), np.int64)]
        scores = [np.empty((1, 0), np.float32)]
        for at, part in enumerate(self.parts):
            mask, own_bonus = self.allowed[at], None if bonus is None else bonus[at]
            compared = None
            if part.segment.cells is not None and bonus is None and not exact:
                compared = part.segment.cells.candidates(query, mask, count, threads)
            rows, values = kernels.nearest_rows(
                part.segment.rows,
                compared,
                None if mask is None else mask.view(np.uint8),
                None if own_bonus is None else own_bonus[None],
                query[None],
                count,
                threads,
            )
            numbers.append(rows + self.starts[at])
            scores.append(values)
        found, values = best(np.hstack(numbers), np.hstack(scores), count)
        return found[0], values[0]

    def cosines(self, query: Vectors, numbers: Rows) -> list[float]:
        """The cosines of some rows with a query (dim,)."""
        found = np.empty(len(numbers), np.float64)
        for at, rows, places in self._by_part(numbers):
            part = self.parts[at]
            chosen = float_rows(part.segment.vectors, part.segment.scales, rows)
            found[places] = chosen @ query.astype(np.float64)
        return [float(cosine) for cosine in np.clip(found, -1, 1)]

    # Words

    def terms(self, query: str) -> list[Term]:
        """The terms of a query, in a fixed order."""
        counted = Counter(terms_of(query, self.split))
        return [Term(term, counted[term] * self._weight(term)) for term in sorted(counted)]

    def _weight(self, term: str) -> float:
        holding = 0
        for part in self.parts:
            rows, _ = part.segment.postings.of(term)
            holding += len(rows) if part.alive is None else int(part.alive[rows].sum())
        return inverse_frequency(self.texts, holding)

    @property
    def norm(self) -> tuple[float, float]:
        """What a term's count is saturated by: a constant, and a factor for the length of the text."""
        return K1 * (1 - B), K1 * B / self.mean_length

    def word_scores(self, terms: Sequence[Term]) -> list[Scores]:
        """BM25 of every row of every part; 0 for a row without any term, or one that must not be found."""
        every = []
        for part, mask in zip(self.parts, self.allowed, strict=True):
            postings = part.segment.postings
            scores = np.zeros(len(part.segment), np.float32)
            for term in terms:
                rows, counts = postings.of(term.text)
                kernels.add_term(scores, rows, counts, postings.lengths, term.weight, *self.norm)
            if mask is not None:
                scores *= mask
            every.append(scores)
        return every

    def largest(self, every: list[Scores], count: int) -> tuple[Rows, Scores]:
        """Numbers and scores (up to `count`,) of the rows with the largest scores above 0."""
        rows = [np.flatnonzero(scores) for scores in every]
        values = [scores[at] for scores, at in zip(every, rows, strict=True)]
        numbers = [at + start for at, start in zip(rows, self.starts[:-1], strict=True)]
        found, scores = best(
            np.concatenate([np.empty(0, np.int64), *numbers])[None],
            np.concatenate([np.empty(0, np.float32), *values])[None],
            count,
        )
        return found[0], scores[0]

    # Rows

    def _by_part(self, numbers: Rows) -> Iterator[tuple[int, Rows, Rows]]:
        """Each part with some of these rows, by its place: the rows in it, and their places in `numbers`."""
        owners = np.searchsorted(self.starts, numbers, "right") - 1
        for at in np.unique(owners).tolist():
            places = np.flatnonzero(owners == at)
            yield at, numbers[places] - self.starts[at], places

    def rows(self, numbers: Rows) -> list[Row]:
        """The rows of some numbers, in their order."""
        found: dict[int, Row] = {}
        for at, rows, _ in self._by_part(numbers):
            table = self.parts[at].segment.table.rows(rows.tolist())
            found.update({row + int(self.starts[at]): table[row] for row in table})
        return [found[number] for number in numbers.tolist()]

    def values(self, every: list[Scores], numbers: Rows) -> list[float]:
        """The values of some rows among those of every row of every part."""
        found = np.empty(len(numbers), np.float32)
        for at, rows, places in self._by_part(numbers):
            found[places] = every[at][rows]
        return [float(value) for value in found]


def _allowed(part: Part, conditions: Sequence[Condition]) -> Mask | None:
    if not conditions:
        return part.alive
    mask = part.segment.table.mask(conditions, len(part.segment))
    return mask if part.alive is None else mask & part.alive


def find(
    collection: Collection,
    query: str,
    vector: Vectors | None,
    mode: str,
    count: int,
    exact: bool,
    threads: int,
) -> tuple[list[Found], list[Term]]:
    """What one query finds, best first, and its terms; `vector` (dim,) is None for a query without a known word."""
    terms = [] if mode == MEANING else collection.terms(query)
    every = collection.word_scores(terms) if terms else []
    has_words = any(scores.any() for scores in every)
    has_meaning = vector is not None and mode != WORDS
    if not collection.count or not (has_words or has_meaning):
        return [], terms
    of_words = every
    if mode == HYBRID:
        most = sum(term.weight for term in terms)
        of_words = [scores * np.float32((1 - WEIGHT) / most) for scores in every]
    if not has_meaning:
        numbers, scores = collection.largest(of_words, count)
    else:
        assert vector is not None
        row = vector * np.float32(WEIGHT if mode == HYBRID else 1)
        numbers, scores = collection.nearest(row, of_words or None, count, exact, threads)
    return _described(collection, numbers, scores, vector if has_meaning else None, every), terms


def _described(
    collection: Collection,
    numbers: Rows,
    scores: Scores,
    vector: Vectors | None,
    every: list[Scores],
) -> list[Found]:
    nothing = [float("nan")] * len(numbers)
    cosines = nothing if vector is None else collection.cosines(vector, numbers)
    bm25 = collection.values(every, numbers) if every else nothing
    values = zip(numbers.tolist(), scores.tolist(), cosines, bm25, strict=True)
    # A score of 0: a text without a known word, which fills up the places where little else is there.
    return [Found(*one) for one in values if one[1]]
