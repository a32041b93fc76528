"""`Method`, the base class of pooling methods, and what they share.

    ids -> Sentence -> pool -> row          the NumPy form of every method, in float64
    ids -> kernels.Pooling -> rows          the native kernel, for methods that have one

A method of your own subclasses `Method` and writes `pool`; everything else has a default that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.constants import DIVISOR, DROPPED
from noppa.errors import ParameterError
from noppa.parameters import MOST_DIMENSIONS, numbers, short_repr
from noppa.refine import Float, Refinement
from noppa.words.word_vectors import WordVectors

#: The arrays that a method has learnt, by name.
Learnt = Mapping[str, NDArray[Any]]
#: The ids of tokens, (tokens,), and the bounds of their sentences, (sentences + 1,).
Tokens = NDArray[np.int32]
Bounds = NDArray[np.int64]
Ids = tuple[Tokens, Bounds]
#: Pooled rows (sentences, width) and the number of known tokens of each (sentences,).
Rows = tuple[NDArray[Any], NDArray[np.int32]]
#: ids, offsets, steps, threads -> rows
Pooler = Callable[[Tokens, Bounds, kernels.Steps, int], Rows]

#: The values of `Method.learning`.
NOTHING, SUMS, TEXT = "nothing", "sums", "text"
#: The ways to write the NumPy form of a method.
NUMPY_FORMS = ("pool", "terms", "pooled")
#: The `a` of a method that needs probabilities but does not override `weigh`.
DEFAULT_A = 0.05
#: Words that are converted to float64 at a time.
BLOCK = 1 << 14
#: The name of the part of a vector that belongs to no token if tokens were left out one at a time.
SHARED = "shared by several tokens (each was left out in turn)"


@dataclass(frozen=True, eq=False)
class Sentence:
    """The known tokens of one sentence, for the NumPy form of a method.

    Attributes:
        ids: Rows of the words, (tokens,).
        vectors: (tokens, dim), float64.
        weights: (tokens,), float64.
        places: Positions of the tokens among all `length` tokens of the text, including unknown ones, (tokens,).
        learnt: The arrays that the method has learnt.
    """

    ids: Tokens
    vectors: Float
    weights: Float
    places: NDArray[np.int64]
    length: int
    words: WordVectors
    learnt: Learnt

    def __len__(self) -> int:
        return len(self.ids)

    def only(self, tokens: NDArray[Any], places: NDArray[Any] | None = None) -> Sentence:
        """Return the sentence of some of its tokens, at their old or at new places."""
        return replace(
            self,
            ids=self.ids[tokens],
            vectors=self.vectors[tokens],
            weights=self.weights[tokens],
            places=self.places[tokens] if places is None else places,
        )


def sentence_of(
    words: WordVectors, learnt: Learnt, ids: Tokens, weights: Float | None = None
) -> Sentence:
    """Return a sentence from its ids (tokens,), without unknown ones; weights are (words + 1,) or None."""
    places = np.flatnonzero(ids != DROPPED)
    known = ids[places]
    weight = np.ones(len(known)) if weights is None else np.asarray(weights, np.float64)[known]
    return Sentence(known, vectors_of(words, known), weight, places, len(ids), words, learnt)


def vector_blocks(words: WordVectors) -> Iterator[Float]:
    """Yield the vectors of all words in blocks."""
    for start in range(0, len(words), BLOCK):
        yield words.vectors(np.arange(start, min(start + BLOCK, len(words)))).astype(float)


def vectors_of(words: WordVectors, ids: Tokens) -> Float:
    """Return the vectors of ids, zeros for the zero word, (tokens, dim)."""
    vectors = np.zeros((len(ids), words.dim))
    is_word = ids < len(words)
    vectors[is_word] = words.vectors(ids[is_word])
    return vectors


@dataclass(frozen=True, eq=False)
class Split:
    """A pooled vector divided among the tokens of its sentence; the sum of `terms` and of `rest` is the pooled vector.

    Attributes:
        terms: What each token adds to the pooled vector, (tokens, width).
        words: Each word alone, as long as a pooled vector, for its cosine with the sentence, (tokens, width).
        weights: Weight of each word, independent of the sentence's length, (tokens,).
        positions: Position that the method gave to each token, -1 for a token that took no part, (tokens,).
        attention: Equation 13, for methods that have it, (tokens, tokens).
        pairs: Maps a direction (width,) to what token i contributes along it by way of token j, (tokens, tokens), whose
            rows add up to those of `terms`; None if each token contributes by itself.
        rest: What belongs to no token, (width,), by the name of the reason.
        exact: Whether the terms follow from the method's formula; otherwise each token was left out in turn.
    """

    terms: Float
    words: Float
    weights: Float
    positions: NDArray[np.int64]
    attention: Float | None = None
    pairs: Callable[[Float], Float] | None = None
    rest: Mapping[str, Float] = field(default_factory=dict)
    exact: bool = True


def plain(
    terms: Float, words: Float, weights: Float, pairs: Callable[[Float], Float] | None = None
) -> Split:
    """Return the split of a sentence in which all tokens take part, in their order."""
    return Split(terms, words, weights, np.arange(len(terms)), pairs=pairs)


def spread(split: Split, places: NDArray[np.int64], tokens: int) -> Split:
    """Return the split of a text of `tokens` tokens from that of the ones at `places`; the others add nothing."""

    def rows(values: Float) -> Float:
        wide = np.zeros((tokens, *values.shape[1:]))
        wide[places] = values
        return wide

    def square(values: Float) -> Float:
        wide = np.zeros((tokens, tokens))
        wide[np.ix_(places, places)] = values
        return wide

    pairs, positions = split.pairs, np.full(tokens, -1)
    positions[places] = split.positions
    return replace(
        split,
        terms=rows(split.terms),
        words=rows(split.words),
        weights=rows(split.weights),
        positions=positions,
        attention=None if split.attention is None else square(split.attention),
        pairs=None if pairs is None else lambda direction: square(pairs(direction)),
    )


class Kernel(NamedTuple):
    """A native kernel: its name in `kernels.POOLINGS`, the table it reads, and its arguments."""

    name: str
    table: kernels.Table
    arguments: dict[str, Any]


class Method:
    """A way to turn the words of a sentence into a vector. Subclass it, preferably as a frozen dataclass, and write `pool`.

    >>> import noppa
    >>> class Largest(noppa.Method):
    ...     def pool(self, vectors, weights):
    ...         return vectors.max(axis=0)
    >>> words = noppa.WordVectors(["a", "cake"], [[0.1, 0.4], [0.3, 0.2]])
    >>> noppa.Encoder(words, Largest()).encode("a cake").tolist() == words.vectors([0, 1]).max(0).tolist()
    True
    """

    #: Whether words are weighted by their probabilities; `weigh` defines how.
    needs_probabilities: bool = False
    #: What `fit` learns for the method itself: "nothing"; "sums", which add up over parts of a corpus (`gather` and
    #: `conclude`); or "text", for which all sentences must be on one machine (`learn`).
    learning: ClassVar[str] = NOTHING
    #: Whether the order of the words changes the vector.
    uses_order: bool = True
    #: Whether a vector is the mean of what each of its words gives alone; exports of one vector per word need that.
    is_mean: bool = False
    #: Whether words attend to each other, so that an explanation has an attention table.
    attends: ClassVar[bool] = False
    #: Parameters that can be changed on the server's page.
    settable: ClassVar[tuple[str, ...]] = ()
    #: The arrays that the method learns, by name, as they are saved: see `noppa.io.schema`.
    LEARNT: ClassVar[Mapping[str, str]] = {}

    # The NumPy form: write one of these three.

    def pool(self, vectors: Float, weights: Float) -> Float:
        """Return the row (width,) of a sentence from its known words: vectors (tokens, dim), weights (tokens,)."""
        raise ParameterError(
            f"{short_repr(self)} pools nothing", "write pool(self, vectors, weights)"
        )

    def terms(self, vectors: Float, weights: Float) -> Float:
        """For a row that is a sum over tokens: return what each adds, (tokens, width). Explanations are then exact."""
        raise NotImplementedError

    def pooled(self, sentence: Sentence) -> Float:
        """For a method that also needs ids, places or learnt arrays: return the row (width,)."""
        raise NotImplementedError

    @property
    def form(self) -> str:
        """Which of the three the most derived class defines."""
        return last_defined(type(self), NUMPY_FORMS)

    def row(self, sentence: Sentence) -> Float:
        """Return the pooled row (width,) of a sentence by the NumPy form."""
        if self.form == "pooled":
            return self.pooled(sentence)
        if self.form == "terms":
            return np.asarray(np.sum(self.terms(sentence.vectors, sentence.weights), axis=0))
        return self.pool(sentence.vectors, sentence.weights)

    # Defaults that follow from it.

    def width(self, words: WordVectors) -> int:
        """Return the length of a pooled vector; by default it is measured on a sentence of one word."""
        first = np.zeros(min(len(words), 1), np.int32)
        return len(_checked_row(self.row(sentence_of(words, {}, first)), self, None))

    def refinements(self) -> tuple[Refinement, ...]:
        """Return the method's own refinements, applied before the user's."""
        return ()

    def weigh(self, probabilities: Float) -> Float:
        """Return weights of words from their probabilities, if `needs_probabilities`; by default equation 9's."""
        return smooth_frequency_weight(probabilities, DEFAULT_A)

    def weights(self, words: WordVectors, learnt: Learnt) -> Float | None:
        """Return the weight of each word and, last, of the zero word, (words + 1,); None if all are 1."""
        if not self.needs_probabilities:
            return None
        return self.weigh(probabilities_of(words, type(self).__name__))

    def native_weights(self, words: WordVectors, learnt: Learnt) -> NDArray[Any] | None:
        """Return `weights` as the kernels take them."""
        weights = self.weights(words, learnt)
        return None if weights is None else weights.astype(kernels.REAL)

    def split(self, sentence: Sentence) -> Split:
        """Divide the pooled row among the tokens: exactly with `terms`, otherwise by leaving each token out."""
        if self.form == "terms":
            terms = np.asarray(self.terms(sentence.vectors, sentence.weights), np.float64)
            return plain(terms, _repeat(sentence.vectors, terms.shape[1]), sentence.weights)
        tokens, row = np.arange(len(sentence)), np.asarray(self.row(sentence), np.float64)
        without = [
            self.row(sentence.only(np.delete(tokens, token))) if len(tokens) > 1 else 0 * row
            for token in tokens
        ]
        terms = row - np.asarray(without, np.float64)
        rest = {SHARED: row - terms.sum(axis=0)} if len(tokens) > 1 else {}
        split = plain(terms, _repeat(sentence.vectors, len(row)), sentence.weights)
        return replace(split, rest=rest, exact=False)

    def explained(self, sentence: Sentence) -> Split:
        """Return `split`, unless a subclass redefined the NumPy form and not `split`."""
        is_current = last_defined(type(self), ("split", *NUMPY_FORMS)) == "split"
        return self.split(sentence) if is_current else Method.split(self, sentence)

    # Learning

    @property
    def learns(self) -> bool:
        """Whether the method itself learns something from text."""
        return self.learning != NOTHING

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """With `learning = "sums"`: return arrays that add up over blocks of sentences, by name."""
        raise NotImplementedError

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        """With `learning = "sums"`: return the learnt arrays from the sums over all sentences."""
        raise NotImplementedError

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """With `learning = "text"`: return the learnt arrays from blocks that can be iterated repeatedly."""
        raise NotImplementedError

    # Batches

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel | None:
        """Return the native kernel that computes the same as the NumPy form, if there is one."""
        return None

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        """Return a function from ids to pooled and refined rows: the native kernel, or else the NumPy form."""
        if last_defined(type(self), ("native", *NUMPY_FORMS)) == "native":
            kernel = self.native(words, learnt)
            if kernel is not None and kernel.name in kernels.POOLINGS:
                return kernels.Pooling(*kernel)
        return NumpyPooler(self, words, learnt)

    def check(self, words: WordVectors) -> None:
        """Raise if the words lack something that this method needs."""
        if self.learns and words.ngrams is not None:
            raise ParameterError(
                f"{type(self).__name__} learns about a fixed table of words, and these compose new words from n-grams",
                "convert the model to a table first, with keep= or texts= of WordVectors.load",
            )
        if self.needs_probabilities:
            words.needed_probabilities(type(self).__name__)


