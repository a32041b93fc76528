"""Which texts hold which words: the postings of a segment as flat arrays, and what BM25 makes of them.

A term is a token in lower case, by the tokenizer of the encoder's words or the English rules, that begins or ends with a letter or a digit; punctuation is none.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.io import schema
from noppa.text.characters import is_word_character, lower
from noppa.text.tokenizer import Split

#: BM25's saturation of repeated words, and how far a long text is held against itself.
K1, B = 1.2, 0.75
#: The most occurrences of a term in one text that count.
MOST_TIMES = (1 << 16) - 1
#: Arrays of a segment; `rows` is its number of texts.
ARRAYS = {
    "lengths": "u4 rows",
    "terms": "u1 bytes*",
    "term_bounds": "i8 terms+1*",
    "posting_bounds": "i8 terms+1*",
    "posting_rows": "i4 postings* <rows",
    "posting_counts": "u2 postings*",
}


@dataclass(frozen=True)
class Term:
    """A term of a query, and what holding it is worth: more where it is rare, and where the query repeats it."""

    text: str
    weight: float


def terms_of(text: str, split: Split = kernels.tokenize) -> list[str]:
    """The terms of a text, in order."""
    return [lower(token) for token in split(text) if _is_term(token)]


def _is_term(token: str) -> bool:
    if token.isascii():
        return token[0].isalnum() or token[-1].isalnum()
    return is_word_character(token[0]) or is_word_character(token[-1])


def made_arrays(texts: Iterable[str], split: Split = kernels.tokenize) -> dict[str, NDArray[Any]]:
    """The arrays of `ARRAYS` for the texts of a segment."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    flat, lengths = array("i"), array("I")
    for text in texts:
        terms = terms_of(text, split)
        lengths.append(len(terms))
        flat.extend([numbers[term] for term in terms])
    ordered = sorted(numbers)
    ranks = np.empty(len(ordered), np.int64)
    ranks[[numbers[term] for term in ordered]] = np.arange(len(ordered))
    rows = np.repeat(np.arange(len(lengths)), np.asarray(lengths, np.int64))
    pairs = ranks[np.asarray(flat, np.int64)] * max(1, len(lengths)) + rows
    pairs, counts = np.unique(pairs, return_counts=True)
    terms_of_pairs, posting_rows = np.divmod(pairs, max(1, len(lengths)))
    encoded = [term.encode() for term in ordered]
    return {
        "lengths": np.asarray(lengths, np.uint32),
        "terms": np.frombuffer(b"".join(encoded), np.uint8),
        "term_bounds": np.cumsum([0, *map(len, encoded)], dtype=np.int64),
        "posting_bounds": np.searchsorted(terms_of_pairs, np.arange(len(ordered) + 1)).astype("i8"),
        "posting_rows": posting_rows.astype(np.int32),
        "posting_counts": np.minimum(counts, MOST_TIMES).astype(np.uint16),
    }


def check_arrays(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Refuse bounds that leave their arrays."""
    schema.check_bounds(arrays["term_bounds"], len(arrays["terms"]), file)
    schema.check_bounds(arrays["posting_bounds"], len(arrays["posting_rows"]), file)


class Postings:
    """The postings of one segment."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.lengths: NDArray[np.uint32] = arrays["lengths"]
        self._terms = _Terms(arrays["terms"], arrays["term_bounds"])
        self._bounds = arrays["posting_bounds"]
        self._rows, self._counts = arrays["posting_rows"], arrays["posting_counts"]

    def of(self, term: str) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
        """The rows that hold a term, ascending, and how often each does."""
        wanted = term.encode("utf-8", "replace")
        at = bisect_left(self._terms, wanted)
        if at == len(self._terms) or self._terms[at] != wanted:
            return self._rows[:0], self._counts[:0]
        start, stop = self._bounds[at : at + 2]
        return self._rows[start:stop], self._counts[start:stop]


class _Terms(Sequence[bytes]):
    """The sorted terms, each read on access."""

    def __init__(self, content: NDArray[np.uint8], bounds: NDArray[np.int64]) -> None:
        self.content, self.bounds = content, bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, at: Any) -> Any:
        return self.content[self.bounds[at] : self.bounds[at + 1]].tobytes()


def inverse_frequency(texts: int, holding: int) -> float:
    """How telling a term is that `holding` of so many texts hold, as Lucene counts it: never below 0."""
    return log1p((texts - holding + 0.5) / (holding + 0.5))
