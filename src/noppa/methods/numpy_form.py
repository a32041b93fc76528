"""The NumPy form of a method at work: a sentence as arrays, and batches sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import DROPPED
from noppa.errors import ParameterError
from noppa.methods.split import Float
from noppa.parameters import short_repr
from noppa.words.word_vectors import WordVectors

Learnt = Mapping[str, NDArray[Any]]
Rows = tuple[NDArray[Any], NDArray[np.int32]]


@dataclass(frozen=True, eq=False)
class Sentence:
    """The known tokens of one sentence, for the NumPy form of a method.

    ids: rows of the words, (tokens,). vectors: (tokens, dim), float64. weights: (tokens,), float64.
    places: where the tokens stand among all `length` tokens of the text, unknown ones included, (tokens,).
    words, learnt: the word vectors, and the arrays that the method has learnt.
    """

    ids: NDArray[np.int32]
    vectors: Float
    weights: Float
    places: NDArray[np.int64]
    length: int
    words: WordVectors
    learnt: Learnt

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, tokens: NDArray[Any], places: NDArray[Any] | None = None) -> Sentence:
        """The sentence of some of its tokens, by number or mask; `places` where they now stand elsewhere."""
        moved = self.places[tokens] if places is None else places
        return Sentence(
            self.ids[tokens],
            self.vectors[tokens],
            self.weights[tokens],
            moved,
            self.length,
            self.words,
            self.learnt,
        )


class Pools(Protocol):
    """What of a method its NumPy form needs."""

    def width(self, words: WordVectors) -> int: ...

    def weights(self, words: WordVectors, learnt: Learnt) -> Float | None: ...

    def row(self, sentence: Sentence) -> Float: ...


class NumpyPooler:
    """The NumPy form of a method, sentence by sentence; refinement is the kernels'."""

    def __init__(self, method: Pools, words: WordVectors, learnt: Learnt) -> None:
        self.method, self.words, self.learnt = method, words, learnt
        self.weights = method.weights(words, learnt)
        self.width = method.width(words)

    def __call__(
        self,
        ids: NDArray[np.int32],
        offsets: NDArray[np.int64],
        steps: kernels.Steps,
        threads: int,
    ) -> Rows:
        rows, known = self.rows(ids, offsets)
        # saturated like the kernels, which compute in float32
        most = np.finfo(np.float32).max
        real = np.ascontiguousarray(np.clip(rows, -most, most), kernels.REAL)
        return kernels.apply_steps(real, known, steps, threads), known

    def rows(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> Rows:
        """Rows (sentences, width) in float64, zeros without a known word, and the known tokens of each."""
        rows = np.zeros((len(offsets) - 1, self.width))
        known = np.zeros(len(rows), np.int32)
        for row in range(len(rows)):
            text = ids[offsets[row] : offsets[row + 1]]
            sentence = sentence_of(self.words, self.learnt, text, self.weights)
            known[row] = len(sentence)
            if len(sentence):
                rows[row] = checked_row(self.method.row(sentence), self.method, self.width)
        return rows, known


def sentence_of(
    words: WordVectors,
    learnt: Learnt,
    ids: NDArray[np.int32],
    weights: Float | None = None,
) -> Sentence:
    """A sentence from its ids (tokens,), of which unknown ones are left out; weights (words + 1,) or None."""
    places = np.flatnonzero(ids != DROPPED)
    known = ids[places]
    weight = np.ones(len(known)) if weights is None else np.asarray(weights, np.float64)[known]
    return Sentence(known, vectors_of(words, known), weight, places, len(ids), words, learnt)


def vectors_of(words: WordVectors, ids: NDArray[np.int32]) -> Float:
    """The vectors of ids, zeros for the zero word, (tokens, dim)."""
    vectors = np.zeros((len(ids), words.dim))
    real = ids < len(words)
    vectors[real] = words.vectors(ids[real])
    return vectors


def checked_row(row: Any, method: Pools, width: int | None) -> Float:
    checked = np.asarray(row, np.float64)
    if checked.ndim != 1 or (width is not None and len(checked) != width):
        raise ParameterError(
            f"{short_repr(method)} pooled a sentence to an array {checked.shape}: pool must give one row, "
            + ("(width,)" if width is None else f"({width},)")
        )
    if not np.isfinite(checked).all():
        raise ParameterError(
            f"{short_repr(method)} pooled a sentence to values that are not finite: mend its pool"
        )
    return checked
