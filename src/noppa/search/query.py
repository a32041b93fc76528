"""One query over all parts of an index: cosines, BM25, and both together.

Every number is computed over the rows that are alive, so that the same texts give the same results however they came into
the index: at once or one by one, after deletions, before or after it was compacted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.methods.k_means import interrupt
from noppa.search.index_state import Part, State
from noppa.search.overlap import COMPARED, overlaps, tells
from noppa.search.postings import K1, B, Term, inverse_frequency, terms_of
from noppa.search.row_blocks import row_blocks
from noppa.search.row_table import Row
from noppa.search.segment import Segment
from noppa.search.stored_vectors import Vectors, float_rows
from noppa.search.where import Condition
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

HYBRID, MEANING, WORDS = "hybrid", "meaning", "words"
MODES = (HYBRID, MEANING, WORDS)
#: A hybrid score is the cosine plus `WORDS_COUNT` (1 - s)² BM25 / √most, and for the first hits (1 - s) times their overlap. s is the best
#: cosine of all texts, times the square of the share of the query whose meaning is known, and most is what BM25 could reach: words count
#: the more, the less sure the meaning is, and a query of many words is more evidence than one of few, but not in proportion.
#: bench/retrieval.py chose form and numbers.
WORDS_COUNT = 0.6
#: Rows that are near by meaning alone, at least, before words are added: the more, the fewer others must be compared again.
NEAR = 256
#: How often the largest score is halved to find the few that are above.
HALVINGS = 4

Mask = NDArray[np.bool_]
Scores = NDArray[np.float32]
Rows = NDArray[np.int64]
#: Numbers of rows, and their scores.
Scored = tuple[Rows, Scores]


@dataclass(frozen=True)
class Found:
    """A row of the index, and its score in each way to look at it; NaN where a way took no part."""

    row: Row
    score: float
    cosine: float
    bm25: float
    overlap: float


@dataclass(frozen=True)
class Answer:
    """What a query found, best first, and what it was made of.

    word_weight, overlap_weight: what a point of BM25 and of the overlap give to a hybrid score.
    """

    found: list[Found]
    terms: list[Term]
    word_weight: float
    overlap_weight: float


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
        self,
        query: Vectors,
        count: int,
        threads: int,
        exact: bool = True,
        chosen: list[Rows] | None = None,
        bonus: list[Scores] | None = None,
    ) -> Scored:
        """Numbers and scores (up to `count`,) of the rows nearest to a query (dim,).

        exact: False to pass over most cells of a large segment. chosen: for each part the rows that are compared; all where
        None. bonus: for each part what is added to the cosine of each row.
        """
        numbers = [np.empty((1, 0), np.int64)]
        scores = [np.empty((1, 0), np.float32)]
        for at, part in enumerate(self.parts):
            mask = self.allowed[at]
            compared: NDArray[Any] | None = None if chosen is None else chosen[at]
            if part.segment.cells is not None and not exact:
                compared = part.segment.cells.candidates(query, mask, count, threads)
            for table, some, span in _steps(part.segment, compared):
                rows, values = kernels.nearest_rows(
                    table,
                    some,
                    None if mask is None else mask[span].view(np.uint8),
                    None if bonus is None else bonus[at][None, span],
                    query[None],
                    count,
                    threads,
                )
                numbers.append(rows + self.starts[at] + span.start)
                scores.append(values)
        found, values = best(np.hstack(numbers), np.hstack(scores), count)
        return found[0], values[0]

    def nearest_with(
        self, bonus: list[Scores], query: Vectors, near: Scored, count: int, threads: int
    ) -> Scored:
        """As `nearest` with a bonus from 0 on, given `count` rows and more that are `near` without it, which saves most comparisons.

        A row with no bonus is found only if it is near; and no other row is nearer than the last of the near, so that one needs
        a bonus that makes up for what separates that one from the least of some that are found.
        """
        numbers, cosines = near
        likely = self._split(np.union1d(numbers, self.largest(bonus, count)[0]))
        _, scores = self.nearest(query, count, threads, chosen=likely, bonus=bonus)
        least = scores[-1] if len(scores) == count else np.float32(-np.inf)
        able = []
        for rows, own in zip(likely, bonus, strict=True):
            is_able = (own > 0) & (own + cosines[-1] >= least)
            is_able[rows] = True
            able.append(np.flatnonzero(is_able))
        return self.nearest(query, count, threads, chosen=able, bonus=bonus)

    def _split(self, numbers: Rows) -> list[Rows]:
        """For each part, which of its rows are among these."""
        rows = [np.empty(0, np.int64)] * len(self.parts)
        for at, own, _ in self._by_part(numbers):
            rows[at] = own
        return rows

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

    def word_scores(self, terms: Sequence[Term], threads: int = 1) -> list[Scores]:
        """BM25 of every row of every part; 0 for a row without any term, or one that must not be found."""
        every = []
        for part, mask in zip(self.parts, self.allowed, strict=True):
            postings = part.segment.postings
            scores = np.zeros(len(part.segment), np.float32)
            for term in terms:
                interrupt.get()()
                rows, counts = postings.of(term.text)
                kernels.add_term(
                    scores, rows, counts, postings.lengths, term.weight, *self.norm, threads
                )
            if mask is not None:
                scores *= mask
            every.append(scores)
        return every

    def largest(self, every: list[Scores], count: int) -> Scored:
        """Numbers and scores (up to `count`,) of the rows with the largest scores above 0."""
        rows = [_with_largest(scores, count) for scores in every]
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


def _steps(
    segment: Segment, compared: NDArray[Any] | None
) -> Iterator[tuple[Any, NDArray[np.int32] | None, slice]]:
    """A table, which rows of it are compared, all where None, and where the table lies in the segment."""
    if compared is None:
        for start, stop in row_blocks(len(segment)):
            yield segment.part(start, stop), None, slice(start, stop)
    else:
        for start, stop in row_blocks(len(compared)):
            yield segment.rows, compared[start:stop].astype(np.int32), slice(0, len(segment))


def _with_largest(scores: Scores, count: int) -> Rows:
    """Rows with scores above 0, among them the `count` with the largest: not all, of which there may be a million."""
    bound = scores.max(initial=0)
    for _ in range(HALVINGS):
        bound /= 2
        rows = np.flatnonzero(scores > bound)
        if len(rows) >= count:
            return rows
    return np.flatnonzero(scores)


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
    words: WordVectors | None = None,
) -> Answer:
    """What one query finds; `vector` (dim,) is None for a query without a meaning.

    words: those that the vectors are made of, where it is known.
    """
    terms = [] if mode == MEANING else collection.terms(query)
    every = collection.word_scores(terms, threads) if terms else []
    has_words = any(scores.any() for scores in every)
    asked = None if mode == WORDS else vector
    if not collection.count or not (has_words or asked is not None):
        return Answer([], terms, 0.0, 0.0)
    compared = words if asked is not None and terms else None
    first = count if compared is None else max(count, COMPARED)
    near: Scored = np.empty(0, np.int64), np.empty(0, np.float32)
    if asked is not None:
        more = max(first, NEAR) if has_words else first
        near = collection.nearest(asked, more, threads, exact or mode == HYBRID)
    unsure = 1 - _sure(near, terms, words)
    weight = 1.0 if mode == WORDS else _word_weight(unsure, terms)
    if has_words and weight:
        bonus = [scores * np.float32(weight) for scores in every]
        near = (
            collection.largest(bonus, first)
            if asked is None or not len(near[0])
            else collection.nearest_with(bonus, asked, near, first, threads)
        )
    numbers, scores = near[0][:first], near[1][:first]
    rows = collection.rows(numbers)
    overlap = np.full(len(rows), np.nan)
    if compared is not None:
        overlap = _overlap(rows, terms, compared, collection.split)
        scores = scores + np.float32(unsure) * overlap
    order = np.lexsort((numbers, -scores))[:count]
    ways = _ways(collection, numbers[order], asked, every)
    found = [
        Found(rows[at], float(scores[at]), *own, float(overlap[at]))
        for at, own in zip(order.tolist(), ways, strict=True)
        # A score of 0: a text without a known word, which fills up the places where little else is there.
        if scores[at]
    ]
    return Answer(found, terms, weight, 0.0 if compared is None else unsure)


def _sure(near: Scored, terms: list[Term], words: WordVectors | None) -> float:
    """How sure the meaning is: 1 where a text means the same as all terms."""
    most = _most(terms)
    if not len(near[1]) or not most:
        return 0.0
    known = sum(term.weight for term in terms if tells(words, term.text)) / most
    return float(known**2 * min(1.0, max(0.0, float(near[1][0]))))


def _most(terms: list[Term]) -> float:
    """What BM25 could reach."""
    return sum(term.weight for term in terms)


def _word_weight(unsure: float, terms: list[Term]) -> float:
    """What a point of BM25 counts beside the cosine."""
    most = _most(terms)
    return float(WORDS_COUNT * unsure**2 / most**0.5) if most else 0.0


def _overlap(
    rows: list[Row], terms: list[Term], words: WordVectors, split: Split
) -> NDArray[np.float32]:
    """Of the first rows with the query; 0 for the others, which are not compared."""
    overlap = np.zeros(len(rows), np.float32)
    texts = [row.text for row in rows[:COMPARED]]
    overlap[: len(texts)] = [one.score for one in overlaps(words, terms, texts, split)]
    return overlap


def _ways(
    collection: Collection, numbers: Rows, vector: Vectors | None, every: list[Scores]
) -> Iterator[tuple[float, float]]:
    """The cosine and BM25 of some rows; NaN for one that took no part."""
    nothing = [float("nan")] * len(numbers)
    cosines = nothing if vector is None else collection.cosines(vector, numbers)
    return zip(cosines, collection.values(every, numbers) if every else nothing, strict=True)


def best(
    numbers: NDArray[np.int64], scores: NDArray[np.float32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the `count` largest scores of each row, largest first; of equal scores the smaller number comes first."""
    if scores.shape[1] > 4 * count:
        # Keep all ties with the smallest result, so that the smaller numbers among them are there.
        edge = -np.partition(-scores, count - 1, axis=1)[:, count - 1 : count]
        most = int(np.count_nonzero(scores >= edge, axis=1).max())
        places = np.argpartition(-scores, most - 1, axis=1)[:, :most]
        numbers = np.take_along_axis(numbers, places, 1)
        scores = np.take_along_axis(scores, places, 1)
    order = np.lexsort((numbers, -scores), axis=1)[:, :count]
    return np.take_along_axis(numbers, order, 1), np.take_along_axis(scores, order, 1)
