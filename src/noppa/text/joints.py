"""Words held together by hyphens, apostrophes and other `JOINTS`: whole or in parts, as the vocabulary has them.

1. A word that the vocabulary has stays whole.
2. Else it comes apart at its joints, from left to right, each time at the last joint within `JOINTS_LIMIT` up to which the
   vocabulary has it. A part takes the apostrophe behind it (`l'`), or the hyphen or apostrophe before it (`-je`, `'s`), where the
   vocabulary has it so; any other joint is left out.
3. A word of which the vocabulary has no part stays whole; under the rules `elision`, and where there is no vocabulary, it
   is split behind each apostrophe, until what is left is one of `UNELIDED`.

The twin of `src/native/text/joints.cpp`.
"""

from __future__ import annotations

from collections.abc import Callable

from noppa.text.characters import lower
from noppa.text.rules import JOINTS, JOINTS_LIMIT, UNELIDED


def parts_at_joints(word: str, knows: Callable[[str], bool] | None, elides: bool) -> list[str]:
    """The tokens of a word that holds joints.

    >>> parts_at_joints("l'arc-en-ciel", {"l'", "arc-en-ciel"}.__contains__, True)
    ["l'", 'arc-en-ciel']
    """
    if knows is not None:
        if knows(word):
            return [word]
        if parts := _known_parts(word, knows):
            return parts
    return _elided(word) if elides else [word]


def _known_parts(word: str, knows: Callable[[str], bool]) -> list[str]:
    """Rule 2; nothing where no part is known."""
    ends = [*(at for at, character in enumerate(word) if character in JOINTS), len(word)]
    parts: list[str] = []
    unknown = 0
    first = start = free = (
        0  # the next of `ends`, where the part begins, and from where it may take the joint before it
    )
    while first < len(ends):
        for at in range(min(first + JOINTS_LIMIT, len(ends)) - 1, first - 1, -1):
            begin, end = _known_form(word, start, ends[at], free, knows)
            if end:
                break
        else:
            at, begin, end = first, start, ends[first]
            unknown += 1
        parts.append(word[begin:end])
        first, start, free = at + 1, ends[at] + 1, end
    return parts if len(parts) > unknown else []


def _known_form(
    word: str, start: int, end: int, free: int, knows: Callable[[str], bool]
) -> tuple[int, int]:
    """The part from `start` to the joint at `end` as the vocabulary has it; (0, 0) where it has it not."""
    if word[end : end + 1] == "'" and knows(word[start : end + 1]):
        return start, end + 1
    if free < start and word[free] in "-'" and knows(word[free:end]):
        return free, end
    return (start, end) if knows(word[start:end]) else (0, 0)


def _elided(word: str) -> list[str]:
    parts = []
    while "'" in word and lower(word) not in UNELIDED:
        head, _, word = word.partition("'")
        parts.append(f"{head}'")
    return [*parts, word]
