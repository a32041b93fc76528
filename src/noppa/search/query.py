"""Answer one query over all segments of an index: cosines, BM25, and both together.

Every number is computed over the live rows, so that the same texts give the same results however they came into the index: at
once or one by one, after deletions, before or after compaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log1p

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.methods.k_means import interrupt
from noppa.search.hits import Hit, QueryContext
from noppa.search.rows import Row
from noppa.search.segment import Segment, State
from noppa.search.terms import (
    COMPARED,
    K1,
    B,
    Term,
    find_term,
    have_distinct_vectors,
    overlaps,
    terms_of_tokens,
)
from noppa.search.vectors import Vectors, float_rows, row_blocks
from noppa.search.where import Condition
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

HYBRID, MEANING, WORDS = "hybrid", "meaning", "words"
MODES = (HYBRID, MEANING, WORDS)
#: A hybrid score is the cosine + `WORD_WEIGHT` (1 - c)² BM25 / √max_bm25 and, for the first hits, + (1 - c) times their overlap.
#: c, the semantic confidence, is the best cosine of all texts times the squared share of the query with a known meaning. So words
#: count more if the meaning is uncertain, and a query of many words is more evidence than a short one, but not in proportion.
#: bench/retrieval.py chose the formula and the number.
WORD_WEIGHT = 0.6
#: The least number of rows that are ranked by meaning before words are added: the more, the fewer rows are compared again.
NEAR = 256
#: How often the largest score is halved to find a bound that few scores exceed.
HALVINGS = 4

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]
#: Row numbers and their scores, the best first.
Ranking = tuple[Rows, Scores]


class Collection:
    """The rows of a state, numbered in the order in which they were added, of which conditions may allow only some."""

    def __init__(
        self, state: State, conditions: Sequence[Condition] = (), split: Split = kernels.tokenize
    ) -> None:
        self.state, self.split = state, split
        self.parts, self.starts = state.parts, state.starts
        self.allowed = [part.allowed(conditions) for part in self.parts]
        #: The number of rows that a search may return.
        self.count = 0
        for part, mask in zip(self.parts, self.allowed, strict=True):
            self.count += part.segment.count if mask is None else int(mask.sum())
        #: BM25 saturates the count of a term by a constant plus a factor times the length of the text.
        self.norm = K1 * (1 - B), K1 * B / state.mean_length

    # Meaning

    def nearest(
        self,
        query: Vectors,
        count: int,
        threads: int,
        exact: bool = True,
        chosen: Rows | None = None,
        bonus: Scores | None = None,
    ) -> Ranking:
        """Return up to `count` rows with the largest cosine with a query (dim,), plus their bonus (rows,).

        exact: False to skip most cells of a large segment. chosen: the rows to compare, ascending; None for all.
        """
        numbers, scores = [np.empty(0, np.int64)], [np.empty(0, np.float32)]
        for part, mask, start in zip(self.parts, self.allowed, self.starts, strict=False):
            segment, compared = part.segment, None
            stop = start + segment.count
            if chosen is not None:
                first, last = np.searchsorted(chosen, (start, stop))
                compared = (chosen[first:last] - start).astype(np.int32)
            elif segment.cells is not None and not exact:
                compared = segment.cells.candidates(query, mask, count, threads)
            for low, high in row_blocks(segment.count if compared is None else len(compared)):
                if compared is None:
                    table, rows, span = segment.slice(low, high), None, slice(low, high)
                else:
                    table, rows, span = segment.whole, compared[low:high], slice(0, segment.count)
                found, values = kernels.nearest_rows(
                    table,
                    rows,
                    None if mask is None else mask[span].view(np.uint8),
                    None if bonus is None else bonus[start:stop][None, span],
                    query[None],
                    count,
                    threads,
                )
                numbers.append(found[0] + start + span.start)
                scores.append(values[0])
        return _top(np.concatenate(numbers), np.concatenate(scores), count)

    def nearest_with_bonus(
        self, bonus: Scores, query: Vectors, near: Ranking, count: int, threads: int
    ) -> Ranking:
        """Return the same as `nearest` with a bonus (rows,) that is never negative, but with far fewer comparisons.

        near: at least `count` rows by cosine alone, if there are as many. A row that is not near has a cosine of at most that of
        the last near row, so it needs a bonus that lifts it from there above the worst of `count` good rows.
        """
        numbers, cosines = near
        likely = np.union1d(numbers, self.largest(bonus, count)[0])
        _, scores = self.nearest(query, count, threads, chosen=likely, bonus=bonus)
        worst = scores[-1] if len(scores) == count else np.float32(-np.inf)
        is_able = (bonus > 0) & (bonus + cosines[-1] >= worst)
        is_able[likely] = True
        return self.nearest(query, count, threads, chosen=np.flatnonzero(is_able), bonus=bonus)

    def cosines(self, query: Vectors, numbers: Rows) -> NDArray[np.float64]:
        """Return the cosines of rows with a query (dim,)."""
        cosines = np.empty(len(numbers), np.float64)
        for segment, rows, places in self._by_part(numbers):
            chosen = float_rows(segment.vectors, segment.scales, rows)
            cosines[places] = chosen @ query.astype(np.float64)
        return np.clip(cosines, -1, 1)

    # Words

    def bm25(self, tokens: Sequence[str], threads: int = 1) -> tuple[list[Term], Scores]:
        """Return the terms of a query in alphabetical order, and BM25 of every row (rows,); 0 if it is not allowed."""
        counts, terms = Counter(terms_of_tokens(tokens)), []
        scores = np.zeros(self.starts[-1], np.float32)
        for text in sorted(counts):
            interrupt.get()()
            postings = [find_term(part.segment.arrays, text) for part in self.parts]
            containing = 0
            for part, (rows, _) in zip(self.parts, postings, strict=True):
                containing += len(rows) if part.alive is None else int(part.alive[rows].sum())
            # As in Lucene: never below 0.
            rarity = log1p((self.state.count - containing + 0.5) / (containing + 0.5))
            terms.append(Term(text, counts[text] * rarity))
            for part, found, start in zip(self.parts, postings, self.starts, strict=False):
                block = scores[start : start + part.segment.count]
                lengths = part.segment.arrays["lengths"]
                kernels.add_term(block, *found, lengths, terms[-1].weight, *self.norm, threads)
        for mask, start in zip(self.allowed, self.starts, strict=False):
            if mask is not None:
                scores[start : start + len(mask)] *= mask
        return terms, scores

    def largest(self, scores: Scores, count: int) -> Ranking:
        """Return up to `count` rows with the largest scores (rows,) above 0."""
        bound, rows = scores.max(initial=0), np.empty(0, np.int64)
        for _ in range(HALVINGS):  # a million scores may be above 0, and sorting them takes long
            bound /= 2
            rows = np.flatnonzero(scores > bound)
            if len(rows) >= count:
                break
        else:
            rows = np.flatnonzero(scores)
        return _top(rows, scores[rows], count)

    # Rows

    def rows(self, numbers: Rows) -> list[Row]:
        """Return the rows with these numbers, in their order."""
        found: dict[int, Row] = {}
        for segment, rows, places in self._by_part(numbers):
            table = segment.table.rows(rows.tolist())
            found.update(zip(places.tolist(), map(table.__getitem__, rows.tolist()), strict=True))
        return [found[place] for place in range(len(numbers))]

    def _by_part(self, numbers: Rows) -> list[tuple[Segment, Rows, Rows]]:
        """Return the segments that contain some of these rows, with the rows in each and their places in `numbers`."""
        parts, found = np.searchsorted(self.starts, numbers, "right") - 1, []
        for part in np.unique(parts).tolist():
            places = np.flatnonzero(parts == part)
            found.append((self.parts[part].segment, numbers[places] - self.starts[part], places))
        return found


def _top(numbers: Rows, scores: Scores, count: int) -> Ranking:
    """Return the `count` largest scores, largest first; ties go to the smaller number."""
    if len(scores) > 4 * count:
        # Keep all ties with the smallest result, so that the smallest numbers are among them.
        keep = scores >= -np.partition(-scores, count - 1)[count - 1]
        numbers, scores = numbers[keep], scores[keep]
    order = np.lexsort((numbers, -scores))[:count]
    return numbers[order], scores[order]


def find_hits(
    collection: Collection,
    query: str,
    tokens: Sequence[str],
    vector: Vectors | None,
    mode: str,
    n: int,
    exact: bool,
    threads: int,
    words: WordVectors | None = None,
    encoder: object = None,
) -> list[Hit]:
    """Return the n best rows for a query.

    tokens: those of the query. vector (dim,): None for a query without a known meaning. words: the word vectors that the
    encoder uses, if any.
    """
    meaning = None if mode == WORDS else vector
    terms, bm25 = collection.bm25(() if mode == MEANING else tokens, threads)
    has_words = bool(terms) and bool(bm25.any())
    if not collection.count or not (has_words or meaning is not None):
        return []
    is_compared = words is not None and meaning is not None and bool(terms)
    first = max(n, COMPARED) if is_compared else n
    numbers, scores = np.empty(0, np.int64), np.empty(0, np.float32)
    if meaning is not None:
        count = max(first, NEAR) if has_words else first
        numbers, scores = collection.nearest(meaning, count, threads, exact or mode == HYBRID)
    max_bm25 = sum([term.weight for term in terms])
    confidence = 0.0
    if max_bm25 and len(scores):
        known = max_bm25
        if words is not None:
            is_known = have_distinct_vectors(words, [term.text for term in terms]).tolist()
            known = sum(
                [term.weight for term, counts in zip(terms, is_known, strict=True) if counts]
            )
        confidence = (known / max_bm25) ** 2 * min(1.0, max(0.0, float(scores[0])))
    uncertainty = 1 - confidence
    word_weight = WORD_WEIGHT * uncertainty**2 / max_bm25**0.5 if max_bm25 else 0.0
    word_weight = 1.0 if mode == WORDS else float(word_weight)
    if has_words and word_weight:
        bonus = bm25 * np.float32(word_weight)
        if meaning is None or not len(numbers):
            numbers, scores = collection.largest(bonus, first)
        else:
            near = numbers, scores
            numbers, scores = collection.nearest_with_bonus(bonus, meaning, near, first, threads)
    numbers, scores = numbers[:first], scores[:first]
    rows = collection.rows(numbers)
    overlap = np.full(len(rows), np.nan, np.float32)
    if is_compared and words is not None:
        overlap[:] = 0
        texts = [row.text for row in rows[:COMPARED]]
        compared = overlaps(words, terms, texts, collection.split)
        overlap[: len(texts)] = [pair.score for pair in compared]
        scores = scores + np.float32(uncertainty) * overlap
    order = np.lexsort((numbers, -scores))[:n]
    chosen, nothing = numbers[order], np.full(len(order), np.nan)
    cosines = nothing if meaning is None else collection.cosines(meaning, chosen)
    word_scores = bm25[chosen] if terms else nothing
    score_parts = (scores[order], cosines, word_scores, overlap[order])
    context = QueryContext(
        query,
        encoder,
        words,
        collection.split,
        tuple(terms),
        collection.norm,
        word_weight,
        uncertainty if is_compared else 0.0,
    )
    return [
        Hit(row.id, score, row.text, row.metadata, cosine, word_score, shared, context)
        for row, (score, cosine, word_score, shared) in zip(
            map(rows.__getitem__, order.tolist()),
            np.stack(score_parts, axis=1, dtype=np.float64).tolist(),
            strict=True,
        )
        # A score of 0 belongs to a text without a known word, which fills a place if little else is there.
        if score
    ]
