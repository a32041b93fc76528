"""How often each word of a vocabulary occurs in texts, and how often each piece was needed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.display import dataclass_repr
from noppa.errors import ParameterError
from noppa.text.characters import lower
from noppa.text.tokenizer import Split, Tokenizer
from noppa.words.frequencies import Probabilities, filled
from noppa.words.lexicon import Lexicon
from noppa.words.texts import blocks_of, texts_of, tokens_of

BLOCK = 4096


@dataclass(frozen=True)
class WordCounts:
    """Token counts of a corpus; the counts of two parts are added with `+`.

    words: tokens of each word (words,), words that differ in case counted together.
    pieces: unknown tokens that each piece was needed for (pieces,). total: all tokens.
    """

    __repr__ = dataclass_repr

    words: NDArray[np.int64]
    pieces: NDArray[np.int64]
    total: int

    @classmethod
    def of(
        cls, words: Iterable[str], tokens: Mapping[str, int], pieces: NDArray[np.int64]
    ) -> WordCounts:
        merged: defaultdict[str, int] = defaultdict(int)
        for token, count in tokens.items():
            merged[lower(token)] += count
        counts = [merged.get(lower(word), 0) for word in words]
        return cls(np.array(counts, np.int64), pieces, sum(tokens.values()))

    def __add__(self, other: WordCounts) -> WordCounts:
        return WordCounts(
            self.words + other.words, self.pieces + other.pieces, self.total + other.total
        )

    def probabilities(self, words: Iterable[str], missing: str | float) -> Probabilities:
        """Probabilities of the words; `missing` is for words without a count, as in `frequencies.from_counts`."""
        source = "counts of a corpus"
        if self.total <= 0:
            raise ParameterError(
                f"{source} adds up to nothing: give at least one word a count above 0"
            )
        return filled([lower(word) for word in words], self.words / self.total, source, missing)

    def piece_shares(self) -> NDArray[np.float64]:
        """The share of all tokens that each piece was needed for, (pieces,)."""
        return self.pieces / max(self.total, 1)


def counts_of(lexicon: Lexicon, texts: Iterable[str], split: Split) -> WordCounts:
    """Count the words and the needed pieces of texts."""
    tokens: Counter[str] = Counter()
    for block in blocks_of(texts, BLOCK):
        for sentence in tokens_of(texts_of(block), split):
            tokens.update(sentence)
    return WordCounts.of(lexicon.plain_words, tokens, _piece_counts(lexicon, tokens))


def words_of_texts(texts: Iterable[str], tokenizer: Tokenizer) -> set[str]:
    """Every word of texts, as it stands and in lower case: what a vocabulary may be asked for."""
    found: set[str] = set()
    split = split_without_words(tokenizer)
    for block in blocks_of(texts, BLOCK):
        for sentence in tokens_of(texts_of(block), split):
            found.update(sentence)
    return found | set(map(lower, found))


def split_without_words(tokenizer: Tokenizer) -> Split:
    """The function of a tokenizer that needs no word vectors to find words."""
    if tokenizer.segment == "vocabulary":
        raise ParameterError(
            f"the tokenizer {tokenizer} finds words among those of word vectors, and there are none here: "
            "take one of whitespace, jieba, fugashi or pythainlp, or load the word vectors and give them the texts"
        )
    return Lexicon.of(["."], 0, "skip", "exact", tokenizer).tokens


def _piece_counts(lexicon: Lexicon, tokens: Counter[str]) -> NDArray[np.int64]:
    """How many tokens each piece was needed for, (pieces,)."""
    if lexicon.unknown != "pieces":
        return np.zeros(lexicon.pieces, np.int64)
    ids, offsets = lexicon.vocabulary.look_up_tokens([[token] for token in tokens])
    token_counts = np.repeat(np.array([*tokens.values()], float), np.diff(offsets))
    is_piece = ids >= lexicon.whole_words
    row_counts = np.bincount(ids[is_piece], token_counts[is_piece], len(lexicon))
    return row_counts[lexicon.whole_words : len(lexicon)].astype(np.int64)
