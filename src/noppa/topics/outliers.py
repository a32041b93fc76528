"""Rows that are like no others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from noppa.topics.groups import Check, Vectors, spans
from noppa.topics.word_candidates import spread

#: How many neighbours count, and among how many rows, spread over all, they are looked for.
NEIGHBOURS, LANDMARKS = 10, 4096
#: Digits of a score: BLAS may round the next ones differently with another number of threads.
DIGITS = 5


def outlier_scores(rows: Vectors, check: Check = lambda: None) -> NDArray[np.float64]:
    """How unlike all others each row is: 1 minus the mean cosine of its nearest neighbours, (rows,).

    Up to `LANDMARKS` rows every other one can be a neighbour, beyond those that are spread over all.
    """
    places = np.array(spread(len(rows), LANDMARKS), np.int64)
    landmarks = np.ascontiguousarray(rows[places])
    scores = np.ones(len(rows))
    count = min(NEIGHBOURS, len(places) - 1)
    for span in spans(len(rows), len(places), check) if count > 0 else ():
        cosines = rows[span] @ landmarks.T
        own = np.flatnonzero((places >= span.start) & (places < span.start + len(cosines)))
        cosines[places[own] - span.start, own] = -1  # nobody is a neighbour of itself
        nearest = -np.partition(-cosines, count - 1, axis=1)[:, :count]
        scores[span] = 1 - nearest.mean(axis=1, dtype=float)
    return np.round(scores, DIGITS)


def blocks(rows: int) -> int:
    """How often `outlier_scores` calls its check."""
    return len(list(spans(rows, min(rows, LANDMARKS), lambda: None)))


def most_unlike(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """The rows of the largest scores, of equal ones the first."""
    return np.argsort(-scores, kind="stable")[:count]
