"""Marks what other folders of noppa call and users should not."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])


def internal(function: Function) -> Function:
    """A decorator of public methods of public classes: the reference leaves them out, and they may change at any time."""
    return function
