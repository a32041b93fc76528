"""Character classes and forms, shared by the Python scanner and the native one.

Both use the tables of `character_data`, pinned to one version of Unicode, so that tokens depend neither on the Python that
runs nor on the one that built the native module.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import groupby
from typing import Literal

from noppa.text import character_data
from noppa.text.rules import (
    FOLD,
    FORM,
    JOINERS,
    KIND,
    NO_BREAK_AFTER,
    NO_BREAK_BEFORE,
    REPLACED,
    REPLACEMENT,
    SEGMENTED,
    SURROGATES,
    SYLLABLES,
    TURKISH_LOWER,
)

SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = KIND.values()


def character_class(character: str) -> int:
    """The class of one character of cleaned text."""
    return character_data.values("kind")[ord(character)]


def is_word_character(character: str) -> bool:
    """Whether a character is a letter, a digit or another numeral, as `str.isalnum` says, with every Python alike."""
    kind = character_class(character)
    return kind in (LETTER, DIGIT, IDEOGRAPH) and character != "_" and plain(character) != ""


def is_letter(character: str) -> bool:
    """As `str.isalpha` with every Python alike: ½ and Ⅳ, which are letters to the tokenizer, are none."""
    is_numeral = is_digit(character) or unicodedata.category(character) in ("No", "Nl")
    return is_word_character(character) and not is_numeral


def is_digit(character: str) -> bool:
    """Whether a character is a digit, with every Python alike."""
    return character_class(character) == DIGIT


def has_digit(token: str) -> bool:
    """Whether a token has a digit; letters alone, which are usual, need no table."""
    return not token.isalpha() and any(map(is_digit, token))


def replaced_surrogate(character: str) -> str:
    """The character itself, or U+FFFD for half of a surrogate pair."""
    return REPLACEMENT if SURROGATES[0] <= ord(character) <= SURROGATES[1] else character


def replaced(character: str) -> str:
    """The character after `clean`: straight quotes, plain hyphens, U+FFFD for a lone surrogate."""
    return REPLACED.get(character, replaced_surrogate(character))


def lower_character(character: str) -> str:
    """The lower-case form of one character, where that is one character too."""
    return chr(ord(character) + character_data.values("lower")[ord(character)])


def lower(token: str, fold: int = FOLD["none"]) -> str:
    """Lower case character by character, so that no letter depends on its neighbours (final sigma)."""
    if fold == FOLD["turkish"]:
        return "".join(TURKISH_LOWER.get(c) or lower_character(c) for c in token)
    return token.lower() if token.isascii() else "".join(map(lower_character, token))


def is_syllable(code: int) -> bool:
    """Whether a code point is a Hangul syllable, whose letters follow from its number."""
    return SYLLABLES[0] <= code <= SYLLABLES[1]


def plain(character: str) -> str:
    """The character without case and accents: empty for a combining mark, the single letters of a Hangul syllable."""
    code = ord(character)
    if is_syllable(code):
        return unicodedata.normalize("NFD", character)
    distance = character_data.values("plain")[code]
    return "" if distance == character_data.NOTHING else chr(code + distance)


def normalize(text: str, form: int = FORM["nfc"]) -> str:
    """A normal form that is the same with every Python: characters newer than the oldest supported Unicode stay."""
    if form == FORM["none"] or text.isascii():
        return text
    name: Literal["NFC", "NFKC"] = "NFKC" if form == FORM["nfkc"] else "NFC"
    stable = character_data.values("stable")
    runs = ((known, "".join(run)) for known, run in groupby(text, lambda c: stable[ord(c)]))
    return "".join(unicodedata.normalize(name, run) if known else run for known, run in runs)


def clean(text: str, form: int = FORM["nfc"], joiners: bool = False) -> str:
    """Normal text with plain quotes and hyphens and without invisible characters.

    joiners: whether those of `JOINERS` stay between two letters.
    """
    if text.isascii():
        return text
    text = "".join(map(replaced, normalize(text, form)))
    kinds = [character_class(c) for c in text]
    return "".join(
        c
        for at, c in enumerate(text)
        if kinds[at] != DROP
        or (
            joiners
            and c in JOINERS
            and [*kinds[max(at - 1, 0) : at], *kinds[at + 1 : at + 2]] == [LETTER, LETTER]
        )
    )


@cache
def is_segmented(character: str) -> bool:
    """Whether a character is a letter or an ideograph of a script without spaces."""
    return character_class(character) in (LETTER, IDEOGRAPH) and _is_within(character, SEGMENTED)


@cache
def no_break_before(character: str) -> bool:
    """Whether no word of a script without spaces begins with it."""
    return _is_within(character, NO_BREAK_BEFORE)


@cache
def no_break_after(character: str) -> bool:
    """Whether no word of a script without spaces ends with it."""
    return _is_within(character, NO_BREAK_AFTER)


def _is_within(character: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(character) <= high for low, high in ranges)
