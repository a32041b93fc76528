"""Tables of candidates: every method with its defaults, the paper's ablations, and the ways to remove noise."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from noppa.errors import ParameterError
from noppa.evaluate.candidates import Recipe
from noppa.methods import METHODS, NoPPA
from noppa.methods.protocol import Method
from noppa.refine import CommonComponents
from noppa.words.word_vectors import WordVectors


def kind_of(name: str) -> type[Any]:
    """A method by its name, or an error that names the ones there are."""
    if name not in METHODS:
        raise ParameterError(f"there is no method {name!r}: choose from {', '.join(METHODS)}")
    return METHODS[name]


def method_of(name: str, parameters: dict[str, Any]) -> Method:
    """A method by its name and parameters, or an error that names the ones it has."""
    known = [part.name for part in fields(kind_of(name))]
    for given in parameters:
        if given not in known:
            raise ParameterError(
                f"{name} has no parameter {given!r}: it has {', '.join(known) or 'none'}"
            )
    made: Method = METHODS[name](**parameters)
    return made


def named(name: str, parameters: dict[str, Any]) -> str:
    """What a method with these parameters is called in a table."""
    title = METHODS[name].__name__
    given = ", ".join(f"{key}={value}" for key, value in parameters.items())
    return f"{title}({given})" if given else title


def every_method(words: WordVectors) -> list[Recipe]:
    """Each method as it is by default."""
    return [Recipe(words, kind(), kind.__name__) for kind in METHODS.values()]


def ablations(words: WordVectors, a: float, k: int) -> list[Recipe]:
    """The average, NoPPA with parts of it left out, and NoPPA with other kinds of noise removal."""
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
