"""Words near a word, by cosine, without a second copy of the matrix."""

from __future__ import annotations

from itertools import islice

import numpy as np

from noppa.parameters import whole
from noppa.words.word_vectors import WordVectors

BLOCK = 1 << 15


def nearest(words: WordVectors, word: str, count: int = 10) -> list[tuple[str, float]]:
    """The `count` words with the largest cosine to `word`, which is not among them; largest first."""
    count = whole(count, "count", 1)
    words = words.without_pieces()
    query = words[word].astype(float)
    cosines = np.zeros(len(words))
    for start in range(0, len(words), BLOCK):
        rows = words.vectors(np.arange(start, min(start + BLOCK, len(words)))).astype(float)
        lengths = np.linalg.norm(rows, axis=1) * (np.linalg.norm(query) or 1)
        cosines[start : start + BLOCK] = rows @ query / np.where(lengths > 0, lengths, 1)
    order = np.argsort(-cosines, kind="stable").tolist()
    itself = words.words[words.lexicon.row(word)]
    others = (
        (words.words[row], float(cosines[row])) for row in order if words.words[row] != itself
    )
    return list(islice(others, count))
