"""What a pooling method is: frozen parameters, one NumPy function, and declared facts about itself.

    ids -> Sentence -> pool -> row          the NumPy form of every method, in float64
    ids -> kernels.Pooling -> rows          the native kernel, for methods that name one

A method of your own subclasses `Method` and writes `pool`; everything else has a default that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import ParameterError
from noppa.methods.corpus import Ids
from noppa.methods.numpy_form import Learnt, NumpyPooler, Rows, Sentence, checked_row, sentence_of
from noppa.methods.split import Float, Split, left_out, plain
from noppa.methods.weighting import probabilities_of, smooth_frequency_weight
from noppa.parameters import MOST_DIMENSIONS, MOST_REFINED, short_repr
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors

#: ids (tokens,), offsets (sentences + 1,), steps, threads -> rows (sentences, width), known tokens of each (sentences,)
Pooler = Callable[[NDArray[np.int32], NDArray[np.int64], kernels.Steps, int], Rows]

#: What `Method.learning` may be.
NOTHING, SUMS, TEXT = LEARNING = ("nothing", "sums", "text")

#: The ways to write the NumPy form of a method.
NUMPY_FORMS = ("pool", "terms", "pooled")

#: The `a` of a method that weighs words and does not say how.
DEFAULT_A = 0.05


class Kernel(NamedTuple):
    """A native kernel: its name in `kernels.POOLINGS`, the table it reads, and its arguments."""

    name: str
    table: kernels.Table
    arguments: dict[str, Any]


class Method:
    """One way to turn the words of a sentence into a vector; subclass it, best as a frozen dataclass, and write `pool`.

    >>> import noppa
    >>> class Largest(noppa.Method):
    ...     def pool(self, vectors, weights):
    ...         return vectors.max(axis=0)
    >>> words = noppa.WordVectors(["a", "cake"], [[0.1, 0.4], [0.3, 0.2]])
    >>> noppa.Encoder(words, Largest()).encode("a cake").tolist() == words.vectors([0, 1]).max(0).tolist()
    True
    """

    #: Whether words are weighted by how probable they are; `weigh` says how.
    needs_probabilities: bool = False
    #: What `fit` learns for the method itself: "nothing"; "sums", which parts of a corpus add up to (`gather` and
    #: `conclude`); or "text", for which all sentences must be on one machine (`learn`).
    learning: ClassVar[str] = NOTHING
    #: Whether the order of the words changes the vector.
    uses_order: bool = True
    #: Whether words attend to each other, so that an explanation has an attention table.
    attends: ClassVar[bool] = False
    #: Parameters that the server's page may change.
    settable: ClassVar[tuple[str, ...]] = ()
    #: The arrays that it learns, by name, as they are saved: see `noppa.io.schema`.
    LEARNT: ClassVar[Mapping[str, str]] = {}
    #: Why a vector is not the mean of what each of its words gives alone, which exports of one vector a word need; ""
    #: where it is, None where the method does not say.
    mean_obstacle: str | None = None
    #: Time for a sentence of n words of d dimensions.
    COST: ClassVar[str] = "one call of pool"

    # One sentence in NumPy: write one of these three.

    def pool(self, vectors: Float, weights: Float) -> Float:
        """The row (width,) of a sentence from its known words in order: vectors (tokens, dim), weights (tokens,)."""
        raise ParameterError(
            f"{short_repr(self)} pools nothing: write pool(self, vectors, weights)"
        )

    def terms(self, vectors: Float, weights: Float) -> Float:
        """For a row that is a sum over tokens: what each adds, (tokens, width). Such a method explains itself exactly."""
        raise NotImplementedError

    def pooled(self, sentence: Sentence) -> Float:
        """For a method that also looks at ids, at places or at what it has learnt."""
        raise NotImplementedError

    @property
    def form(self) -> str:
        """Which of the three was written; in a subclass the one that was written last."""
        return last_defined(type(self), NUMPY_FORMS)

    def row(self, sentence: Sentence) -> Float:
        """The pooled row (width,) of a sentence by the NumPy form."""
        if self.form == "pooled":
            return self.pooled(sentence)
        if self.form == "terms":
            return np.asarray(np.sum(self.terms(sentence.vectors, sentence.weights), axis=0))
        return self.pool(sentence.vectors, sentence.weights)

    # What follows from it, to be overridden where something else is true.

    def width(self, words: WordVectors) -> int:
        """Length of a pooled vector, before any refinement; by default that of a sentence of one word."""
        first = np.zeros(min(len(words), 1), np.int32)
        return len(checked_row(self.row(sentence_of(words, {}, first)), self, None))

    def refinements(self) -> tuple[Refinement, ...]:
        """What the method does after pooling, before any refinement of the user's own."""
        return ()

    def weigh(self, probabilities: Float) -> Float:
        """Weights of words from their probabilities, asked where `needs_probabilities`; equation 9's by default."""
        return smooth_frequency_weight(probabilities, DEFAULT_A)

    def weights(self, words: WordVectors, learnt: Learnt) -> Float | None:
        """The weight of each word and, last, of the zero word, (words + 1,); None where all are 1."""
        return (
            self.weigh(probabilities_of(words, type(self).__name__))
            if self.needs_probabilities
            else None
        )

    def split(self, sentence: Sentence) -> Split:
        """The pooled row divided over the tokens: exact where `terms` is there, else by leaving each token out."""
        if self.form == "terms":
            terms = np.asarray(self.terms(sentence.vectors, sentence.weights), np.float64)
            return plain(terms, repeated(sentence.vectors, terms.shape[1]), sentence.weights)
        tokens, row = np.arange(len(sentence)), np.asarray(self.row(sentence), np.float64)
        without = [
            self.row(sentence.only(np.delete(tokens, token))) if len(tokens) > 1 else 0 * row
            for token in tokens
        ]
        words = repeated(sentence.vectors, len(row))
        return left_out(row, np.asarray(without, np.float64), words, sentence.weights)

    def explained(self, sentence: Sentence) -> Split:
        """`split`, unless it is that of a base class whose NumPy form was written anew."""
        own = last_defined(type(self), ("split", *NUMPY_FORMS)) == "split"
        return self.split(sentence) if own else Method.split(self, sentence)

    # Learning, as `learning` declares it.

    @property
    def without_fit(self) -> str:
        """The end of the sentence that asks for a fit: how to do without, where one can."""
        return ""

    @property
    def learns(self) -> bool:
        """Whether the method itself has something to learn from text."""
        return self.learning != NOTHING

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """With `learning = "sums"`: arrays that add up over blocks of ids and offsets, by name."""
        raise NotImplementedError

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        """With `learning = "sums"`: what the method has learnt, by name, from the sums over all sentences."""
        raise NotImplementedError

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """With `learning = "text"`: what the method has learnt, by name, from blocks that can be read again and again."""
        raise NotImplementedError

    # Batches

    def native(self, words: WordVectors, learnt: Learnt) -> Kernel | None:
        """The native kernel whose twin the NumPy form is; None where there is none."""
        return None

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        """A function from ids to pooled and refined rows: the native kernel, or the NumPy form for each sentence."""
        if last_defined(type(self), ("native", *NUMPY_FORMS)) == "native":
            kernel = self.native(words, learnt)
            if kernel is not None and kernel.name in kernels.POOLINGS:
                return kernels.Pooling(*kernel)
        return NumpyPooler(self, words, learnt)

    def check(self, words: WordVectors) -> None:
        """Say now what the words lack for this method."""
        check_width(self, words)
        if self.learns and words.ngrams is not None:
            raise ParameterError(
                f"{type(self).__name__} learns about the words of a table, and these compose others from n-grams whenever a "
                "text has one: freeze the model to a table first, with keep= or texts= of load"
            )
        if self.needs_probabilities:
            words.needed_probabilities(type(self).__name__)


def last_defined(kind: type, names: tuple[str, ...]) -> str:
    """Which of some attributes the most derived class defines; of several in one class the one that is named first.

    Who subclasses a method and writes another `pool` means neither the kernel nor the explanation of its base.
    """
    return next(name for one in kind.__mro__ for name in names if name in vars(one))


def repeated(vectors: Float, width: int) -> Float:
    """Word vectors repeated, and cut, to the width of a pooled vector, (tokens, width)."""
    times = -(-width // max(vectors.shape[1], 1))
    return np.tile(vectors, times)[:, :width]


def check_width(method: Method, words: WordVectors, most: int = MOST_DIMENSIONS) -> None:
    """Refuse a method whose vectors would be longer than any machine can hold many of."""
    width = method.width(words)
    if width > most:
        refined = " that are refined" if most == MOST_REFINED else ""
        raise ParameterError(
            f"{method!r} makes vectors of {width} dimensions from words of {words.dim}, and those{refined} may have "
            f"at most {most}: choose smaller parameters"
        )
