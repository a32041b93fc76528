"""Character classes and forms, shared by the Python scanner and the native one.

Both use the tables of `character_data`, pinned to one version of Unicode, so that tokens depend neither on the Python that
runs nor on the one that built the native module.
"""

from __future__ import annotations

import unicodedata
from itertools import groupby

from noppa.text import character_data
from noppa.text.rules import KIND, REPLACED, REPLACEMENT, SURROGATES, SYLLABLES

SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = KIND.values()


def character_class(character: str) -> int:
    """The class of one character of cleaned text."""
    return character_data.values("kind")[ord(character)]


def replaced_surrogate(character: str) -> str:
    """The character itself, or U+FFFD for half of a surrogate pair."""
    return REPLACEMENT if SURROGATES[0] <= ord(character) <= SURROGATES[1] else character


def replaced(character: str) -> str:
    """The character after `clean`: straight quotes, plain hyphens, U+FFFD for a lone surrogate."""
    return REPLACED.get(character, replaced_surrogate(character))


def lower_character(character: str) -> str:
    """The lower-case form of one character, where that is one character too."""
    return chr(ord(character) + character_data.values("lower")[ord(character)])


def lower(token: str) -> str:
    """Lower case character by character, so that no letter depends on its neighbours (final sigma)."""
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


def normalize(text: str) -> str:
    """NFC that is the same with every Python: characters newer than the oldest supported Unicode are left alone."""
    stable = character_data.values("stable")
    runs = ((known, "".join(run)) for known, run in groupby(text, lambda c: stable[ord(c)]))
    return "".join(unicodedata.normalize("NFC", run) if known else run for known, run in runs)


def clean(text: str) -> str:
    """NFC text with plain quotes and hyphens and without invisible characters."""
    if text.isascii():
        return text
    return "".join(c for c in map(replaced, normalize(text)) if character_class(c) != DROP)
