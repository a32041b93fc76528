"""Search results: find them over all segments of an index by cosines, BM25 and both together, print and explain them.

Every number is computed over the live rows, so that the same texts give the same results however they came into the index: at
once or one by one, after deletions, before or after compaction.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import compress
from math import log1p
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.display import Displayed, cut, dataclass_repr, frame
from noppa.errors import InputError
from noppa.methods.k_means import interrupt
from noppa.search.rows import Metadata, Row
from noppa.search.segment import Segment, State
from noppa.search.terms import (
    COMPARED,
    K1,
    B,
    Match,
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

if TYPE_CHECKING:
    from noppa.explain import PairExplanation

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
#: Characters of a text in a printed line, and pairs of words in a printed explanation.
SHOWN_TEXT, SHOWN_PAIRS = 100, 8
#: The parts of a score, and the columns of a table of hits.
SCORE_PARTS = ("cosine", "bm25", "overlap")
COLUMNS = ("id", "score", *SCORE_PARTS, "text")


# Results


@dataclass(frozen=True)
class QueryContext:
    """What the hits of a query share, to explain their scores.

    words, split: the word vectors and the tokenizer of the encoder. norm: by what BM25 saturates the count of a term.
    word_weight, overlap_weight: the weights of BM25 and of the overlap in a hybrid score.
    """

    query: str
    encoder: Any
    words: WordVectors | None
    split: Split
    terms: tuple[Term, ...]
    norm: tuple[float, float]
    word_weight: float
    overlap_weight: float

    __repr__ = dataclass_repr


@dataclass(frozen=True)
class Hit:
    """A text that was found.

    id, text, metadata: as they were added.
    score: what the hits are sorted by: the cosine, BM25, or in hybrid mode
        cosine + context.word_weight · bm25 + context.overlap_weight · overlap.
    cosine, bm25, overlap: the parts of the score; NaN for a part that the mode does not use. The overlap is 0 for hits
        after the first 30, which are not compared word by word.
    """

    id: str
    score: float
    text: str
    metadata: Metadata
    cosine: float
    bm25: float
    overlap: float
    context: QueryContext = field(repr=False, compare=False)

    __repr__ = dataclass_repr

    def explain(self) -> HitExplanation:
        """Explain the score: which words of query and text are similar, and which terms both contain."""
        context = self.context
        counts = Counter(terms_of_tokens(context.split(self.text)))
        norm = context.norm[0] + context.norm[1] * counts.total()
        terms = {
            term.text: term.weight * counts[term.text] / (counts[term.text] + norm)
            for term in context.terms
            if counts[term.text]
        }
        pair, matches = None, []
        if not math.isnan(self.cosine) and hasattr(context.encoder, "explain_pair"):
            with suppress(InputError):  # the text has more tokens than an explanation may have
                pair = context.encoder.explain_pair(context.query, self.text)
        if context.words is not None and self.overlap > 0:
            compared = overlaps(context.words, context.terms, [self.text], context.split)
            matches = compared[0].matches
        return HitExplanation(self, terms, matches, pair)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the explanation as plain data."""
        parts = {name: getattr(self, name) for name in SCORE_PARTS}
        return {
            "id": self.id,
            "score": self.score,
            **{name: value for name, value in parts.items() if not math.isnan(value)},
            "text": self.text,
            "metadata": self.metadata,
        }

    def __str__(self) -> str:
        facts = "".join(f"  {name}={value}" for name, value in self.metadata.items())
        return f"{self.score:.4f}  {self.id}  {cut(self.text, SHOWN_TEXT)}{facts}"