class NumpyPooler:
    """Pools sentence by sentence with a method's NumPy form; the kernels refine."""

    def __init__(self, method: Method, words: WordVectors, learnt: Learnt) -> None:
        self.method, self.words, self.learnt = method, words, learnt
        self.weights = method.weights(words, learnt)
        self.width = method.width(words)

    def __call__(self, ids: Tokens, offsets: Bounds, steps: kernels.Steps, threads: int) -> Rows:
        rows, known = self.rows(ids, offsets)
        # saturated like the kernels, which compute in float32
        most = np.finfo(np.float32).max
        clipped = np.ascontiguousarray(np.clip(rows, -most, most), kernels.REAL)
        return kernels.apply_steps(clipped, known, steps, threads), known

    def rows(self, ids: Tokens, offsets: Bounds) -> Rows:
        """Return float64 rows (sentences, width), zeros without a known word, and the known tokens of each."""
        rows = np.zeros((len(offsets) - 1, self.width))
        known = np.zeros(len(rows), np.int32)
        for row in range(len(rows)):
            text = ids[offsets[row] : offsets[row + 1]]
            sentence = sentence_of(self.words, self.learnt, text, self.weights)
            known[row] = len(sentence)
            if len(sentence):
                rows[row] = _checked_row(self.method.row(sentence), self.method, self.width)
        return rows, known


