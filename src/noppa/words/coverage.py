"""How much of some texts a vocabulary knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noppa.display import Displayed, Table, View, dataclass_repr, frame
from noppa.text.tokens import Split
from noppa.words.lexicon import Lexicon
from noppa.words.texts import blocks_of, texts_of, tokens_of

BLOCK = 4096
WHOLE, PIECES, UNKNOWN = range(3)


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

    def to_pandas(self) -> Any:
        """The unknown words with their counts, most frequent first."""
        words, counts = zip(*self.unknown, strict=True) if self.unknown else ((), ())
        return frame({"word": list(words), "count": list(counts)})

    def _view(self) -> View:
        unknown = [Table(["unknown word", "count"], self.unknown)] if self.unknown else []
        return View(str(self).partition("; most frequent")[0], unknown)

    @property
    def token_share(self) -> float:
        """The share of all tokens that are known."""
        return self.known_tokens / self.tokens if self.tokens else 0.0

    @property
    def type_share(self) -> float:
        """The share of the different words that are known."""
        return self.known_types / self.types if self.types else 0.0

    def __str__(self) -> str:
        most_frequent = ", ".join(f"{word} ({count})" for word, count in self.unknown[:5])
        return (
            f"{self.token_share:.1%} of {self.tokens} tokens and {self.type_share:.1%} of {self.types} "
            f"different words are known; "
            + (
                f"{self.piece_tokens} more tokens are known by pieces; "
                if self.piece_tokens
                else ""
            )
            + f"{len(self.empty)} texts have no known word"
            + (f"; most frequent unknown: {most_frequent}" if most_frequent else "")
        )


def coverage_of(
    lexicon_of: Callable[[list[str]], Lexicon], texts: Iterable[str], split: Split
) -> Coverage:
    """Count the tokens and different words that are whole words, known by pieces (if that is the policy), or unknown.

    lexicon_of: the vocabulary for some words, which may be composed for them.
    """
    words: Counter[str] = Counter()
    empty = []
    kinds: dict[str, int] = {}
    first = 0
    for block in blocks_of(texts, BLOCK):
        sentences = tokens_of(texts_of(block), split)
        new = list({token for tokens in sentences for token in tokens} - kinds.keys())
        kinds.update(zip(new, _kinds(lexicon_of(new), new), strict=True))
        for at, tokens in enumerate(sentences):
            words.update(tokens)
            if all(kinds[token] == UNKNOWN for token in tokens):
                empty.append(first + at)
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


def _kinds(lexicon: Lexicon, words: list[str]) -> list[int]:
    """The kind of each word: WHOLE, PIECES or UNKNOWN."""
    kinds = np.where(lexicon.known.look_up_tokens([words])[0] >= 0, WHOLE, UNKNOWN)
    if lexicon.unknown in ("pieces", "ngrams"):
        ids, offsets = lexicon.vocabulary.look_up_tokens([[word] for word in words])
        kinds[(kinds == UNKNOWN) & (ids[offsets[:-1]] >= 0)] = PIECES
    return [int(kind) for kind in kinds]
