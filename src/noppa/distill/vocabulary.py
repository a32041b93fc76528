"""The words and pieces of a distilled model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.text.characters import DIGIT, LETTER, character_kind, lower
from noppa.text.rules import FOLD, PIECE_MARK
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words.lexicon import Lexicon


def counted(texts: Iterable[str], tokenizer: Tokenizer = ENGLISH) -> Counter[str]:
    """Counts of the lower-cased tokens of some texts."""
    if tokenizer.segment == "vocabulary":
        raise ParameterError(
            f"the tokenizer {tokenizer} finds words of a vocabulary, and there is none yet: give --vocabulary FILE, or a "
            "package that segments, such as --tokenizer jieba, fugashi or pythainlp"
        )
    fold = FOLD[tokenizer.fold]
    lowered = str.lower if fold == FOLD["none"] else lambda token: lower(token, fold)
    counts: Counter[str] = Counter()
    for text in texts:
        tokens = tokenizer.segment_runs(kernels.tokenize(text, tokenizer.scanner_options))
        counts.update(map(lowered, tokens))
    return counts


def chosen(
    frequencies: Mapping[str, float], size: int, tokenizer: Tokenizer = ENGLISH
) -> list[str]:
    """The `size` most frequent words that the tokenizer leaves whole; ties in alphabetical order."""
    order = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    lexicon = Lexicon.from_words(order or [""], 0, "skip", "exact", tokenizer)
    words: list[str] = []
    for word in order:
        if len(words) == size:
            break
        if lexicon.tokens(word) == [word]:
            words.append(word)
    return words


def needed_pieces(pieces: Sequence[str], words: Iterable[str]) -> list[str]:
    """The pieces that a text can need: made of letters and digits, and not already a word."""
    whole_words = set(words)
    return [
        piece
        for piece in pieces
        if piece not in whole_words
        and all(character_kind(c) in (LETTER, DIGIT) for c in piece.removeprefix(PIECE_MARK))
        and piece != PIECE_MARK
    ]
