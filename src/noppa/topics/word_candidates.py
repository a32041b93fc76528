"""Words and pairs of words of texts, and how frequent words are in the language: too frequent ones name nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.encoder.models import SIMILARITY, External, load
from noppa.text.characters import is_letter, lower
from noppa.text.tokenizer import Split
from noppa.words.word_vectors import WordVectors

#: Words with a larger share of all text stand for no topic: in English some 120, such as "the" and "over".
COMMON = 1e-3

Item = TypeVar("Item")


class Language:
    """How an encoder splits texts, and the share of each word in text of its language."""

    def __init__(self, encoder: Encoder | External | None = None) -> None:
        own = encoder if isinstance(encoder, Encoder) else None
        self.split: Split = own.split if own else kernels.tokenize
        has_shares = own is not None and own.words.probabilities is not None
        self.words: WordVectors = (
            own.words if own is not None and has_shares else load(SIMILARITY).words
        )

    def share(self, word: str) -> float:
        """Of all words of text; 0 where nobody knows."""
        row = self.words.lexicon.row(word)
        probabilities = self.words.probabilities
        return 0.0 if row < 0 or probabilities is None else float(probabilities[row])

    def is_common(self, word: str) -> bool:
        return self.share(word) >= COMMON

    def runs(self, text: str) -> Iterator[list[str]]:
        """The words of a text in lower case, in runs that no punctuation divides."""
        run: list[str] = []
        for token in self.split(text):
            if any(map(is_letter, token)) and "'" not in token:  # n't and 's are no words
                run.append(lower(token))
            elif run:
                yield run
                run = []
        if run:
            yield run


def words_and_pairs(texts: Sequence[str], language: Language) -> Counter[str]:
    """In how many texts each word, and each pair of neighbours, occurs that is made of no common word."""
    counts: Counter[str] = Counter()
    common = remembered(language.is_common)
    for text in texts:
        found: dict[str, None] = {}
        for run in language.runs(text):
            found.update(dict.fromkeys(word for word in run if not common(word)))
            for a, b in pairwise(run):
                if a != b and not common(a) and not common(b):
                    found[f"{a} {b}"] = None
        counts.update(found.keys())
    return counts


def remembered(function: Callable[[str], Item]) -> Callable[[str], Item]:
    """The same function, called once for each word."""
    known: dict[str, Item] = {}

    def recall(word: str) -> Item:
        if word not in known:
            known[word] = function(word)
        return known[word]

    return recall


def spread(count: int, most: int) -> list[int]:
    """Up to `most` of `count` numbers, evenly spread from the first to the last."""
    return np.linspace(0, count - 1, min(count, most)).astype(int).tolist() if count else []
