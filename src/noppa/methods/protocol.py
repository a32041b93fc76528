"""What a pooling method is: frozen parameters that become a pooler for given word vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError
from noppa.kernels.backend import kernels
from noppa.methods.corpus import Ids
from noppa.methods.split import Split
from noppa.parameters import MOST_DIMENSIONS, MOST_REFINED
from noppa.refine import Refinement
from noppa.words.word_vectors import WordVectors

Learnt = Mapping[str, NDArray[Any]]
Rows = tuple[NDArray[Any], NDArray[np.int32]]

#: ids (tokens,), offsets (sentences + 1,), steps, threads -> rows (sentences, width), known tokens of each (sentences,)
Pooler = Callable[[NDArray[np.int32], NDArray[np.int64], kernels.Steps, int], Rows]


class Method(Protocol):
    """One way to turn the words of a sentence into a vector."""

    def width(self, words: WordVectors) -> int:
        """Length of a pooled vector, before any refinement."""

    def refinements(self) -> tuple[Refinement, ...]:
        """What the method does after pooling, before any refinement of the user's own."""

    def pooler(self, words: WordVectors, learnt: Learnt) -> Pooler:
        """A function from ids to pooled rows; raises where the words lack something that the method needs."""

    def split(self, words: WordVectors, learnt: Learnt, ids: NDArray[np.int32]) -> Split:
        """The pooled row of one sentence, some of its tokens known, split over its tokens; ids (tokens,)."""


class Gatherer(Method, Protocol):
    """A method that learns arrays of its own from sums over sentences, which parts of a corpus add up to."""

    #: The arrays that it learns as they are saved, by sizes of the words and parameters of the method: see `schema`.
    LEARNT: ClassVar[dict[str, str]]

    def gather(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """The sums, by name, over blocks of ids and offsets."""

    def conclude(self, words: WordVectors, sums: Learnt) -> dict[str, NDArray[Any]]:
        """What `pooler` needs, by name, from the sums over all sentences."""


class Learner(Method, Protocol):
    """A method that learns arrays of its own from text before it pools."""

    #: As of a `Gatherer`.
    LEARNT: ClassVar[dict[str, str]]

    def learn(self, words: WordVectors, sentences: Iterable[Ids]) -> dict[str, NDArray[Any]]:
        """What `pooler` needs, by name; `sentences` are blocks of ids and offsets that can be read again and again."""


def check_width(method: Method, words: WordVectors, most: int = MOST_DIMENSIONS) -> None:
    """Refuse a method whose vectors would be longer than any machine can hold many of."""
    width = method.width(words)
    if width > most:
        refined = " that are refined" if most == MOST_REFINED else ""
        raise ParameterError(
            f"{method!r} makes vectors of {width} dimensions from words of {words.dim}, and those{refined} may have "
            f"at most {most}: choose smaller parameters"
        )


def learns(method: Method) -> bool:
    """Whether a method is a `Gatherer` or a `Learner`."""
    return hasattr(method, "gather") or hasattr(method, "learn")
