"""Validation of parameters: each check returns a plain Python value that JSON can hold, or raises `ParameterError`.

Upper bounds of sizes are declared here, so that no product of sizes overflows in the native code.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import ParameterError

Check = Callable[[Any, str], Any]

#: The longest vector of an encoder: one MiB in float32.
MOST_DIMENSIONS = 1 << 18
#: The longest vector that can be refined: its moments are a square table of float64, 8 GiB.
MOST_REFINED = 1 << 15
#: Weights and powers outside these bounds overflow or vanish in float32.
SMALLEST, LARGEST = 1e-30, 1e30
LONGEST_REPR = 60


def whole(value: Any, name: str, least: int = 0, most: int = sys.maxsize) -> int:
    """Return a whole number of any integer type, from `least` to `most`."""
    try:
        number = None if isinstance(value, (bool, np.bool_)) else operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least:
        raise ParameterError(
            f"{name} must be a whole number of at least {least}, not {short_repr(value)}"
        )
    if number > most:
        raise ParameterError(f"{name} must be at most {most}, not {short_repr(value)}")
    return int(number)


def number(value: Any, name: str, least: float, most: float) -> float:
    """Return a number of any real type, from `least` to `most`."""
    checked = real(value)
    if not least <= checked <= most:
        raise ParameterError(
            f"{name} must be a number from {least:g} to {most:g}, not {short_repr(value)}"
        )
    return checked


def positive(value: Any, name: str) -> float:
    """Return a number above 0 that is neither too small nor too large for float32."""
    if not 0 < real(value) < math.inf:
        raise ParameterError(f"{name} must be a number above 0, not {short_repr(value)}")
    return number(value, name, SMALLEST, LARGEST)


def boolean(value: Any, name: str) -> bool:
    """Return True or False, of Python's or NumPy's type."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, not {short_repr(value)}")
    return bool(value)


def one_of(value: Any, name: str, choices: Any) -> Any:
    """Return one of the choices."""
    # Arrays compare element by element, so only scalars are compared.
    comparable = isinstance(value, (str, int, np.bool_))
    for choice in choices:
        if value is choice or (comparable and value == choice):
            return choice
    listed = ", ".join("None" if choice is None else str(choice) for choice in choices)
    raise ParameterError(f"{name} must be one of {listed}, not {short_repr(value)}")


def numbers(value: Any, name: str) -> NDArray[Any]:
    """Return an array of real numbers of any type and shape, none of them masked."""
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = array.astype(float)  # None becomes NaN
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"{name} must be an array of numbers, not {short_repr(value)}"
        ) from None
    if array.dtype.kind not in "fiu":
        raise ParameterError(f"{name} of type {array.dtype} holds no numbers")
    # numpy.ma doubles the time of a load: import it only for an object with a mask.
    if hasattr(value, "mask") and np.ma.is_masked(value):
        raise ParameterError(f"{name} has masked values: fill them first")
    return array


def path_of(value: Any) -> Path:
    """Return the path of a file or folder."""
    if not isinstance(value, (str, PathLike)) or not isinstance(fspath(value), str):
        raise ParameterError(f"a path must be a str or a pathlib.Path, not {short_repr(value)}")
    path = Path(value)
    if "\0" in str(path):
        raise ParameterError(f"{short_repr(value)} is not a path: it contains a null character")
    return path


def optional(check: Check) -> Check:
    """Return the same check, which also accepts None."""
    return lambda value, name: None if value is None else check(value, name)


#: A seed for `np.random` and the native trainer.
seed_number: Check = partial(whole, most=(1 << 64) - 1)
#: A number of components, clusters, coefficients or dimensions, of at least 1 or at least 0.
positive_count: Check = partial(whole, least=1, most=MOST_DIMENSIONS)
count: Check = partial(whole, most=MOST_DIMENSIONS)


def validate_fields(frozen: Any, **checks: Check) -> None:
    """Replace the named fields of a frozen dataclass by their checked values."""
    for name, check in checks.items():
        object.__setattr__(frozen, name, check(getattr(frozen, name), name))


def short_repr(value: Any) -> str:
    """Return a short repr of anything, for an error message."""
    try:
        text = " ".join(repr(value).split())
    # An int of more than 4,300 digits raises ValueError, and the repr of a user's class may raise anything.
    except Exception:
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST_REPR else text[: LONGEST_REPR - 1] + "…"


def real(value: Any) -> float:
    """Return a single real number, NaN for anything else."""
    if isinstance(value, (bool, np.bool_, str, bytes, np.ndarray)):
        return math.nan
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
