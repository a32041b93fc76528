"""From a sentence transformer and unlabelled text to word vectors.

words and pieces -> teacher's vectors -> projected to principal axes -> weighted by frequency -> fitted to sentences
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.distill.teacher import Teacher
from noppa.distill.word_fit import Fit, fit_words
from noppa.errors import ParameterError
from noppa.parameters import whole
from noppa.text.characters import DIGIT, LETTER, character_kind, lower
from noppa.text.rules import FOLD, PIECE_MARK
from noppa.text.tokenizer import ENGLISH, Tokenizer
from noppa.words.formats import in_dtype
from noppa.words.lexicon import Lexicon
from noppa.words.word_vectors import WordVectors

Float = NDArray[np.float32]

#: Words start with the weight a / (a + p).
START_A = 1e-3


@dataclass(frozen=True)
class Distilled:
    """A distilled vocabulary.

    Attributes:
        words: Words, then pieces.
        pieces: The number of pieces.
        teacher_vectors: The teacher's vectors, (rows, width).
        vectors: The fitted vectors, (rows, dim).
        probabilities: (rows,).
        ordered: Whether the first columns matter most.
    """

    words: list[str]
    pieces: int
    teacher_vectors: Float
    vectors: Float
    probabilities: Float
    ordered: bool = True
    tokenizer: Tokenizer = ENGLISH

    def word_vectors(self, dtype: str = "float32") -> WordVectors:
        """Return the fitted vectors, stored as `dtype`."""
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


def distill_all(
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
    """Distill several teachers into adjacent columns, `dim` each and equally long on average; see `distill`."""
    for teacher in teachers[1:]:
        teacher.known_pieces()  # fails now, not after hours of work, if it cannot be loaded
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
    """Return word vectors of `dim` dimensions whose sums approximate the teacher's vectors of `texts`.

    Without texts, each word gets the teacher's vector of it, weighted by frequency. Vectors are centred: those of some
    teachers all point in one direction, which no sum of words could follow.

    Args:
        frequencies: Frequencies of the words; None counts them in the texts.
        pieces: Word pieces; None takes the teacher's.
        tokenizer: How to split texts.
        progress: See `fit_words`.
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
    unknown = "pieces" if pieces else "skip"
    lexicon = Lexicon.from_words(rows, len(pieces), unknown, "exact-then-lower", tokenizer)
    ids, offsets = lexicon.look_up(list(texts), 1)
    probabilities = _probabilities(rows, len(pieces), ids, frequencies)
    centred = teacher_vectors - teacher_vectors.mean(axis=0)
    sentences = centred
    if texts:
        raw = teacher.sentences(texts)
        sentences = np.asarray(raw - raw.mean(axis=0, dtype=np.float64), np.float32)
    axes = principal_axes(sentences, dim)
    start = centred @ axes
    start *= (START_A / (START_A + probabilities.astype(float)))[:, None]  # SIF's weight
    start /= root_mean_square_length(start)
    word_vectors = start.astype(np.float32)
    if texts:
        targets = with_length(sentences @ axes)
        fit = fit or Fit().for_texts(len(texts))
        word_vectors = fit_words(word_vectors, ids, offsets, targets, fit, progress)
    return Distilled(
        rows, len(pieces), teacher_vectors, word_vectors, probabilities, tokenizer=tokenizer
    )


def _probabilities(
    rows: Sequence[str],
    pieces: int,
    ids: NDArray[np.int32],
    frequencies: Mapping[str, float] | None,
) -> Float:
    """Return the given frequencies of words, or else their share of the tokens, which pieces always get."""
    counts = np.bincount(ids[ids >= 0], minlength=len(rows))
    shares = np.maximum(counts, 0.5) / max(len(ids), 1)
    if frequencies is not None:
        words = rows[: len(rows) - pieces]
        shares[: len(words)] = [frequencies[word] for word in words]
    return shares.astype(np.float32)


# Words and pieces


def count_words(texts: Iterable[str], tokenizer: Tokenizer = ENGLISH) -> Counter[str]:
    """Count the lower-cased tokens of texts."""
    if tokenizer.segment == "vocabulary":
        raise ParameterError(
            f"the tokenizer {tokenizer} needs a vocabulary to find words in, and there is none yet",
            "give a vocabulary, or a tokenizer that segments, such as jieba, fugashi or pythainlp",
        )
    fold = FOLD[tokenizer.fold]
    lowered = str.lower if fold == FOLD["none"] else lambda token: lower(token, fold)
    counts: Counter[str] = Counter()
    for text in texts:
        tokens = tokenizer.segment_runs(kernels.tokenize(text, tokenizer.scanner_options))
        counts.update(map(lowered, tokens))
    return counts


def most_frequent(
    frequencies: Mapping[str, float], size: int, tokenizer: Tokenizer = ENGLISH
) -> list[str]:
    """Return the `size` most frequent words that the tokenizer keeps whole; ties in alphabetical order."""
    order = sorted(frequencies, key=lambda word: (-frequencies[word], word))
    lexicon = Lexicon.from_words(order or [""], 0, "skip", "exact", tokenizer)
    words: list[str] = []
    for word in order:
        if len(words) == size:
            break
        if lexicon.tokens(word) == [word]:
            words.append(word)
    return words


def needed_pieces(pieces: Sequence[str], words: Iterable[str]) -> list[str]:
    """Return the pieces that a text can need: of letters and digits, and not already a word."""
    whole_words = set(words)
    return [
        piece
        for piece in pieces
        if piece not in whole_words
        and all(character_kind(c) in (LETTER, DIGIT) for c in piece.removeprefix(PIECE_MARK))
        and piece != PIECE_MARK
    ]


# Linear algebra


def principal_axes(rows: NDArray[np.floating], dim: int, block: int = 1 << 16) -> Float:
    """Return the first `dim` principal axes of rows (n, width) around zero, as columns (width, dim)."""
    second = np.zeros((rows.shape[1], rows.shape[1]))
    for start in range(0, len(rows), block):
        part = rows[start : start + block].astype(np.float64)
        second += part.T @ part
    values, axes = np.linalg.eigh(second)
    axes = axes[:, np.argsort(-values, kind="stable")[:dim]]
    largest = np.abs(axes).argmax(axis=0)
    # The sign of an axis is arbitrary: make its largest entry positive.
    signs = np.sign(axes[largest, np.arange(axes.shape[1])])
    return np.asarray(axes * signs, np.float32)


def complete(rows: Float, known: NDArray[np.bool_], source: Float, ridge: float = 1.0) -> Float:
    """Predict the rows that are not `known` from `source` by ridge regression on the known ones."""
    inputs = np.hstack([source, np.ones((len(source), 1), np.float32)]).astype(np.float64)
    known_inputs = inputs[known]
    penalty = ridge * np.eye(inputs.shape[1])
    weights = np.linalg.solve(
        known_inputs.T @ known_inputs + penalty, known_inputs.T @ rows[known].astype(np.float64)
    )
    return np.where(known[:, None], rows, inputs @ weights).astype(np.float32)


def with_length(rows: Float, length: float = 1.0) -> Float:
    """Scale each row to the same length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows * (length / np.where(lengths > 0, lengths, 1))).astype(np.float32)


def root_mean_square_length(rows: Float) -> float:
    """Return the root of the mean squared length of rows."""
    return float(np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1).mean()))
