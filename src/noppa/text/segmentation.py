"""Runs of scripts without spaces to words: the best segmentation against a vocabulary, and its Python twin.

A run is letters and ideographs of `SEGMENTED` with nothing between them. Its words are the path of the least cost from its
begin to its end: a word costs the logarithm of its rank, since word vectors stand in the order of their frequency, and an
unknown character more than any word. Costs are whole numbers, so that every machine finds the same path.

1. A word begins and ends where a character may: see `NO_BREAK_BEFORE` and `NO_BREAK_AFTER`.
2. A word has at most `LONGEST_SEGMENT` characters, so the time is linear in the length of the run.
3. Unknown letters in a row are one token; unknown ideographs are a token each.

The twin of `src/native/text/segmentation.cpp`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from noppa.text.characters import IDEOGRAPH, character_class, no_break_after, no_break_before
from noppa.text.rules import LOG_STEPS, LONGEST_SEGMENT, RANK_OFFSET, UNKNOWN_COST, WORD_COST

#: The row of a word, -1 where there is none.
Find = Callable[[str], int]


def word_cost(row: int) -> int:
    """The cost of the word of a row, in sixteenths of a bit."""
    rank = row + RANK_OFFSET
    bits = rank.bit_length() - 1
    return 16 * bits + bisect_right(LOG_STEPS, rank << 31 >> bits) + WORD_COST


def segment(run: str, find: Find, words: int) -> list[str]:
    """The words of a run; `words` is how many the vocabulary has.

    >>> rows = {"我": 0, "喜欢": 1, "音": 2, "音乐": 3}
    >>> segment("我喜欢音乐", lambda word: rows.get(word, -1), 4)
    ['我', '喜欢', '音乐']
    """
    length, unknown = len(run), word_cost(words) + UNKNOWN_COST
    costs: list[int | None] = [0] + [None] * length
    starts, known = [0] * (length + 1), [True] * (length + 1)
    for start in range(length):
        cost = costs[start]
        if cost is None:
            continue
        first = next(end for end in range(start + 1, length + 1) if may_break(run, end))
        for end in range(start + 1, max(first, min(length, start + LONGEST_SEGMENT)) + 1):
            if not may_break(run, end):
                continue
            row = find(run[start:end]) if end - start <= LONGEST_SEGMENT else -1
            if row < 0 and end != first:
                continue
            total = cost + (word_cost(row) if row >= 0 else unknown * (end - start))
            before = costs[end]
            if before is None or total < before:
                costs[end], starts[end], known[end] = total, start, row >= 0
    return _joined(run, starts, known)


def may_break(run: str, at: int) -> bool:
    """Whether a word of the run may end, and the next begin, at a place behind its first character."""
    return at == len(run) or not (no_break_before(run[at]) or no_break_after(run[at - 1]))


def _joined(run: str, starts: list[int], known: list[bool]) -> list[str]:
    """The words of the path, with unknown letters in a row as one."""
    words: list[str] = []
    end, joins = len(run), False
    while end:
        start = starts[end]
        is_letters = not known[end] and character_class(run[start]) != IDEOGRAPH
        if joins and is_letters:
            words[-1] = run[start:end] + words[-1]
        else:
            words.append(run[start:end])
        end, joins = start, is_letters
    return words[::-1]
