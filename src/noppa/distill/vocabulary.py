"""Which words and pieces a distilled model has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from noppa.kernels.backend import kernels
from noppa.text.characters import DIGIT, LETTER, character_class
from noppa.text.pieces import MARK


def counted(texts: Iterable[str]) -> Counter[str]:
    """How often each token stands in some texts, in lower case."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(token.lower() for token in kernels.tokenize(text))
    return counts


def chosen(frequencies: Mapping[str, float], size: int) -> list[str]:
    """The `size` most frequent words that the tokeniser leaves whole; of equals, the first in the alphabet."""
    order = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    words: list[str] = []
    for word in order:
        if len(words) == size:
            break
        if kernels.tokenize(word) == [word]:
            words.append(word)
    return words


def needed_pieces(pieces: Sequence[str], words: Iterable[str]) -> list[str]:
    """The pieces that can be met: made of letters and digits, and not a word already."""
    known = set(words)
    return [
        piece
        for piece in pieces
        if piece not in known
        and all(character_class(c) in (LETTER, DIGIT) for c in piece.removeprefix(MARK))
        and piece != MARK
    ]
