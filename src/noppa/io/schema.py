"""The schema of saved folders, declared as plain data and checked once, on opening.

A header field is declared with its allowed values, as in `{"words": whole(1, MOST)}`. An array is declared in one line, as in
`{"labels": "i4 words+1 <k", "?idf": "f4|f8 words+1 positive"}`: its dtypes, its shape, and the range of its values. `?` before
a name marks an optional one. A dimension that is not known yet is set by the first array that has it; it is at least 1,
unless it is marked as in `text*`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError

#: Row numbers are 32 bits wide, and one of them is reserved for the vector of zeros.
MOST_ROWS = 2**31 - 2
#: With larger values a sum over a vector overflows float32.
LARGEST = 1e30
FLOATS = {"": (-LARGEST, LARGEST), "positive": (1 / LARGEST, LARGEST), "probability": (0.0, 1.0)}
BLOCK = 1 << 20


class Field(NamedTuple):
    """The allowed values of a header field, as a predicate and in words."""

    holds: Callable[[Any], bool]
    meaning: str


def whole(least: int, most: int) -> Field:
    return Field(
        lambda value: type(value) is int and least <= value <= most,
        f"a whole number from {least} to {most}",
    )


def wholes(least: int, most: int, count: int | None = None) -> Field:
    one = whole(least, most)
    return Field(
        lambda value: (
            type(value) is list and count in (None, len(value)) and all(map(one.holds, value))
        ),
        f"a list of {'' if count is None else f'{count} '}whole numbers from {least} to {most}",
    )


def one_of(choices: Collection[str]) -> Field:
    return Field(
        lambda value: type(value) is str and value in choices, f"one of {', '.join(choices)}"
    )


def maybe(field: Field) -> Field:
    return Field(lambda value: value is None or field.holds(value), f"null or {field.meaning}")


TEXT = Field(lambda value: type(value) is str, "a text")
TEXTS = Field(lambda value: type(value) is list and all(map(TEXT.holds, value)), "a list of texts")
NAMED = Field(
    lambda value: type(value) is dict and type(value.get("name")) is str, "an object with a name"
)
OBJECT = Field(lambda value: type(value) is dict, "an object")
NAMED_ONES = Field(
    lambda value: type(value) is list and all(map(NAMED.holds, value)), "a list of named objects"
)
CHECKSUM = Field(lambda value: type(value) is str and len(value) == 64, "a checksum")


def check_fields(header: Mapping[str, Any], fields: Mapping[str, Field], where: object) -> None:
    """Refuse a header in which a field is missing or has a value that is not allowed; `?` marks an optional field."""
    for name, field in fields.items():
        key = name.lstrip("?")
        if key not in header:
            if name == key:
                raise FileError(f"{where} is damaged: it lacks {key!r}; copy the folder again")
        elif not field.holds(header[key]):
            raise FileError(
                f"{where} is damaged: {key!r} is {_short(header[key])} where {field.meaning} belongs"
            )


def types_of(declared: str) -> str:
    return declared.split()[0]


def check_array(
    array: NDArray[Any], declared: str, sizes: dict[str, int], values: bool, file: Path
) -> None:
    """Refuse an array whose shape or values are not as declared; new dimensions are added to `sizes`.

    values: whether floats are checked, which reads the whole file. Row numbers always are.
    """
    _, *names = declared.split()
    value = names.pop() if names[-1] in FLOATS or names[-1].startswith("<") else ""
    if array.ndim != len(names) or not all(map(_fits, array.shape, names, [sizes] * array.ndim)):
        known = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        raise FileError(
            f"{file} is damaged: it has the shape {array.shape} where ({', '.join(names)}) belongs, with {known}"
        )
    if value.startswith("<"):
        check_numbers(array, sizes[value[1:]], file)
    elif array.dtype.kind == "b":
        check_numbers(array.view(np.uint8), 2, file)
    elif array.dtype.kind == "f" and values:
        check_floats(array, *FLOATS[value], file)


def _fits(size: int, name: str, sizes: dict[str, int]) -> bool:
    plain, _, more = name.rstrip("*").partition("+")
    own = size - int(more or 0)
    if plain.isdigit():
        return own == int(plain)
    if plain not in sizes and (own >= 1 or name.endswith("*")):
        sizes[plain] = own
    return sizes.get(plain) == own


def check_numbers(array: NDArray[Any], limit: int, file: Path) -> None:
    """Refuse integers outside 0 <= value < limit."""
    if array.size and not (array.min() >= 0 and array.max() < limit):
        raise FileError(
            f"{file} is damaged: it holds numbers from {array.min()} to {array.max()} where they must stay below {limit}"
        )


def check_floats(array: NDArray[Any], least: float, most: float, file: Path) -> None:
    """Refuse floats outside a range, or not finite."""
    flat = array.reshape(-1)
    for start in range(0, len(flat), BLOCK):
        block = flat[start : start + BLOCK]
        # The minimum of float16 is slow; whether a value is finite is in its exponent bits.
        if block.dtype == np.float16:
            block = block[(block.view(np.uint16) & 0x7C00) == 0x7C00]
        if not block.size:
            continue
        low, high = float(block.min()), float(block.max())
        if not (least <= low and high <= most):
            bad = high if least <= low else low
            raise FileError(
                f"{file} is damaged: it holds {bad} where numbers from {least:g} to {most:g} belong"
            )


def check_bounds(bounds: NDArray[Any], length: int, file: Path) -> None:
    """Refuse bounds of texts that do not rise from 0 to at most `length`."""
    inside = len(bounds) and bounds[0] == 0 and bounds[-1] <= length
    if not inside or not all(
        (bounds[at + 1 : at + 1 + BLOCK] >= bounds[at : at + BLOCK][: len(bounds) - at - 1]).all()
        for at in range(0, len(bounds) - 1, BLOCK)
    ):
        raise FileError(
            f"{file} is damaged: its numbers must rise from 0 to at most {length}; copy it again"
        )


def _short(value: Any) -> str:
    from reprlib import repr as short  # limits nesting and length

    return short(value)
