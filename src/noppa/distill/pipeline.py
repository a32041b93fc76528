"""From a sentence transformer and unlabelled text to word vectors.

words and pieces -> teacher's vectors -> projected to principal axes -> weighted by frequency -> fitted to sentences
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.distill.teacher import Teacher
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
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


@dataclass(frozen=True)
class Fit:
    """Settings of a fit: `pairs` and `pull` are the weights of the two other losses; `held_out` sentences stop it early."""

    epochs: int = 4
    rate: float = 5e-3
    batch: int = 1024
    pairs: float = 10.0
    pull: float = 0.02
    held_out: int = 8192
    seed: int = 0

    def for_texts(self, count: int) -> Fit:
        """Return the settings for fewer texts: a tenth of them held out, and at least 50 batches per epoch."""
        held_out = min(self.held_out, max(1, count // 10))
        return replace(
            self, held_out=held_out, batch=min(self.batch, max(1, (count - held_out) // 50))
        )


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
    one = partial(
        distill,
        words=words,
        texts=texts,
        dim=dim,
        frequencies=frequencies,
        fit=fit,
        tokenizer=tokenizer,
        progress=progress,
    )
    first = one(teachers[0])
    pieces = first.words[len(words) :]
    parts = [first, *(one(teacher, pieces=pieces) for teacher in teachers[1:])]
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
    shares = np.maximum(np.bincount(ids[ids >= 0], minlength=len(rows)), 0.5) / max(len(ids), 1)
    if frequencies is not None:  # pieces always get their share of the tokens
        shares[: len(words)] = [frequencies[word] for word in words]
    probabilities = shares.astype(np.float32)
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
    return list(islice((word for word in order if lexicon.tokens(word) == [word]), size))


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


def with_length(rows: Float, length: float = 1.0) -> Float:
    """Scale each row to the same length; zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows * (length / np.where(lengths > 0, lengths, 1))).astype(np.float32)


def root_mean_square_length(rows: Float) -> float:
    """Return the root of the mean squared length of rows."""
    return float(np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1).mean()))


# Word vectors fitted to the teacher's sentence vectors. A sentence is the sum of its word vectors, so the length of a vector
# is the weight of its word. The loss of a batch is 1 - cos(student, teacher), plus `pairs` times the mean squared difference
# between student's and teacher's cosines of all pairs of sentences, plus `pull` times the squared distance of the words
# from their start. Adam updates only the words of the batch.


def fit_words(
    start: Float,
    ids: NDArray[np.int32],
    offsets: NDArray[np.int64],
    targets: Float,
    fit: Fit | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> Float:
    """Fit word vectors (rows, dim) to sentences `ids`, `offsets` with targets (n, dim) of length one.

    The result is that of the epoch with the best mean cosine on the first `held_out` sentences.

    Args:
        progress: Called after each epoch with that cosine, and with epoch 0 before the first.
    """
    fit = fit or Fit()
    sentences = _Sentences(ids, offsets)
    train = sentences.known[sentences.known >= fit.held_out]
    held_out = sentences.known[sentences.known < fit.held_out]
    if len(train) < fit.batch or not len(held_out):
        raise ParameterError(
            f"{len(sentences.known)} texts with a known word are too few to fit on: "
            f"{fit.held_out} are held out, and a batch has {fit.batch}",
            "give more text",
        )
    adam = _Adam(start, fit, fit.epochs * (len(train) // fit.batch))
    random = np.random.default_rng(fit.seed)
    best, best_words = -np.inf, start
    for epoch in range(fit.epochs + 1):
        if epoch:
            order = random.permutation(train)
            for begin in range(0, len(order) - fit.batch + 1, fit.batch):
                rows = order[begin : begin + fit.batch]
                adam.step(*sentences.batch(rows), targets[rows])
        held_ids, held_begins = sentences.batch(held_out)
        students, _ = _summed(adam.words[held_ids], held_begins)
        cosine = float((students * targets[held_out]).sum(axis=1).mean())
        if progress:
            progress(epoch, cosine)
        if cosine <= best:
            break
        best, best_words = cosine, adam.words.copy()
    return best_words


class _Sentences:
    """Sentences without unknown ids; `known` lists the sentences that have a known word."""

    def __init__(self, ids: NDArray[np.int32], offsets: NDArray[np.int64]) -> None:
        known_ids = ids >= 0
        self.offsets = np.append(0, np.cumsum(known_ids))[offsets]
        self.ids = ids[known_ids].astype(np.int64)
        self.lengths = np.diff(self.offsets)
        self.known = np.flatnonzero(self.lengths > 0)

    def batch(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the ids of some sentences, and the offset of each."""
        lengths = self.lengths[rows]
        begins = np.cumsum(lengths) - lengths
        index = np.repeat(self.offsets[rows] - begins, lengths) + np.arange(lengths.sum())
        return self.ids[index], begins


class _Adam:
    """The state of the fit: the words, the moments of their gradients, and the step."""

    def __init__(self, start: Float, fit: Fit, steps: int) -> None:
        self.start, self.words, self.fit, self.steps = start, start.copy(), fit, steps
        self.mean, self.square = np.zeros_like(start), np.zeros_like(start)
        self.done = 0

    def step(self, ids: NDArray[np.int64], begins: NDArray[np.int64], targets: Float) -> None:
        fit = self.fit
        order = np.argsort(ids, kind="stable")
        rows, firsts = np.unique(ids[order], return_index=True)
        owners = np.searchsorted(begins, order, side="right") - 1
        slopes = slopes_of_sums(self.words[ids], begins, targets, fit.pairs)
        slope = np.add.reduceat(slopes[owners], firsts)
        slope += (2 * fit.pull / len(targets)) * (self.words[rows] - self.start[rows])
        self.done += 1
        rate = fit.rate * (1 - (self.done - 1) / self.steps) / (1 - BETA1**self.done)
        mean = BETA1 * self.mean[rows] + (1 - BETA1) * slope
        square = BETA2 * self.square[rows] + (1 - BETA2) * slope**2
        self.mean[rows], self.square[rows] = mean, square
        scale = np.sqrt(square / (1 - BETA2**self.done)) + EPSILON
        self.words[rows] -= (rate * mean / scale).astype(np.float32)


def slopes_of_sums(
    words: Float, begins: NDArray[np.int64], targets: Float, pairs: float
) -> NDArray[np.floating]:
    """Return the gradient of the loss without `pull` with respect to the sum of each sentence, (n, dim)."""
    students, lengths = _summed(words, begins)
    count = len(targets)
    slopes = -targets / count
    if pairs:
        difference = students @ students.T - targets @ targets.T
        slopes = slopes + (4 * pairs / count**2) * (difference @ students)
    along = (students * slopes).sum(axis=1, keepdims=True)
    return np.asarray((slopes - along * students) / lengths)


def _summed(words: Float, begins: NDArray[np.int64]) -> tuple[Float, Float]:
    """Return the sums of the words of each sentence, scaled to length one, and their lengths before, (n, 1)."""
    sums = np.add.reduceat(words, begins)
    lengths = np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)
    return sums / lengths, lengths
