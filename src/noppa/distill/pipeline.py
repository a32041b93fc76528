"""From a sentence transformer and unlabelled text to word vectors.

words and pieces -> teacher's vectors -> projected to principal axes -> weighted by frequency -> fitted to sentences
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noppa.distill.linear_algebra import principal_axes, root_mean_square_length, with_length
from noppa.distill.teacher import Teacher
from noppa.distill.vocabulary import needed_pieces
from noppa.distill.word_fit import Fit, fitted
from noppa.errors import ParameterError
from noppa.methods.method import inverse_frequency_weight
from noppa.parameters import whole
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words.formats import in_dtype
from noppa.words.lexicon import Lexicon
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float32]

#: Words start with the weight a / (a + p).
START_A = 1e-3


@dataclass(frozen=True)
class Distilled:
    """Words and pieces (the last `pieces` rows), the teacher's vector of each (rows, width), the fitted vectors
    (rows, dim), and the probabilities (rows,).

    ordered: whether the first columns matter most.
    """

    words: list[str]
    pieces: int
    teacher_vectors: Float
    vectors: Float
    probabilities: Float
    ordered: bool = True
    tokenizer: Tokenizer = ENGLISH

    def word_vectors(self, dtype: str = "float32") -> WordVectors:
        matrix, scales = in_dtype(self.vectors, dtype)
        return WordVectors(
            self.words,
            matrix,
            self.probabilities,
            scales=scales,
            unknown="pieces" if self.pieces else "skip",
            pieces=self.pieces,
            ordered=self.ordered,
            tokenizer=self.tokenizer,
        )


def side_by_side(
    teachers: Sequence[Teacher],
    words: Sequence[str],
    texts: Sequence[str],
    dim: int,
    *,
    frequencies: Mapping[str, float] | None = None,
    fit: Fit | None = None,
    tokenizer: Tokenizer = ENGLISH,
    progress: Callable[[int, float], None] | None = None,
) -> Distilled:
    """Words with the columns of each teacher in a row, `dim` each, equally long on average; arguments as of `distill`."""
    for teacher in teachers[1:]:
        teacher.known_pieces()  # one that cannot be loaded says so before the first has worked for hours
    options = {"frequencies": frequencies, "fit": fit, "tokenizer": tokenizer, "progress": progress}
    first = distill(teachers[0], words, texts, dim, **options)  # type: ignore[arg-type]
    parts = [first]
    for teacher in teachers[1:]:
        pieces = first.words[len(words) :]
        parts.append(distill(teacher, words, texts, dim, pieces=pieces, **options))  # type: ignore[arg-type]
    if len(parts) == 1:
        return first
    equal = [part.vectors / root_mean_square_length(part.vectors) for part in parts]
    return replace(
        first,
        vectors=np.hstack(equal).astype(np.float32),
        teacher_vectors=np.hstack([part.teacher_vectors for part in parts]),
        ordered=False,
    )


def distill(
    teacher: Teacher,
    words: Sequence[str],
    texts: Sequence[str],
    dim: int,
    *,
    frequencies: Mapping[str, float] | None = None,
    pieces: Sequence[str] | None = None,
    fit: Fit | None = None,
    tokenizer: Tokenizer = ENGLISH,
    progress: Callable[[int, float], None] | None = None,
) -> Distilled:
    """Word vectors of `dim` dimensions whose sums approximate the teacher's vectors of `texts`.

    Without texts, each word has the teacher's vector of it, weighted by frequency. Vectors are taken around their mean:
    those of some teachers all point one way, and no sum of words would follow them.
    frequencies: of the words; counted in the texts where None. pieces: of words; the teacher's own where None.
    tokenizer: how texts are split for the words. progress: as in `word_fit.fitted`.
    """
    dim = whole(dim, "dim", 1)
    if pieces is None:
        pieces = needed_pieces(teacher.known_pieces(), words)
    rows = [*words, *pieces]
    parts = [teacher.sentences(words)] + ([teacher.pieces(pieces)] if pieces else [])
    teacher_vectors = np.concatenate(parts).astype(np.float32)
    width = teacher_vectors.shape[1]
    if dim > width:
        raise ParameterError(f"dim={dim}, but the model's vectors have {width}")
    ids, offsets = _look_up(rows, len(pieces), texts, tokenizer)
    probabilities = _probabilities(rows, len(pieces), ids, frequencies)
    centred = teacher_vectors - teacher_vectors.mean(axis=0)
    sentences = _around_mean(teacher.sentences(texts)) if texts else centred
    axes = principal_axes(sentences, dim)
    start = centred @ axes
    start *= inverse_frequency_weight(probabilities.astype(float), START_A)[:, None]
    start /= root_mean_square_length(start)
    word_vectors = start.astype(np.float32)
    if texts:
        targets = with_length(sentences @ axes)
        fit = fit or Fit().for_texts(len(texts))
        word_vectors = fitted(word_vectors, ids, offsets, targets, fit, progress)
    return Distilled(
        rows, len(pieces), teacher_vectors, word_vectors, probabilities, tokenizer=tokenizer
    )


def _around_mean(rows: NDArray[np.float16]) -> Float:
    return np.asarray(rows - rows.mean(axis=0, dtype=np.float64), np.float32)


def _look_up(
    rows: Sequence[str], pieces: int, texts: Sequence[str], tokenizer: Tokenizer
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The row numbers of all tokens, and the offsets of the texts."""
    unknown = "pieces" if pieces else "skip"
    lexicon = Lexicon.from_words(rows, pieces, unknown, "exact-then-lower", tokenizer)
    return lexicon.look_up(list(texts), 1)


def _probabilities(
    rows: Sequence[str],
    pieces: int,
    ids: NDArray[np.int32],
    frequencies: Mapping[str, float] | None,
) -> Float:
    """The given frequencies of words, else their share of the tokens; pieces always have that. The least is half a count."""
    counts = np.bincount(ids[ids >= 0], minlength=len(rows))
    shares = np.maximum(counts, 0.5) / max(len(ids), 1)
    if frequencies is not None:
        words = rows[: len(rows) - pieces]
        shares[: len(words)] = [frequencies[word] for word in words]
    return shares.astype(np.float32)
