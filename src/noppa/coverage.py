"""How much of some texts a vocabulary knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from noppa.backend import kernels
from noppa.texts import blocks_of, texts_of
from noppa.tokens import Tokenizer

BLOCK = 4096


@dataclass(frozen=True)
class Coverage:
    """How much of some texts the vocabulary knows."""

    tokens: int
    known_tokens: int
    types: int
    known_types: int
    unknown: list[tuple[str, int]]
    """Unknown words with their counts, most frequent first."""
    empty: list[int]
    """The texts without any known word."""

    @property
    def token_share(self) -> float:
        return self.known_tokens / self.tokens if self.tokens else 0.0

    @property
    def type_share(self) -> float:
        return self.known_types / self.types if self.types else 0.0

    def __str__(self) -> str:
        worst = ", ".join(f"{word} ({count})" for word, count in self.unknown[:5])
        return (
            f"{self.token_share:.1%} of {self.tokens} tokens and {self.type_share:.1%} of {self.types} "
            f"different words are known; {len(self.empty)} texts have no known word"
            + (f"; most frequent unknown: {worst}" if worst else "")
        )


def coverage_of(vocabulary: kernels.Vocabulary, texts: Iterable[str], split: Tokenizer) -> Coverage:
    """Count tokens and different words, known or not; an unknown word is -1 to this vocabulary."""
    known: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    empty = []
    seen = 0
    for block in blocks_of(texts, BLOCK):
        sentences = [list(split(text)) for text in texts_of(block)]
        ids, offsets = vocabulary.look_up_tokens(sentences)
        for at, tokens in enumerate(sentences):
            rows = ids[offsets[at] : offsets[at + 1]]
            for token, row in zip(tokens, rows.tolist(), strict=True):
                (known if row >= 0 else unknown)[token] += 1
            if not (rows >= 0).any():
                empty.append(seen + at)
        seen += len(sentences)
    return Coverage(
        tokens=known.total() + unknown.total(),
        known_tokens=known.total(),
        types=len(known) + len(unknown),
        known_types=len(known),
        unknown=unknown.most_common(),
        empty=empty,
    )
