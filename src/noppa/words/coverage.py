"""How much of some texts a vocabulary knows: a report on request, and a warning when few words are known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noppa.display import Displayed, dataclass_repr
from noppa.errors import UnknownWordsWarning, warn
from noppa.text.tokenizer import Split
from noppa.words.lexicon import Lexicon
from noppa.words.texts import blocks_of, texts_of, tokens_of

BLOCK = 4096
WHOLE, PIECES, UNKNOWN = range(3)

#: Fewer words say nothing about a language: they may be names.
MIN_WORDS = 3


class KnownShare:
    """Counts known words during a call, and warns once if there are few.

    counts: words that were looked up, and those found whole. A word has at least four letters, or begins with a letter
    beyond ASCII; unknown tokens that look like codes or names are left out (`KnownWords` of src/native/text/vocabulary.hpp).
    """

    __slots__ = ("_has_warned", "counts")

    def __init__(self) -> None:
        self.counts = [0, 0]
        self._has_warned = False

    @property
    def message(self) -> str | None:
        """Return the warning about the words counted so far, None if enough are known."""
        words, known = self.counts
        # One standard deviation below half: a few unknown words in a short text are no other language.
        if words < MIN_WORDS or known >= (words - math.sqrt(words)) / 2:
            return None
        return (
            f"{known} of {words} longer words ({known / words:.0%}) are known, so the vectors mean little: this looks like "
            "another language, or like many names and codes; load word vectors of that language, with its tokenizer"
        )

    def warn_if_few(self) -> None:
        """Warn if few words are known, unless this has warned before."""
        message = None if self._has_warned else self.message
        if message is not None:
            self._has_warned = True
            warn(message, UnknownWordsWarning)


@dataclass(frozen=True)
class Coverage(Displayed):
    """How much of some texts the vocabulary knows."""

    tokens: int
    known_tokens: int
    types: int
    known_types: int
    unknown: list[tuple[str, int]]
    """Unknown words with their counts, most frequent first."""
    empty: list[int]
    """Row numbers of the texts without any known word, whole or by pieces."""
    piece_tokens: int = 0
    piece_types: int = 0
    """Tokens and different words that only have vectors from their pieces or n-grams."""

    __repr__ = dataclass_repr

    def _columns(self) -> dict[str, list[Any]]:
        """Return the unknown words with their counts, most frequent first."""
        return {
            "word": [word for word, _ in self.unknown],
            "count": [count for _, count in self.unknown],
        }

    @property
    def _title(self) -> str:
        return str(self).partition("; most frequent")[0]

    @property
    def token_share(self) -> float:
        """Return the share of all tokens that are known."""
        return self.known_tokens / self.tokens if self.tokens else 0.0

    @property
    def type_share(self) -> float:
        """Return the share of the different words that are known."""
        return self.known_types / self.types if self.types else 0.0

    def __str__(self) -> str:
        parts = [
            f"{self.token_share:.1%} of {self.tokens} tokens and {self.type_share:.1%} of {self.types} different words are known",
        ]
        if self.piece_tokens:
            parts.append(f"{self.piece_tokens} more tokens are known by pieces")
        parts.append(f"{len(self.empty)} texts have no known word")
        if self.unknown:
            most_frequent = ", ".join(f"{word} ({count})" for word, count in self.unknown[:5])
            parts.append(f"most frequent unknown: {most_frequent}")
        return "; ".join(parts)


def measure_coverage(
    lexicon_for: Callable[[list[str]], Lexicon], texts: Iterable[str], split: Split
) -> Coverage:
    """Count the tokens and different words that are whole words, known by pieces, or unknown.

    lexicon_for: returns the vocabulary for some words, which may be composed for them.
    """
    words: Counter[str] = Counter()
    empty = []
    kinds: dict[str, int] = {}
    first = 0
    for block in blocks_of(texts, BLOCK):
        sentences = tokens_of(texts_of(block), split)
        new = list({token for tokens in sentences for token in tokens} - kinds.keys())
        lexicon = lexicon_for(new)
        found = np.where(lexicon.known.look_up_tokens([new])[0] >= 0, WHOLE, UNKNOWN)
        if lexicon.unknown in ("pieces", "ngrams"):
            ids, offsets = lexicon.vocabulary.look_up_tokens([[word] for word in new])
            found[(found == UNKNOWN) & (ids[offsets[:-1]] >= 0)] = PIECES
        kinds.update(zip(new, found.tolist(), strict=True))
        for row, tokens in enumerate(sentences, first):
            words.update(tokens)
            if all(kinds[token] == UNKNOWN for token in tokens):
                empty.append(row)
        first += len(sentences)
    types = Counter(kinds.values())
    tokens_of_kind: Counter[int] = Counter()
    for word, count in words.items():
        tokens_of_kind[kinds[word]] += count
    return Coverage(
        tokens=words.total(),
        known_tokens=tokens_of_kind[WHOLE],
        types=len(words),
        known_types=types[WHOLE],
        unknown=[(word, count) for word, count in words.most_common() if kinds[word] == UNKNOWN],
        empty=empty,
        piece_tokens=tokens_of_kind[PIECES],
        piece_types=types[PIECES],
    )
