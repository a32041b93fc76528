"""Methods and refinements of strangers, which have the one function that counts and need nothing else of our classes."""

from __future__ import annotations

from typing import Any

from noppa.methods.protocol import NUMPY_FORMS, Method, last_defined
from noppa.refine import Refinement


def _is_there(kind: type[Any], name: str) -> bool:
    return any(name in vars(one) for one in kind.__mro__)


def _taken_over(target: Method | Refinement, own: Any, base: type[Any]) -> None:
    """Whatever of our base class's public names the stranger has too, in place of our defaults."""
    for name, value in vars(base).items():
        if not name.startswith("_") and not isinstance(value, property) and hasattr(own, name):
            setattr(target, name, getattr(own, name))


class ForeignMethod(Method):
    """A stranger's object with `pool`, `terms` or `pooled`."""

    def __init__(self, own: Any) -> None:
        self.own = own
        _taken_over(self, own, Method)

    def __repr__(self) -> str:
        return repr(self.own)

    @staticmethod
    def takes(kind: type[Any]) -> bool:
        return any(_is_there(kind, name) for name in NUMPY_FORMS)

    @property
    def form(self) -> str:
        return last_defined(type(self.own), NUMPY_FORMS)

    def __reduce__(self) -> tuple[Any, ...]:
        return (ForeignMethod, (self.own,))


class ForeignRefinement(Refinement):
    """A stranger's object with `fit`."""

    def __init__(self, own: Any) -> None:
        self.own = own
        _taken_over(self, own, Refinement)

    def __repr__(self) -> str:
        return repr(self.own)

    @staticmethod
    def takes(kind: type[Any]) -> bool:
        return _is_there(kind, "fit")

    def __reduce__(self) -> tuple[Any, ...]:
        return (ForeignRefinement, (self.own,))
