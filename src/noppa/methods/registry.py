"""Methods and refinements by name: ours, and those that users register."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from noppa.errors import ParameterError
from noppa.methods.average import Average
from noppa.methods.dct import DCT
from noppa.methods.fastsent import FastSent
from noppa.methods.foreign import ForeignMethod, ForeignRefinement
from noppa.methods.gem import GEM
from noppa.methods.noppa import NoPPA
from noppa.methods.protocol import Method
from noppa.methods.s3e import S3E
from noppa.methods.sent2vec import Sent2Vec
from noppa.methods.sif import SIF
from noppa.methods.tfidf import TfIdf
from noppa.methods.usif import USIF
from noppa.methods.vlawe import VLAWE
from noppa.parameters import short_repr
from noppa.refine import REFINEMENTS, Refinement

#: Every method by the name that the command line and saved encoders use; `register` adds to it.
METHODS: dict[str, type[Any]] = {
    "noppa": NoPPA,
    "average": Average,
    "tfidf": TfIdf,
    "sif": SIF,
    "usif": USIF,
    "dct": DCT,
    "vlawe": VLAWE,
    "s3e": S3E,
    "gem": GEM,
    "fastsent": FastSent,
    "sent2vec": Sent2Vec,
}
#: Those that cannot be replaced.
BUILT_IN = frozenset({*METHODS, *REFINEMENTS})

#: Modules that register methods, with commas, for every command and server process.
EXTENSIONS = "NOPPA_IMPORT"
NAME = re.compile(r"[A-Za-z_][\w.:-]{0,199}")


def register(name: str, kind: type[Any]) -> None:
    """Name a method or a refinement of your own, for saved folders, the command line, `compare`, `bench` and the page.

    kind: a class with `pool`, `terms` or `pooled` as `Method` has them, or with `fit` as `Refinement` has it. A class
        that was registered before may be registered anew, as a notebook does when a cell runs again.

    >>> import noppa
    >>> class Largest(noppa.Method):
    ...     def pool(self, vectors, weights):
    ...         return vectors.max(axis=0)
    >>> noppa.register("largest", Largest)
    >>> noppa.METHODS["largest"] is Largest
    True
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ParameterError(
            f"a name begins with a letter and goes on with letters, digits or . : - _, not {short_repr(name)}"
        )
    if not isinstance(kind, type):
        raise ParameterError(f"register takes a class, not {short_repr(kind)}: give type(it)")
    table = _table_for(kind)
    other = METHODS.get(name) or REFINEMENTS.get(name)
    if name in BUILT_IN or (other is not None and _place(other) != _place(kind)):
        raise ParameterError(f"the name {name!r} belongs to {_place(other)}: choose another one")
    table[name] = kind


def _table_for(kind: type[Any]) -> dict[str, type[Any]]:
    if ForeignMethod.takes(kind):
        return METHODS
    if ForeignRefinement.takes(kind):
        return REFINEMENTS
    raise ParameterError(
        f"{kind.__name__} is neither a method, which has pool(vectors, weights), nor a refinement, which has fit(moments)"
    )


def _place(kind: type[Any] | None) -> str:
    return "" if kind is None else f"{kind.__module__}.{kind.__qualname__}"


def search_current_folder() -> None:
    """Let imports find modules of the current folder, as `python FILE` does and an installed script does not."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def import_extensions() -> None:
    """Import the modules of NOPPA_IMPORT, which register methods and refinements: what commands and servers do first."""
    for module in filter(None, os.environ.get(EXTENSIONS, "").split(",")):
        search_current_folder()
        try:
            import_module(module.strip())
        except Exception as error:
            raise ParameterError(
                f"{EXTENSIONS} names {module.strip()!r}, which cannot be imported: {error}"
            ) from error


def method_class(name: str) -> type[Any]:
    """A method by its registered name, or by `package.module:Class`, which is imported."""
    if name in METHODS:
        return METHODS[name]
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ParameterError(
            f"there is no method {name!r}: choose from {', '.join(METHODS)}, or give package.module:Class"
        )
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"the method {name!r} cannot be imported: {error}; give package.module:Class"
        ) from error
    if not isinstance(kind, type) or not ForeignMethod.takes(kind):
        raise ParameterError(f"{name} is no method: it needs pool(self, vectors, weights)")
    if kind not in METHODS.values():
        register(name, kind)
    return kind


def adapted(method: Any) -> Method:
    """A method as the encoder needs it: one of ours, a subclass of `Method`, or a stranger's object with `pool`."""
    if isinstance(method, Method):
        return method
    if isinstance(method, type) or not ForeignMethod.takes(type(method)):
        known = ", ".join(kind.__name__ for kind in METHODS.values())
        raise ParameterError(
            f"method must be one of {known}, or an object with pool(vectors, weights), not {short_repr(method)}"
        )
    return ForeignMethod(method)


def adapted_refinement(refinement: Any) -> Refinement:
    """A refinement as the encoder needs it: one of ours, a subclass of `Refinement`, or an object with `fit`."""
    if isinstance(refinement, Refinement):
        return refinement
    if isinstance(refinement, type) or not ForeignRefinement.takes(type(refinement)):
        raise ParameterError(f"{short_repr(refinement)} is no refinement: see noppa.refine")
    return ForeignRefinement(refinement)


def own_of(part: Method | Refinement) -> Any:
    """The object that the user gave."""
    return part.own if isinstance(part, (ForeignMethod, ForeignRefinement)) else part


def _name_of(part: Method | Refinement) -> str | None:
    table = METHODS if isinstance(part, Method) else REFINEMENTS
    return next((name for name, kind in table.items() if kind is type(own_of(part))), None)


def is_registered(part: Method | Refinement) -> bool:
    """Whether a saved folder can name it."""
    return _name_of(part) is not None


def to_dict(part: Method | Refinement) -> dict[str, Any]:
    """A method or a refinement as JSON: its registered name and its parameters."""
    own, name = own_of(part), _name_of(part)
    if name is None:
        kind = type(own).__name__
        raise ParameterError(
            f"{short_repr(own)} cannot be saved, since nothing could load it: "
            f"call noppa.register({kind.lower()!r}, {kind}) first"
        )
    return {"name": name, **parameters(own)}


def parameters(own: Any) -> dict[str, Any]:
    """What a method or a refinement was made with, by name: its fields, or its attributes where it is no dataclass."""
    values = {name: getattr(own, name) for name in parameter_names(own)}
    for name, value in values.items():
        if not is_plain(value):
            raise ParameterError(
                f"{type(own).__name__} cannot be saved: its {name} is {short_repr(value)}, and a parameter is a number, "
                "a text, None, or a list of these"
            )
    return values


def parameter_names(own: Any) -> list[str]:
    """The fields of a dataclass, or the attributes of any other object."""
    if is_dataclass(own):
        return [field.name for field in fields(own)]
    return list(getattr(own, "__dict__", ()))


def is_plain(value: Any) -> bool:
    """Whether JSON can hold a parameter as it is."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return all(item is None or isinstance(item, (bool, int, float, str)) for item in items)


def made(kinds: Mapping[str, type[Any]], stored: Mapping[str, Any]) -> Any:
    """The method or refinement of a stored description; KeyError for a name that is not registered."""
    given = dict(stored)
    kind = kinds[given.pop("name")]
    return kind(**given)
