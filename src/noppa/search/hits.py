"""What a search gives: hits that print well, go to JSON, and say why they were found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from noppa.display import Displayed, Table, View, cut, dataclass_repr, frame
from noppa.errors import InputError
from noppa.search.index_model import split_of, words_of
from noppa.search.metadata import Metadata
from noppa.search.overlap import Match, overlaps
from noppa.search.postings import Term, terms_of
from noppa.search.query import Answer

if TYPE_CHECKING:
    from noppa.explain.explanation import PairExplanation

#: Characters of a text in a printed line, and pairs of words in a printed explanation.
SHOWN_TEXT, SHOWN_PAIRS = 100, 8
#: The parts of a score, and the fields of a hit in a table.
WAYS = ("cosine", "bm25", "overlap")
COLUMNS = ("id", "score", *WAYS, "text")


@dataclass(frozen=True)
class Asked:
    """A query as the hits of it share it: its terms, how BM25 saturates a count, what a point of BM25 and of the overlap gives to
    the score, and the encoder.
    """

    query: str
    encoder: Any
    terms: tuple[Term, ...]
    norm: tuple[float, float]
    word_weight: float
    overlap_weight: float

    __repr__ = dataclass_repr


@dataclass(frozen=True)
class Hit(Displayed):
    """A text that was found.

    id, text, metadata: as they were added.
    score: what the hits are sorted by: cosine, BM25, or in hybrid mode
        cosine + asked.word_weight · bm25 + asked.overlap_weight · overlap.
    cosine, bm25, overlap: the parts; NaN for one that took no part, and an overlap of 0 behind the 30 hits that are compared
        word by word.
    """

    id: str
    score: float
    text: str
    metadata: Metadata
    cosine: float
    bm25: float
    overlap: float
    asked: Asked = field(repr=False, compare=False)

    __repr__ = dataclass_repr

    def explain(self) -> HitExplanation:
        """Why this text was found: which of its words aligned with the query's, and which terms matched."""
        split = split_of(self.asked.encoder)
        counts = Counter(terms_of(self.text, split))
        flat, sloped = self.asked.norm
        norm = flat + sloped * counts.total()
        matched = {
            term.text: term.weight * counts[term.text] / (counts[term.text] + norm)
            for term in self.asked.terms
            if counts[term.text]
        }
        pair = None
        if not math.isnan(self.cosine) and hasattr(self.asked.encoder, "explain_pair"):
            with suppress(InputError):  # more tokens than a table of pairs takes: the words tell
                pair = self.asked.encoder.explain_pair(self.asked.query, self.text)
        words, nearest = words_of(self.asked.encoder), []
        if words is not None and self.overlap > 0:
            nearest = overlaps(words, self.asked.terms, [self.text], split)[0].matches
        return HitExplanation(self, matched, nearest, pair)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the reasons, as JSON."""
        known = {name: getattr(self, name) for name in WAYS}
        parts = {name: value for name, value in known.items() if not math.isnan(value)}
        found = {"id": self.id, "score": self.score, **parts, "text": self.text}
        return {**found, "metadata": self.metadata}

    def __str__(self) -> str:
        facts = "".join(f"  {name}={value}" for name, value in self.metadata.items())
        return f"{self.score:.4f}  {self.id}  {cut(self.text, SHOWN_TEXT)}{facts}"

    def _view(self) -> View:
        return View(f"{self.score:.4f}  {self.id}", [Table(["", ""], list(self.to_dict().items()))])


@dataclass(frozen=True)
class HitExplanation(Displayed):
    """Why a text was found.

    terms: what each matched term gave to BM25; they add up to `hit.bm25`.
    nearest: for each word of the query, and then of the text, its nearest on the other side and what that gave to the overlap;
        they add up to `hit.overlap`.
    pair: the cosine divided over pairs of tokens, exactly, as `Encoder.explain_pair` gives it; None in mode "words", for
        an encoder that cannot explain, and for a text of more tokens than `Encoder.explain` takes.
    """

    hit: Hit
    terms: dict[str, float]
    nearest: list[Match]
    pair: PairExplanation | None

    __repr__ = dataclass_repr

    def _view(self) -> View:
        terms = Table(["term", "BM25"], sorted(self.terms.items(), key=lambda item: -item[1]))
        shares: dict[tuple[str, str], float] = {}
        for a, b, share in self.aligned:  # a word that the text repeats is one line
            shares[a, b] = shares.get((a, b), 0.0) + share
        pairs = sorted(((*pair, share) for pair, share in shares.items()), key=lambda row: -row[2])
        aligned = Table(["query", "text", "share of the cosine"], pairs)
        nearest = Table(
            ["word", "nearest on the other side", "share of the overlap"],
            [(match.word, match.nearest, match.share) for match in self.nearest],
        )
        found = [table for table in (terms, aligned, nearest) if table.rows]
        return View(f"“{self.hit.asked.query}” found “{self.hit.text}”", found)

    @property
    def aligned(self) -> list[tuple[str, str, float]]:
        """Pairs of a word of the query and a word of the text with what they gave to the cosine, largest first."""
        if self.pair is None:
            return []
        a, b, shares = self.pair.a.tokens, self.pair.b.tokens, self.pair.pairs
        places = [(-share, at) for at, share in enumerate(shares.ravel().tolist()) if share]
        return [(a[at // len(b)], b[at % len(b)], -share) for share, at in sorted(places)]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        return {
            "terms": self.terms,
            "word weight": self.hit.asked.word_weight,
            "nearest": [[match.word, match.nearest, match.share] for match in self.nearest],
            "overlap weight": self.hit.asked.overlap_weight,
            "aligned": [list(pair) for pair in self.aligned],
            "remainders": {} if self.pair is None else dict(self.pair.remainders),
        }

    def __str__(self) -> str:
        lines = [str(self.hit)]
        if self.terms:
            ordered = sorted(self.terms.items(), key=lambda item: -item[1])
            gave = ", ".join(f"{term} {value:.2f}" for term, value in ordered)
            counted = f"{self.hit.bm25:.2f} x {self.hit.asked.word_weight:.2g}"
            lines.append(f"  words, BM25 {counted}: {gave}")
        if self.pair is not None:
            pairs = [f"{a}~{b} {share:+.3f}" for a, b, share in self.aligned[:SHOWN_PAIRS]]
            lines.append(f"  meaning, cosine {self.hit.cosine:.3f}: {', '.join(pairs)}")
        if self.nearest:
            largest = sorted(self.nearest, key=lambda match: -match.share)[:SHOWN_PAIRS]
            shares = [f"{one.word}→{one.nearest} {one.share:.3f}" for one in largest if one.share]
            counted = f"{self.hit.overlap:.3f} x {self.hit.asked.overlap_weight:.2g}"
            lines.append(f"  word by word, overlap {counted}: {', '.join(shares)}")
        return "\n".join(lines)


class Hits(Displayed, Sequence[Hit]):
    """The hits of one query, best first.

    note: why there are none, where there are none.
    """

    def __init__(self, query: str, mode: str, hits: Sequence[Hit], note: str = "") -> None:
        self.query, self.mode, self.note = query, mode, note
        self._hits = list(hits)

    def __len__(self) -> int:
        return len(self._hits)

    @overload
    def __getitem__(self, at: int) -> Hit: ...
    @overload
    def __getitem__(self, at: slice) -> list[Hit]: ...
    def __getitem__(self, at: int | slice) -> Hit | list[Hit]:
        return self._hits[at]

    @property
    def ids(self) -> list[str]:
        """The ids of the hits, best first."""
        return [hit.id for hit in self._hits]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON."""
        hits = [hit.to_dict() for hit in self._hits]
        return {"query": self.query, "mode": self.mode, "hits": hits, "note": self.note}

    def __repr__(self) -> str:
        return f"Hits({cut(self.query, 80)!r}, {len(self)} hits, mode={self.mode!r})"

    def __str__(self) -> str:
        return "\n".join(map(str, self._hits)) or f"no hits: {self.note}"

    def to_pandas(self) -> Any:
        """A row for each hit, best first; the metadata are columns, NaN where a hit has none of that name."""
        return frame(self._columns())

    def _columns(self) -> dict[str, list[Any]]:
        """Fields that a hit and its metadata both have are the hit's."""
        names = dict.fromkeys(name for hit in self._hits for name in hit.metadata)
        own = {name: [getattr(hit, name) for hit in self._hits] for name in COLUMNS}
        return own | {
            name: [hit.metadata.get(name) for hit in self._hits]
            for name in names
            if name not in own
        }

    def _view(self) -> View:
        columns = {
            name: values
            for name, values in self._columns().items()
            if name not in WAYS or not any(map(math.isnan, values))
        }
        table = Table(list(columns), list(zip(*columns.values(), strict=True)))
        return View(
            f"“{self.query}”, by {self.mode}", [table if len(self) else f"no hits: {self.note}"]
        )


def hits_of(answer: Answer, query: str, encoder: Any, norm: tuple[float, float]) -> list[Hit]:
    """What a query found, as hits that can say why."""
    asked = Asked(
        query, encoder, tuple(answer.terms), norm, answer.word_weight, answer.overlap_weight
    )
    hits = []
    for found in answer.found:
        row, ways = found.row, (found.cosine, found.bm25, found.overlap)
        hits.append(Hit(row.id, found.score, row.text, row.metadata, *ways, asked))
    return hits
