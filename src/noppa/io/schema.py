"""Checks of the headers and arrays of saved folders, which are untrusted input.

A header field is declared with a check: `{"words": whole(1, MOST_ROWS)}`. An array is declared by its dtypes, its shape and the
range of its values: `{"labels": "i4 words+1 <k", "?idf": "f4|f8 words+1 positive"}`. A `?` marks an optional field or array.
A dimension without a known size takes that of the first array that has it: at least 1, or 0 if it is marked as in `text*`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.parameters import short_repr

Check = Callable[[Any], bool]

#: Row numbers have 32 bits, and one of them stands for the zero vector.
MOST_ROWS = 2**31 - 2
#: With larger values, a sum over a vector overflows float32.
LARGEST = 1e30
FLOATS = {"": (-LARGEST, LARGEST), "positive": (1 / LARGEST, LARGEST), "probability": (0.0, 1.0)}
BLOCK = 1 << 20


def whole(least: int, most: int) -> Check:
    """Accept integers from `least` to `most`; True and False are not integers here."""
    return lambda value: type(value) is int and least <= value <= most


def wholes(least: int, most: int, count: int | None = None) -> Check:
    """Accept lists of such integers, of length `count` if given."""
    return lambda value: (
        type(value) is list
        and count in (None, len(value))
        and set(map(type, value)) <= {int}
        and (not value or (least <= min(value) and max(value) <= most))
    )


def one_of(choices: Collection[str]) -> Check:
    """Accept one of some strings."""
    return lambda value: type(value) is str and value in choices


def maybe(check: Check) -> Check:
    """Accept None too."""
    return lambda value: value is None or check(value)


def _is(kind: type) -> Check:
    return lambda value: type(value) is kind


is_bool, is_text, is_object = _is(bool), _is(str), _is(dict)


def is_texts(value: Any) -> bool:
    return type(value) is list and set(map(type, value)) <= {str}


def is_named(value: Any) -> bool:
    """Whether a value is an object with a name."""
    return type(value) is dict and type(value.get("name")) is str


def is_checksum(value: Any) -> bool:
    return type(value) is str and len(value) == 64


def check_fields(header: Mapping[str, Any], fields: Mapping[str, Check], where: object) -> None:
    """Raise if a field of a header is missing or fails its check."""
    for name, check in fields.items():
        key = name.lstrip("?")
        if key not in header:
            if name == key:
                raise FileError(f"{where} is damaged: {key!r} is missing; copy the folder again")
        elif not check(header[key]):
            raise FileError(f"{where} is damaged: {key!r} is {short_repr(header[key])}")


def check_array(
    array: NDArray[Any], declared: str, sizes: dict[str, int], values: bool, file: Path
) -> None:
    """Raise if an array does not have the declared shape or values; add new dimensions to `sizes`.

    `values` is whether to check floats, which reads the whole file. Row numbers are always checked.
    """
    _, *names = declared.split()
    limits = names.pop() if names[-1] in FLOATS or names[-1].startswith("<") else ""
    fits = array.ndim == len(names)
    for size, name in zip(array.shape, names, strict=False):
        dimension, _, more = name.rstrip("*").partition("+")  # such as `words+1`
        size -= int(more or 0)
        expected = int(dimension) if dimension.isdigit() else sizes.get(dimension)
        if expected is None and (size >= 1 or name.endswith("*")):
            expected = sizes[dimension] = size
        fits &= expected == size
    if not fits:
        known = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise FileError(
            f"{file} is damaged: its shape is {array.shape}, expected ({', '.join(names)}) with {known}"
        )
    if limits.startswith("<"):
        check_range(array, 0, sizes[limits[1:]] - 1, file)
    elif array.dtype.kind == "b":
        check_range(array.view(np.uint8), 0, 1, file)
    elif array.dtype.kind == "f" and values:
        check_range(array, *FLOATS[limits], file)


def check_range(array: NDArray[Any], least: float, most: float, file: Path) -> None:
    """Raise if a number is not finite or not from `least` to `most`."""
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        # The minimum of float16 is slow; only its infinities and NaNs can be out of range, and their exponent bits are all set.
        if block.dtype == np.float16:
            block = block[(block.view(np.uint16) & 0x7C00) == 0x7C00]
        if not block.size:
            continue
        low, high = block.min().item(), block.max().item()
        if not (least <= low and high <= most):
            raise FileError(
                f"{file} is damaged: its numbers go from {low} to {high}, expected {least:g} to {most:g}"
            )


def check_bounds(bounds: NDArray[Any], length: int, file: Path) -> None:
    """Raise unless the bounds of texts rise from 0 to at most `length`."""
    inside = len(bounds) and bounds[0] == 0 and bounds[-1] <= length
    if not inside or not all(
        (np.diff(bounds[start : start + BLOCK + 1]) >= 0).all()
        for start in range(0, len(bounds) - 1, BLOCK)
    ):
        raise FileError(f"{file} is damaged: its numbers must rise from 0 to at most {length}")
