"""Sets of candidates: every method with its defaults, and the paper's ablations with other kinds of noise removal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noppa.methods import METHODS, NoPPA
from noppa.methods.protocol import Method
from noppa.methods.registry import adapted
from noppa.paper.candidates import Recipe
from noppa.refine import CommonComponents
from noppa.words.word_vectors import WordVectors

#: The rows of the paper's Table 1 among the ablations.
TABLE_1 = ("CE-avg", "CE-avg+NR", "CE+SFW", "NoPPA")


def row_name(kind: type[Any], parameters: dict[str, Any]) -> str:
    """What a method with these parameters is called in a table."""
    settings = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"{kind.__name__}({settings})" if settings else kind.__name__


def every_method(words: WordVectors, kinds: Iterable[type[Any]] | None = None) -> list[Recipe]:
    """Methods with their default parameters: the given ones, or all."""
    chosen = METHODS.values() if kinds is None else kinds
    return [Recipe(words, adapted(kind()), kind.__name__) for kind in chosen]


def ablations(words: WordVectors, a: float, k: int) -> list[Recipe]:
    """The average, NoPPA without some of its parts, and NoPPA with other kinds of noise removal."""
    methods: dict[str, Method] = {
        "CE-avg": NoPPA(a=None, k=0),
        "CE-avg+NR": NoPPA(a=None, k=k),
        "CE+SFW": NoPPA(a=a, k=0),
        "NoPPA": NoPPA(a=a, k=k),
        "NoPPA, noise=reference": NoPPA(a=a, k=k, noise="reference"),
    }
    first = Recipe(words, NoPPA(a=a, k=0), "NoPPA, first-k removed", (CommonComponents(k),))
    average = Recipe(words, METHODS["average"](), "Average")
    return [average, *(Recipe(words, method, name) for name, method in methods.items()), first]