@dataclass(frozen=True)
class HitExplanation:
    """Why a text was found.

    terms: the share of each matched term in BM25; they add up to `hit.bm25`.
    nearest: for each word of the query, then of the text, the nearest word on the other side and its share of the overlap;
        they add up to `hit.overlap`.
    pair: the cosine as an exact sum over pairs of tokens, see `Encoder.explain_pair`; None in mode "words", for an encoder
        that cannot explain, and for a text with more tokens than `Encoder.explain` takes.
    """

    hit: Hit
    terms: dict[str, float]
    nearest: list[Match]
    pair: PairExplanation | None

    __repr__ = dataclass_repr

    @property
    def aligned(self) -> list[tuple[str, str, float]]:
        """Pairs of a query word and a text word with their share of the cosine, largest first."""
        if self.pair is None:
            return []
        a, b, shares = self.pair.a.tokens, self.pair.b.tokens, self.pair.pairs
        places = [(-share, place) for place, share in enumerate(shares.ravel().tolist()) if share]
        return [(a[at // len(b)], b[at % len(b)], -share) for share, at in sorted(places)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            "terms": self.terms,
            "word weight": self.hit.context.word_weight,
            "nearest": [[match.word, match.nearest, match.share] for match in self.nearest],
            "overlap weight": self.hit.context.overlap_weight,
            "aligned": [list(pair) for pair in self.aligned],
            "remainders": {} if self.pair is None else dict(self.pair.remainders),
        }

    def __str__(self) -> str:
        lines, context = [str(self.hit)], self.hit.context
        if self.terms:
            largest = sorted(self.terms.items(), key=lambda item: -item[1])
            parts = ", ".join(f"{term} {share:.2f}" for term, share in largest)
            total = f"{self.hit.bm25:.2f} x {context.word_weight:.2g}"
            lines.append(f"  words, BM25 {total}: {parts}")
        if self.pair is not None:
            pairs = [f"{a}~{b} {share:+.3f}" for a, b, share in self.aligned[:SHOWN_PAIRS]]
            lines.append(f"  meaning, cosine {self.hit.cosine:.3f}: {', '.join(pairs)}")
        if self.nearest:
            best = sorted(self.nearest, key=lambda match: -match.share)[:SHOWN_PAIRS]
            shares = [
                f"{match.word}→{match.nearest} {match.share:.3f}" for match in best if match.share
            ]
            total = f"{self.hit.overlap:.3f} x {context.overlap_weight:.2g}"
            lines.append(f"  word by word, overlap {total}: {', '.join(shares)}")
        return "\n".join(lines)


class Hits(Displayed, Sequence[Hit]):
    """The hits of one query, best first.

    note: why there are no hits; "" if there are some.
    """

    def __init__(self, query: str, mode: str, hits: Sequence[Hit], note: str = "") -> None:
        self.query, self.mode, self.note = query, mode, note
        self._hits = list(hits)

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> list[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | list[Hit]:
        return self._hits[index]

    @property
    def ids(self) -> list[str]:
        """The ids of the hits, best first."""
        return [hit.id for hit in self._hits]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        hits = [hit.to_dict() for hit in self._hits]
        return {"query": self.query, "mode": self.mode, "hits": hits, "note": self.note}

    def to_pandas(self) -> Any:
        """Return a data frame with one row per hit and one column per metadata field, NaN if a hit lacks it."""
        return frame(self._every_column())

    def _every_column(self) -> dict[str, list[Any]]:
        """Return the columns of a table; a metadata field with the name of an attribute is left out."""
        columns = {name: [getattr(hit, name) for hit in self._hits] for name in COLUMNS}
        for name in dict.fromkeys(name for hit in self._hits for name in hit.metadata):
            columns.setdefault(name, [hit.metadata.get(name) for hit in self._hits])
        return columns

    def __repr__(self) -> str:
        return f"Hits({cut(self.query, 80)!r}, {len(self)} hits, mode={self.mode!r})"

    def __str__(self) -> str:
        return "\n".join(map(str, self._hits)) or f"no hits: {self.note}"

    @property
    def _title(self) -> str:
        return f"“{self.query}”, by {self.mode}" + ("" if len(self) else f": no hits, {self.note}")

    def _columns(self) -> dict[str, list[Any]]:
        return {
            name: values
            for name, values in self._every_column().items()
            if name not in SCORE_PARTS or not any(map(math.isnan, values))
        }


# Searching


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
        most = scores.max(initial=0)
        for halvings in range(1, HALVINGS + 1):  # sorting a million scores takes long
            rows = np.flatnonzero(scores > most / 2**halvings)
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
            known = sum([term.weight for term in compress(terms, is_known)])
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
