"""Checks of the numbers that users give."""

from __future__ import annotations

import math
import operator
from typing import Any

from noppa.errors import ParameterError


def whole(value: Any, name: str, least: int = 0) -> int:
    """A whole number of any integer type, at least `least`."""
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise ParameterError(f"{name} must be a whole number from {least} on, not {value!r}")
    return int(number)


def positive(value: Any, name: str) -> float:
    """A finite number above 0 of any real type."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number < math.inf:
        raise ParameterError(f"{name} must be a number above 0, not {value!r}")
    return number


def one_of(value: Any, name: str, choices: Any) -> Any:
    """One of the named choices."""
    if value not in choices:
        listed = ", ".join("None" if choice is None else str(choice) for choice in choices)
        raise ParameterError(f"{name} must be one of {listed}, not {value!r}")
    return value
