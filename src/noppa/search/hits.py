"""Search results: hits that print well, convert to plain data, and explain why they were found."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from noppa.display import Displayed, cut, dataclass_repr, frame
from noppa.errors import InputError
from noppa.search.rows import Metadata
from noppa.search.terms import Match, Term, overlaps, terms_of_tokens
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

if TYPE_CHECKING:
    from noppa.explain import PairExplanation

#: Characters of a text in a printed line, and pairs of words in a printed explanation.
SHOWN_TEXT, SHOWN_PAIRS = 100, 8
#: The parts of a score, and the columns of a table of hits.
SCORE_PARTS = ("cosine", "bm25", "overlap")
COLUMNS = ("id", "score", *SCORE_PARTS, "text")


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
