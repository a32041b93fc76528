"""From a sentence transformer and unlabelled text to word vectors.

words and pieces -> the teacher's vector of each -> the axes of its sentence vectors -> weighted -> fitted to sentences
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from noppa.distill.linear_algebra import principal_axes, root_mean_square_length
from noppa.distill.teacher import Teacher
from noppa.distill.vocabulary import needed_pieces
from noppa.distill.word_fit import Fit, fitted
from noppa.encoder.encoder import Encoder
from noppa.errors import ParameterError
from noppa.methods import Average
from noppa.methods.weighting import inverse_frequency_weight
from noppa.parameters import whole
from noppa.refine import Whitening
from noppa.words.formats import in_dtype
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float32]

#: The weight a / (a + p) that words start with.
START_A = 1e-3

#: Half of full whitening, around zero: cosines keep their meaning, and the first dimensions matter most.
WHITENING = Whitening(strength=0.5, centred=False)


@dataclass(frozen=True)
class Distilled:
    """Words and pieces (the last `pieces` rows), what the teacher says of each (rows, width), their fitted vectors
    (rows, dim), and their probabilities (rows,)."""

    words: list[str]
    pieces: int
    taught: Float
    vectors: Float
    probabilities: Float

    def word_vectors(self, dtype: str = "float32") -> WordVectors:
        matrix, scales = in_dtype(self.vectors, dtype)
        return WordVectors(
            self.words,
            matrix,
            self.probabilities,
            scales=scales,
            unknown="pieces" if self.pieces else "skip",
            pieces=self.pieces,
        )


def distill(
    teacher: Teacher,
    words: Sequence[str],
    texts: Sequence[str],
    dim: int,
    *,
    frequencies: Mapping[str, float] | None = None,
    fit: Fit | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Distilled:
    """Word vectors of `dim` dimensions whose sums follow the teacher's vectors of `texts`.

    Without texts the words keep what the teacher says of each, weighted by frequency.
    frequencies: of words, where they are not to be counted in the texts. progress: as of `fitting.fitted`.
    """
    dim = whole(dim, "dim", 1)
    pieces = needed_pieces(teacher.known_pieces(), words)
    rows = [*words, *pieces]
    taught = [teacher.sentences(words)] + ([teacher.pieces(pieces)] if pieces else [])
    vectors = np.concatenate(taught).astype(np.float32)
    if dim > vectors.shape[1]:
        raise ParameterError(f"dim={dim}, but the model's vectors have {vectors.shape[1]}")
    ids, offsets = _look_up(rows, len(pieces), texts)
    probabilities = _probabilities(rows, len(pieces), ids, frequencies)
    centred = vectors - vectors.mean(axis=0)
    answers = teacher.sentences(texts) if texts else centred
    axes = principal_axes(answers, dim)
    start = centred @ axes
    start *= inverse_frequency_weight(probabilities.astype(float), START_A)[:, None]
    start /= root_mean_square_length(start)
    found = start.astype(np.float32)
    if texts:
        targets = answers.astype(np.float32) @ axes
        targets /= np.maximum(np.linalg.norm(targets, axis=1, keepdims=True), 1e-6)
        fit = fit or Fit().for_texts(len(texts))
        found = fitted(found, ids, offsets, targets, fit, progress)
    return Distilled(rows, len(pieces), vectors, found, probabilities)


def encoder_of(words: WordVectors, texts: Sequence[str]) -> Encoder:
    """The encoder for cosines: the mean, mildly whitened where there is text to learn that from."""
    if not texts:
        return Encoder(words, Average())
    return Encoder(words, Average(), refine=WHITENING).fit(texts)


def _look_up(
    rows: Sequence[str], pieces: int, texts: Sequence[str]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The row numbers of texts, and where each text begins."""
    unknown = "pieces" if pieces else "skip"
    empty = np.zeros((len(rows), 1), np.float32)
    lexicon = WordVectors(rows, empty, unknown=unknown, pieces=pieces)
    return lexicon.vocabulary.look_up(list(texts), 1)


def _probabilities(
    rows: Sequence[str],
    pieces: int,
    ids: NDArray[np.int32],
    frequencies: Mapping[str, float] | None,
) -> Float:
    """Of words the given frequencies, or their share of the tokens; of pieces always that. Half a count is the least."""
    counts = np.bincount(ids[ids >= 0], minlength=len(rows))
    shares = np.maximum(counts, 0.5) / max(len(ids), 1)
    if frequencies is not None:
        given = [frequencies[word] for word in rows[: len(rows) - pieces]]
        shares[: len(given)] = given
    return shares.astype(np.float32)
