"""Words that tell whether a vocabulary fits the language of a text, and the script that others are written in."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from noppa.text.characters import IDEOGRAPH, LETTER, character_class, is_letter, lower_character
from noppa.text.rules import TELLING_LETTERS

LATIN = "Latin"
#: The first word of a character's Unicode name, where it is not the script's name.
SCRIPTS = {"CJK": "Chinese", "HIRAGANA": "Japanese", "KATAKANA": "Japanese", "HANGUL": "Korean"}


def is_telling(token: str, known: bool) -> bool:
    """Whether a token counts as a word. Short ones do not, which many languages share, nor codes, names of variables and
    abbreviations: unknown tokens with anything but letters, or with an upper-case letter after the first.
    """
    if not token or (len(token) < TELLING_LETTERS and token[0].isascii()):
        return False
    if not _is_letter(token[0]):
        return False
    return known or all(_is_letter(c) and lower_character(c) == c for c in token[1:])


def script_of(words: Iterable[str]) -> str:
    """The script of most letters of the words, by the first word of their Unicode names.

    >>> script_of(["привет", "мир"]), script_of(["世界", "の"])
    ('Cyrillic', 'Japanese')
    """
    letters = (c for word in words for c in word if is_letter(c))
    names = Counter(unicodedata.name(letter, "LATIN").partition(" ")[0] for letter in letters)
    most = max(names, key=names.__getitem__, default="LATIN")
    if most == "CJK" and "HIRAGANA" in names:  # Japanese text has characters of both
        most = "HIRAGANA"
    return SCRIPTS.get(most, most.capitalize())


def _is_letter(character: str) -> bool:
    """As the native scanner sees it: marks and numerals are letters, too."""
    return character_class(character) in (LETTER, IDEOGRAPH) and character != "_"
