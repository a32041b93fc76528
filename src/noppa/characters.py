"""What a single character is to the tokeniser: the one source for the Python scanner and for the native tables.

The build writes `character_class`, `lower` and `plain` of every code point into a C++ table (`tools/character_tables.py`), so
both scanners agree by construction, with the Unicode version of the interpreter that runs them.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = range(6)

REPLACEMENT = "\ufffd"
APOSTROPHES = "\u2018\u2019\u201b\u02bc"
QUOTES = "\u201c\u201d\u201e\u201f"
HYPHENS = "\u2010\u2011"

#: Characters that stand for one another in text and in vocabularies.
REPLACED = {
    **dict.fromkeys(APOSTROPHES, "'"),
    **dict.fromkeys(QUOTES, '"'),
    **dict.fromkeys(HYPHENS, "-"),
}

IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x3FFFF),
)


@lru_cache(maxsize=65536)
def character_class(character: str) -> int:
    """The class of one character, after `clean` has replaced what it replaces."""
    code = ord(character)
    category = unicodedata.category(character)
    if character.isspace() or category[0] == "Z" or category == "Cc":
        return SPACE
    if category == "Cf" or 0xFE00 <= code <= 0xFE0F:
        return DROP
    if any(low <= code <= high for low, high in IDEOGRAPHS):
        return IDEOGRAPH
    if category == "Nd":
        return DIGIT
    if category[0] in "LM" or category in ("Nl", "No") or character == "_":
        return LETTER
    return SYMBOL


def replaced_surrogate(character: str) -> str:
    """The character itself, or U+FFFD for half of a surrogate pair."""
    return REPLACEMENT if "\ud800" <= character <= "\udfff" else character


def replaced(character: str) -> str:
    """The character that stands in for this one: straight quotes, a plain hyphen, no lone surrogate."""
    return REPLACED.get(character, replaced_surrogate(character))


def lower_character(character: str) -> str:
    """The lower-case form of one character, where that is one character too."""
    small = character.lower()
    return small if len(small) == 1 else character


def lower(token: str) -> str:
    """Lower case character by character, so that no letter depends on its neighbours (final sigma)."""
    return token.lower() if token.isascii() else "".join(map(lower_character, token))


def is_syllable(code: int) -> bool:
    """Whether a code point is a Hangul syllable, whose letters follow from its number."""
    return 0xAC00 <= code <= 0xD7A3


@lru_cache(maxsize=65536)
def plain(character: str) -> str:
    """The character as vocabularies without case and accents spell it: nothing of a mark, the letters of a syllable.

    The 43 other characters that come apart into several stay whole.
    """
    apart = unicodedata.normalize("NFD", character.lower())
    kept = "".join(part for part in apart if unicodedata.category(part) != "Mn")
    return kept if len(kept) < 2 or is_syllable(ord(character)) else lower_character(character)


def clean(text: str) -> str:
    """NFC text with its quotes and hyphens made plain and its invisible characters gone."""
    if text.isascii():
        return text
    plain = map(replaced, unicodedata.normalize("NFC", text))
    return "".join(c for c in plain if character_class(c) != DROP)
