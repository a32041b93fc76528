"""Methods and refinements by name: built-in, registered by users, or installed as `noppa.methods` entry points."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

from noppa.errors import ParameterError
from noppa.methods.clusters import S3E, VLAWE
from noppa.methods.gem import GEM
from noppa.methods.means import DCT, SIF, USIF, Average, TfIdf
from noppa.methods.method import Method
from noppa.methods.noppa import NoPPA
from noppa.methods.trained import FastSent, Sent2Vec
from noppa.parameters import short_repr
from noppa.refine import REFINEMENTS, Refinement

#: Every method by its name on the command line and in saved encoders; `register` adds to it.
METHODS: dict[str, type[Method]] = {
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
#: Names that cannot be replaced.
BUILT_IN = frozenset({*METHODS, *REFINEMENTS})

#: The group of entry points under which installed packages offer methods and refinements.
ENTRY_POINTS = "noppa.methods"
#: A comma-separated list of modules to import at the start of every command and server process.
EXTENSIONS = "NOPPA_IMPORT"
NAME = re.compile(r"[A-Za-z_][\w.:-]{0,199}")


def register(name: str, kind: type[Method] | type[Refinement]) -> None:
    """Name a method or refinement of your own, for saved folders, the command line and the server.

    An installed package can declare it as an entry point of the group `noppa.methods` instead. Registering a class of the
    same module and name again replaces it, as a notebook does when a cell runs twice.

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
            f"a name begins with a letter and continues with letters, digits or . : - _, not {short_repr(name)}"
        )
    is_class = isinstance(kind, type)
    if not is_class or not issubclass(kind, (Method, Refinement)):
        raise ParameterError(f"{short_repr(kind)} is not a subclass of Method or Refinement")
    other: type[Any] | None = METHODS.get(name) or REFINEMENTS.get(name)
    if name in BUILT_IN or (other is not None and _full_name(other) != _full_name(kind)):
        raise ParameterError(
            f"the name {name!r} belongs to {_full_name(other or kind)}", "choose another"
        )
    table: dict[str, Any] = METHODS if issubclass(kind, Method) else REFINEMENTS
    table[name] = kind


def _full_name(kind: type[Any]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def search_current_folder() -> None:
    """Let imports find modules in the current folder, as `python FILE` does and an installed script does not."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def import_extensions() -> None:
    """Import the modules of NOPPA_IMPORT, which register methods and refinements."""
    for module in filter(None, os.environ.get(EXTENSIONS, "").split(",")):
        search_current_folder()
        try:
            import_module(module.strip())
        except Exception as error:
            raise ParameterError(
                f"{EXTENSIONS} names {module.strip()!r}, which cannot be imported: {error}"
            ) from error


def find_class(table: Mapping[str, type[Any]], name: str) -> type[Any] | None:
    """Return the class of a name, registering it first if it is an entry point; None for an unknown name."""
    if name not in table:
        from importlib.metadata import entry_points

        for entry in entry_points(group=ENTRY_POINTS, name=name):
            register(name, entry.load())
    return table.get(name)


def method_class(name: str) -> type[Method]:
    """Return a method by its name, or import it from `package.module:Class`."""
    if known := find_class(METHODS, name):
        return known
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ParameterError(
            f"there is no method {name!r}",
            f"choose from {', '.join(METHODS)}, or give package.module:Class",
        )
    try:
        kind = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"the method {name!r} cannot be imported ({error})", "give package.module:Class"
        ) from error
    if not isinstance(kind, type) or not issubclass(kind, Method):
        raise ParameterError(f"{name} is not a subclass of noppa.Method")
    if kind not in METHODS.values():
        register(name, kind)
    return kind


def to_dict(part: Method | Refinement) -> dict[str, Any]:
    """Return a method or refinement as plain data: its registered name and its parameters."""
    table: Mapping[str, type[Any]] = METHODS if isinstance(part, Method) else REFINEMENTS
    name = next((name for name, kind in table.items() if kind is type(part)), None)
    if name is None:
        kind = type(part).__name__
        raise ParameterError(
            f"{short_repr(part)} cannot be saved, since nothing could load it",
            f"call noppa.register({kind.lower()!r}, {kind}) first",
        )
    values = parameter_values(part)
    for parameter, value in values.items():
        if not is_plain(value):
            raise ParameterError(
                f"{type(part).__name__} cannot be saved: its {parameter} is {short_repr(value)}",
                "a parameter is a number, a text, None, or a list of these",
            )
    return {"name": name, **values}


def parameter_values(part: Method | Refinement) -> dict[str, Any]:
    """Return the fields of a dataclass, or the attributes of any other object, by name."""
    if is_dataclass(part):
        return {field.name: getattr(part, field.name) for field in fields(part)}
    return dict(getattr(part, "__dict__", {}))


def is_plain(value: Any) -> bool:
    """Return whether JSON can store a parameter as it is."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return all(item is None or isinstance(item, (bool, int, float, str)) for item in items)
