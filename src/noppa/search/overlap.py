"""How far a query and a text overlap, word by word: each word counts with the cosine of its nearest word on the other side.

The vector of a text is a sum, in which many strangers outweigh one word that fits, and BM25 sees the same words alone. Here "food"
finds "soup" in however long a text. To look at every text so would take too long: the first hits are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import nsmallest
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from noppa.search.postings import Term, terms_of
from noppa.text.characters import has_digit
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

#: Hits that are compared word by word; more change next to nothing.
COMPARED = 30
#: Distinct words that take part, at most: of a query those that tell most, of a text the first, from so many characters. A text
#: says at its beginning what it is about: with eight times as many, hits are worse.
MOST_WORDS, MOST_CHARACTERS = 64, 1024


@dataclass(frozen=True)
class Match:
    """A word of one side, its nearest on the other, and what that gives to the overlap."""

    word: str
    nearest: str
    share: float


@dataclass(frozen=True)
class Overlap:
    """A query and a text, word by word.

    query, text: the distinct words of both.
    cosines: of each word of the query with each of the text; 1 for the same word, 0 for one without a vector, never less.
    query_weights, text_weights: what each word counts; those of a side add up to 1.
    """

    query: list[str]
    text: list[str]
    cosines: NDArray[np.float32]
    query_weights: NDArray[np.float64]
    text_weights: NDArray[np.float64]

    @property
    def score(self) -> float:
        """From 0 to 2: 1 from each side that has all its words on the other."""
        if not self.cosines.size:
            return 0.0
        query, text = self.cosines.max(axis=1), self.cosines.max(axis=0)
        return float(query @ self.query_weights + text @ self.text_weights)

    @property
    def matches(self) -> list[Match]:
        """What each word gives to the score, those of the query first."""
        if not self.cosines.size:
            return []
        sides = (
            (self.query, self.text, self.cosines, self.query_weights),
            (self.text, self.query, self.cosines.T, self.text_weights),
        )
        return [
            Match(word, others[int(row.argmax())], float(row.max() * weight))
            for own, others, cosines, weights in sides
            for word, row, weight in zip(own, cosines, weights, strict=True)
        ]


def tells(words: WordVectors | None, word: str) -> bool:
    """Whether the vector of a word tells it from others: it is known whole and no number, since numbers have vectors that are
    much alike. Every word, where an encoder has no words of its own.
    """
    return words is None or (word in words and not has_digit(word))


def overlaps(
    words: WordVectors, terms: Sequence[Term], texts: Sequence[str], split: Split
) -> list[Overlap]:
    """A query, given by its terms, with each of some texts.

    A word of the query weighs as BM25 weighs it, and one of a text as long as its vector is; one without a vector weighs as
    much as the others on average.
    """
    asked = nsmallest(MOST_WORDS, terms, key=lambda term: (-term.weight, term.text))
    query = [term.text for term in asked]
    own = [_first_words(text, split) for text in texts]
    places = {word: at for at, word in enumerate(dict.fromkeys(chain(query, *own)))}
    directions, lengths = _directions(words, list(places))
    query_weights = _shares(np.array([term.weight for term in asked]))
    found = []
    for text in own:
        at = np.array([places[word] for word in text], np.int64)
        # One text at a time: products as small as these take no second thread.
        cosines = np.clip(directions[: len(query)] @ directions[at].T, 0, 1)
        same = at < len(query)  # the words of the query are the first of all
        cosines[at[same], same] = 1
        found.append(Overlap(query, text, cosines, query_weights, _shares(lengths[at])))
    return found


def _first_words(text: str, split: Split) -> list[str]:
    return list(dict.fromkeys(terms_of(text[:MOST_CHARACTERS], split)))[:MOST_WORDS]


def _directions(
    words: WordVectors, names: list[str]
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The unit vectors of some words, zeros for those whose vector tells nothing, and how long the vectors are, (words,)."""
    rows = np.array([words.lexicon.row(name) for name in names], np.int64)
    vectors = np.zeros((len(names), words.dim), np.float32)
    vectors[rows >= 0] = words.vectors(rows[rows >= 0])
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors, dtype=np.float64))
    told = (lengths > 0) & [not has_digit(name) for name in names]
    factors = np.divide(1, lengths, where=told, out=np.zeros_like(lengths))
    return (vectors * factors[:, None]).astype(np.float32), lengths


def _shares(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights that add up to 1; those that are 0 become the mean of the others."""
    known = weights[weights > 0]
    filled = np.where(weights > 0, weights, known.mean() if known.size else 1.0)
    return np.asarray(filled / filled.sum() if filled.size else filled)
