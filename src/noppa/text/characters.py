"""Character classes that do not depend on the version of Python: the native module's tables are pinned to Unicode 14."""

from __future__ import annotations

import re
import unicodedata

from noppa._native import character_kind as character_kind
from noppa._native import is_mark
from noppa._native import lower as lower
from noppa.text.rules import KIND

SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = KIND.values()

_SURROGATE = re.compile("[\ud800-\udfff]")


def is_word_character(character: str) -> bool:
    """Return whether a character is a letter, a digit or another numeral, like `str.isalnum`."""
    is_word = character_kind(character) in (LETTER, DIGIT, IDEOGRAPH)
    return is_word and character != "_" and not is_mark(character)


def is_letter(character: str) -> bool:
    """Return whether a character is a letter, like `str.isalpha`; ½ and Ⅳ, letters to the tokenizer, are not."""
    category = unicodedata.category(character)
    is_numeral = character_kind(character) == DIGIT or category in ("No", "Nl")
    return is_word_character(character) and not is_numeral


def has_digit(token: str) -> bool:
    """Return whether a token has a digit."""
    return not token.isalpha() and any(character_kind(c) == DIGIT for c in token)


def replace_surrogates(text: str) -> str:
    """Return the text with U+FFFD for each half of a surrogate pair, which UTF-8 cannot express."""
    return _SURROGATE.sub("\ufffd", text)
