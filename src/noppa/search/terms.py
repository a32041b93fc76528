"""Words of texts: the postings of a segment, BM25, and the word-by-word overlap of a query and a text.

A term is a token in lower case that begins or ends with a letter or a digit, so that punctuation is no term.

Overlap: each word counts with the cosine of its nearest word on the other side, so that "food" finds "soup" in a text of any
length. In the vector of a long text one matching word gets lost in the average, and BM25 finds identical words only. Comparing
every text like this would take too long, so only the first hits are compared.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from heapq import nsmallest
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.io import schema
from noppa.text.characters import has_digit, is_word_character, lower
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

#: BM25: the saturation of repeated words, and the penalty of long texts.
K1, B = 1.2, 0.75
#: The most occurrences of a term in one text that count.
MOST_TIMES = (1 << 16) - 1
#: The arrays of the postings of a segment.
POSTING_ARRAYS = {
    "lengths": "u4 rows",
    "terms": "u1 bytes*",
    "term_bounds": "i8 terms+1*",
    "posting_bounds": "i8 terms+1*",
    "posting_rows": "i4 postings* <rows",
    "posting_counts": "u2 postings*",
}
#: Hits that are compared word by word; more change next to nothing.
COMPARED = 30
#: The most distinct words that are compared: the heaviest of a query, and the first of a text, from its first characters. A text
#: says first what it is about: with eight times as many words, hits get worse.
MOST_WORDS, MOST_CHARACTERS = 64, 1024


class Term(NamedTuple):
    """A term of a query, and the weight of a text that contains it: higher for rare and for repeated terms."""

    text: str
    weight: float


def terms_of_tokens(tokens: Iterable[str]) -> list[str]:
    """Return the tokens that are terms, in lower case and in order."""
    return [
        lower(token)
        for token in tokens
        if (
            token[0].isalnum() or token[-1].isalnum()
            if token.isascii()
            else is_word_character(token[0]) or is_word_character(token[-1])
        )
    ]


# Postings


def build_postings(texts: Iterable[str], split: Split) -> dict[str, NDArray[Any]]:
    """Return the arrays of `POSTING_ARRAYS` for the texts of a segment."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__
    flat, lengths = array("i"), array("I")
    for text in texts:
        terms = terms_of_tokens(split(text))
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


def check_postings(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Raise if bounds leave their arrays."""
    schema.check_bounds(arrays["term_bounds"], len(arrays["terms"]), file)
    schema.check_bounds(arrays["posting_bounds"], len(arrays["posting_rows"]), file)


def find_term(
    arrays: Mapping[str, NDArray[Any]], term: str
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """Return the rows of a segment that contain a term, ascending, and its count in each."""
    wanted, bounds = term.encode("utf-8", "replace"), arrays["term_bounds"]

    def stored(number: int) -> bytes:
        return arrays["terms"][bounds[number] : bounds[number + 1]].tobytes()

    # A binary search that reads only the terms that it compares.
    count = len(bounds) - 1
    number = bisect_left(range(count), wanted, key=stored)
    is_known = number < count and stored(number) == wanted
    start, stop = arrays["posting_bounds"][number : number + 2] if is_known else (0, 0)
    return arrays["posting_rows"][start:stop], arrays["posting_counts"][start:stop]


# Overlap


class Match(NamedTuple):
    """A word of one side, the nearest word of the other side, and the share of the overlap that this gives."""

    word: str
    nearest: str
    share: float


class Overlap(NamedTuple):
    """A query and a text, compared word by word.

    score: from 0 to 2, 1 for each side whose words are all on the other side.
    query, text: the distinct words of both. cosines (query, text): 1 for the same word, 0 for a word without a vector, never
    negative. query_weights, text_weights: the weights of the words of each side, which add up to 1.
    """

    score: float
    query: list[str]
    text: list[str]
    cosines: NDArray[np.float32]
    query_weights: NDArray[np.float64]
    text_weights: NDArray[np.float64]

    @property
    def matches(self) -> list[Match]:
        """The share of each word in the score, the words of the query first."""
        if not self.cosines.size:
            return []
        sides = (
            (self.query, self.text, self.cosines, self.query_weights),
            (self.text, self.query, self.cosines.T, self.text_weights),
        )
        return [
            Match(word, others[int(row.argmax())], float(row.max() * weight))
            for words, others, cosines, weights in sides
            for word, row, weight in zip(words, cosines, weights, strict=True)
        ]


def have_distinct_vectors(words: WordVectors, names: list[str]) -> NDArray[np.bool_]:
    """Return which words are known as a whole and are no numbers, (names,): numbers have similar vectors."""
    is_known = words.lexicon.known.look_up_tokens([names])[0] >= 0
    return is_known & [name.isalpha() or not has_digit(name) for name in names]


def overlaps(
    words: WordVectors, terms: Sequence[Term], texts: Sequence[str], split: Split
) -> list[Overlap]:
    """Compare a query, given by its terms, with texts.

    A word of the query has its weight in BM25, and a word of a text the length of its vector; a word without a vector has
    the mean weight of the others.
    """
    heaviest = nsmallest(MOST_WORDS, terms, key=lambda term: (-term.weight, term.text))
    query = [term.text for term in heaviest]
    text_words = [
        list(dict.fromkeys(terms_of_tokens(split(text[:MOST_CHARACTERS]))))[:MOST_WORDS]
        for text in texts
    ]
    # The words of the query come first, so that their numbers are rows of the cosines.
    numbers = {word: number for number, word in enumerate(dict.fromkeys(chain(query, *text_words)))}
    directions, lengths = _directions(words, list(numbers))
    query_weights = _shares(np.array([term.weight for term in heaviest]))
    results = []
    for text in text_words:
        columns = np.array([numbers[word] for word in text], np.int64)
        # One text at a time: BLAS uses one thread for products as small as these.
        cosines = np.clip(directions[: len(query)] @ directions[columns].T, 0, 1)
        is_same = columns < len(query)
        cosines[columns[is_same], is_same] = 1
        text_weights, score = _shares(lengths[columns]), 0.0
        if cosines.size:
            sides = cosines.max(axis=1) @ query_weights, cosines.max(axis=0) @ text_weights
            score = float(sum(sides))
        results.append(Overlap(score, query, text, cosines, query_weights, text_weights))
    return results


def _directions(
    words: WordVectors, names: list[str]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return unit vectors of words, zeros for those without a distinct vector, and the lengths of the vectors (words,)."""
    rows = words.lexicon.known.look_up_tokens([names])[0].astype(np.int64)
    vectors = np.zeros((len(names), words.dim), np.float32)
    vectors[rows >= 0] = words.rows.vectors(rows[rows >= 0])
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    is_distinct = (lengths > 0) & [name.isalpha() or not has_digit(name) for name in names]
    factors = np.divide(1, lengths, where=is_distinct, out=np.zeros_like(lengths))
    return (vectors * factors[:, None]).astype(np.float32), lengths


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scale weights to a sum of 1; zeros become the mean of the others."""
    known = weights[weights > 0]
    filled = np.where(weights > 0, weights, known.mean() if known.size else 1.0)
    return np.asarray(filled / filled.sum() if filled.size else filled)
