"""The words and pieces of a distilled model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from noppa.kernels.backend import kernels
from noppa.text.characters import DIGIT, LETTER, character_class
from noppa.text.rules import PIECE_MARK


def counted(texts: Iterable[str]) -> Counter[str]:
    """Counts of the lower-cased tokens of some texts."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(token.lower() for token in kernels.tokenize(text))
    return counts


def chosen(frequencies: Mapping[str, float], size: int) -> list[str]:
    """The `size` most frequent words that the tokenizer leaves whole; ties in alphabetical order."""
    order = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    words: list[str] = []
    for word in order:
        if len(words) == size:
            break
        if kernels.tokenize(word) == [word]:
            words.append(word)
    return words


def needed_pieces(pieces: Sequence[str], words: Iterable[str]) -> list[str]:
    """The pieces that a text can need: made of letters and digits, and not already a word."""
    whole_words = set(words)
    return [
        piece
        for piece in pieces
        if piece not in whole_words
        and all(character_class(c) in (LETTER, DIGIT) for c in piece.removeprefix(PIECE_MARK))
        and piece != PIECE_MARK
    ]
