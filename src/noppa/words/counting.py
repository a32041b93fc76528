"""How often each word of a vocabulary occurs in texts, and how often each piece was needed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from noppa.text.texts import blocks_of, texts_of, tokens_of
from noppa.text.tokens import Tokenizer
from noppa.words.frequencies import WordCounts
from noppa.words.lexicon import Lexicon

BLOCK = 4096


def counts_of(lexicon: Lexicon, texts: Iterable[str], split: Tokenizer) -> WordCounts:
    """The counts of texts; those of parts of a corpus add up."""
    tokens: Counter[str] = Counter()
    for block in blocks_of(texts, BLOCK):
        for one in tokens_of(texts_of(block), split):
            tokens.update(one)
    return WordCounts.of(
        lexicon.words[: lexicon.whole_words], tokens, _piece_counts(lexicon, tokens)
    )


def _piece_counts(lexicon: Lexicon, tokens: Counter[str]) -> NDArray[np.int64]:
    """How many of the tokens counted each piece was needed for, (pieces,)."""
    if lexicon.unknown != "pieces":
        return np.zeros(lexicon.pieces, np.int64)
    ids, offsets = lexicon.vocabulary.look_up_tokens([[token] for token in tokens])
    times = np.repeat(np.array([*tokens.values()], float), np.diff(offsets))
    needed = ids >= lexicon.whole_words
    found = np.bincount(ids[needed], times[needed], len(lexicon))
    return found[lexicon.whole_words : len(lexicon)].astype(np.int64)