def last_defined(kind: type, names: tuple[str, ...]) -> str:
    """Return which of some attributes the most derived class defines; the first one if it defines several.

    A subclass that only redefines `pool` must not use the kernel or the explanation of its base class.
    """
    return next(name for base in kind.__mro__ for name in names if name in vars(base))


def checked_width(method: Method, words: WordVectors, most: int = MOST_DIMENSIONS) -> int:
    """Return the method's width, or raise if it is more than `most`."""
    width = method.width(words)
    if width > most:
        raise ParameterError(
            f"{method!r} makes vectors of {width} dimensions from words of {words.dim}; at most {most} are possible here",
            "choose smaller parameters",
        )
    return width


def _checked_row(row: Any, method: Method, width: int | None) -> Float:
    checked = np.asarray(row, np.float64)
    if checked.ndim != 1 or (width is not None and len(checked) != width):
        raise ParameterError(
            f"{short_repr(method)} pooled a sentence to an array {checked.shape}",
            f"pool must return one row, ({'width' if width is None else width},)",
        )
    if not np.isfinite(checked).all():
        raise ParameterError(
            f"{short_repr(method)} pooled a sentence to values that are not finite"
        )
    return checked


def _repeat(vectors: Float, width: int) -> Float:
    """Repeat and cut word vectors to the width of a pooled vector, (tokens, width)."""
    times = -(-width // max(vectors.shape[1], 1))
    return np.tile(vectors, times)[:, :width]


# Weights, and the weighted mean that several methods are


def probabilities_of(words: WordVectors, method: str) -> Float:
    """Return the probability of each word and, last, of the zero word, which is as rare as the rarest, (words + 1,)."""
    known = words.needed_probabilities(method)
    return np.append(known, known.min())


def smooth_frequency_weight(probabilities: Float, a: float) -> Float:
    """Return equation 9's weight a / (p + a/2), between 0 and 2."""
    return np.asarray(a / (probabilities + a / 2))


def mean_terms(
    vectors: Float, weights: Float, divisor: str = "tokens", scaled: bool = False
) -> Float:
    """Return w_i v_i divided by the number of words ("tokens"), the sum of the weights, or "one", (tokens, dim).

    If `scaled`, each dimension is divided by its norm over the sentence first.
    """
    if scaled:
        norms = np.linalg.norm(vectors, axis=0)
        vectors = vectors / np.where(norms > 0, norms, 1)
    amount = {"tokens": len(vectors), "weights": weights.sum(), "one": 1.0}[divisor]
    return np.asarray(weights[:, None] * vectors / amount if amount > 0 else 0 * vectors)


def mean_kernel(
    table: kernels.Table, weights: Float | None, divisor: str = "tokens", scaled: bool = False
) -> Kernel:
    """Return the kernel that computes `mean_terms`, with weights (words + 1,)."""
    arguments = {
        "weights": None if weights is None else weights.astype(kernels.REAL),
        "divisor": DIVISOR[divisor],
        "scaled": scaled,
    }
    return Kernel("mean", table, arguments)


# Corpora


class Corpus:
    """Blocks of ids and offsets in a temporary file, for methods that read their sentences repeatedly.

    A token takes 4 bytes on disk and no memory, so texts can come from a stream of any length.
    """

    def __init__(self, blocks: Iterable[Ids]) -> None:
        import tempfile  # imported lazily: it is slow, and few methods need it

        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the corpus is
        self._blocks = 0
        for block in blocks:
            for array in block:
                np.save(self._file, array)
            self._blocks += 1

    def __iter__(self) -> Iterator[Ids]:
        self._file.seek(0)
        for _ in range(self._blocks):
            yield np.load(self._file), np.load(self._file)

    def close(self) -> None:
        self._file.close()


def checked_ids(ids: Any, offsets: Any, words: int) -> Ids:
    """Validate ids and offsets that did not come from a lookup: their types and ranges."""
    flat, bounds = numbers(ids, "an array of ids"), numbers(offsets, "an array of offsets")
    are_whole = all(
        array.ndim == 1 and (array.dtype.kind in "iu" or not array.size) for array in (flat, bounds)
    )
    if not are_whole or (flat.size and not -1 <= flat.min() <= flat.max() <= words):
        raise ParameterError(
            f"ids and offsets are one-dimensional arrays of integers, ids from -1 to {words}"
        )
    if not len(bounds) or bounds[0] or bounds[-1] != len(flat) or (bounds[1:] < bounds[:-1]).any():
        raise ParameterError(f"offsets rise from 0 to {len(flat)}, the number of ids")
    return np.ascontiguousarray(flat, np.int32), np.ascontiguousarray(bounds, np.int64)


def word_counts(sentences: Iterable[Ids], words: int) -> NDArray[np.int64]:
    """Return how often each word occurs, (words,)."""
    seen = np.zeros(words + 1, np.int64)
    for ids, _ in sentences:
        seen += np.bincount(ids[ids >= 0], minlength=words + 1)
    return seen[:-1]


def sentence_numbers(offsets: Bounds) -> NDArray[np.int64]:
    """Return the sentence that each token belongs to, (tokens,)."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def known_tokens(ids: Tokens, offsets: Bounds) -> NDArray[np.int64]:
    """Return how many tokens of each sentence are known, (sentences,)."""
    return np.diff(np.append(0, np.cumsum(ids >= 0))[offsets])
