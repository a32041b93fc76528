"""Names of groups of texts: the words that tell a group from the others, weighted by how frequent they are in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from math import log

import numpy as np
from numpy.typing import ArrayLike

from noppa.topics.word_candidates import Language, remembered, spread

#: Words of a name, and texts of a group that are looked at.
WORDS, TEXTS = 4, 2_000
#: The share of a word in the language that nobody counted, where there is one group alone.
RARE = 1e-6
#: Texts between two calls of `check`.
BLOCK = 256


def name_groups(
    texts: Sequence[str],
    labels: ArrayLike,
    language: Language | None = None,
    words: int = WORDS,
    check: Callable[[], None] = lambda: None,
) -> list[tuple[str, ...]]:
    """Up to `words` words for each group, the most telling first; labels (texts,) say from 0 on which group a text is in,
    and -1 that it is in none.

    A word is worth p log(p / q): p is its share of the group's words, and q the larger of its shares of all words here, where
    there are other groups, and of the language. The most frequent words of the language name nothing.

    check: called now and then; it may raise to stop the work.
    """
    speech = language or Language()
    groups = _counted(texts, np.asarray(labels), speech, check)
    every: Counter[str] = Counter()
    for group in groups:
        every.update(group)
    total = every.total()
    alone = sum(map(bool, groups)) <= 1
    share = remembered(speech.share)

    def usual(word: str) -> float:
        here = RARE if alone else every[word] / total
        return max(here, share(word))

    return [_most_telling(group, usual, words) for group in groups]


def _counted(
    texts: Sequence[str], labels: np.ndarray, language: Language, check: Callable[[], None]
) -> list[Counter[str]]:
    """In how many texts of each group each word occurs; of a large group, `TEXTS` spread over it are looked at."""
    groups = []
    common = remembered(language.is_common)
    for group in range(int(labels.max(initial=-1)) + 1):
        members = np.flatnonzero(labels == group)
        counts: Counter[str] = Counter()
        for at, place in enumerate(spread(len(members), TEXTS)):
            if at % BLOCK == 0:
                check()
            runs = language.runs(texts[int(members[place])])
            counts.update({word for run in runs for word in run if not common(word)})
        groups.append(counts)
    return groups


def _most_telling(
    counts: Counter[str], usual: Callable[[str], float], words: int
) -> tuple[str, ...]:
    """The words of the largest worth above 0, of equal ones in the order of the alphabet."""
    total = counts.total()
    shares = {word: count / total for word, count in counts.items()}
    worth = {word: share * log(share / usual(word)) for word, share in shares.items()}
    order = sorted(worth, key=lambda word: (-worth[word], word))
    return tuple(word for word in order[:words] if worth[word] > 0)
