"""Subword look-up of an unknown word: the rules, and their Python twin.

A piece is a row of its own that no text matches as a word. One that continues a word is spelled with `PIECE_MARK` before it
(`##ing`), one that begins a word as it is.

1. The word falls into parts: runs of letters and digits, each ideograph alone; what stands between them is left out. A
   word of other characters alone is one part.
2. A part that is a word has that word's row.
3. Else it is matched in lower case and without accents (as it is with `case="exact"`): the longest word or piece that
   begins it, then the longest marked piece that begins the rest, and so on to its end.
4. A part that cannot be matched to its end has no row. A word of which no part has any, or of more than `LONGEST_IN_PIECES`
   characters, stays unknown.
"""

from __future__ import annotations

from collections.abc import Callable

from noppa.text.characters import DIGIT, IDEOGRAPH, LETTER, character_class, plain
from noppa.text.rules import LONGEST_IN_PIECES, PIECE_MARK

#: The row of a word or of a piece, -1 where there is none.
Find = Callable[[str], int]


def parts_of(word: str) -> list[str]:
    """Rule 1.

    >>> parts_of("mother-in-law's")
    ['mother', 'in', 'law', 's']
    """
    parts = [""]
    for character in word:
        kind = character_class(character)
        if kind in (LETTER, DIGIT):
            parts[-1] += character
        else:
            parts += [character, ""] if kind == IDEOGRAPH else [""]
    return [part for part in parts if part] or [word]


def rows_of(word: str, look_up: Find, find: Find, find_piece: Find, exact: bool) -> list[int]:
    """The rows of an unknown word's pieces, none where it stays unknown.

    look_up: a word in the cases that the vocabulary tries. find, find_piece: a word or a piece just as it is spelled.
    """
    if len(word) > LONGEST_IN_PIECES:
        return []
    rows = []
    for part in parts_of(word):
        row = look_up(part) if part != word else -1
        rows += [row] if row >= 0 else _piece_rows(part, find, find_piece, exact)
    return rows


def _piece_rows(part: str, find: Find, find_piece: Find, exact: bool) -> list[int]:
    """Rule 3: rows that cover the part, or none."""
    unmatched = part if exact else "".join(map(plain, part))
    rows: list[int] = []
    while unmatched:
        for end in range(len(unmatched), 0, -1):
            if rows:
                row = find_piece(PIECE_MARK + unmatched[:end])
            else:
                row = find(unmatched[:end])
                if row < 0 and not unmatched.startswith(PIECE_MARK, 0, end):
                    row = find_piece(unmatched[:end])
            if row >= 0:
                break
        else:
            return []
        rows.append(row)
        unmatched = unmatched[end:]
    return rows
