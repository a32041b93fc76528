"""What stands beside a text: its id, and its metadata, as JSON and as values that SQLite compares."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import numpy as np

from noppa.errors import InputError, ParameterError
from noppa.parameters import short_repr
from noppa.text.characters import DROP, SPACE, character_kind, replace_surrogates

#: SQLite's whole numbers.
LEAST, MOST = -(1 << 63), (1 << 63) - 1
#: The most names in the metadata of one segment.
MOST_FIELDS = 1000
#: How deep lists and dicts may be nested.
MOST_DEPTH = 8

Metadata = dict[str, Any]


def checked_ids(ids: Any, count: int | None = None) -> list[str]:
    """Some ids as texts, each once; a single one is a list of one."""
    single = isinstance(ids, (str, int, np.integer))
    if not single and not isinstance(ids, Iterable):
        raise InputError(f"ids must be a list of str or whole numbers, not {short_repr(ids)}")
    named = [_checked_id(one) for one in ([ids] if single else ids)]
    if count is not None and len(named) != count:
        raise InputError(f"{count} texts need as many ids, not {len(named)}")
    repeated, times = next(iter(Counter(named).most_common(1)), ("", 0))
    if times > 1:
        raise ParameterError(f"the id {repeated!r} is given twice")
    return named


def _checked_id(one: Any) -> str:
    is_number = isinstance(one, (int, np.integer)) and not isinstance(one, bool)
    if not is_number and not isinstance(one, str):
        raise ParameterError(f"an id must be a str or a whole number, not {short_repr(one)}")
    name = str(one)
    if not name or not all(map(_is_visible, name)):
        raise ParameterError(f"an id must be printable characters, not {short_repr(one)}")
    return name


def _is_visible(character: str) -> bool:
    """Whether a character shows, with every Python alike: no control character, no space but the plain one, no half of a pair."""
    hidden = character_kind(character) in (SPACE, DROP)
    return character == " " or not (hidden or character != replace_surrogates(character))


def checked_metadata(metadata: Any, count: int) -> list[Metadata]:
    """One dict for each text: of plain values, without those that are missing."""
    if metadata is None:
        return [{} for _ in range(count)]
    if isinstance(metadata, (str, Mapping)) or not isinstance(metadata, Sequence):
        raise InputError(
            f"metadata must be a list of dicts, one a text, not {short_repr(metadata)}"
        )
    if len(metadata) != count:
        raise InputError(f"{count} texts need as many dicts of metadata, not {len(metadata)}")
    return [_checked(item, at) for at, item in enumerate(metadata)]


def _checked(item: Any, at: int) -> Metadata:
    if item is None:
        return {}
    if not isinstance(item, Mapping):
        raise InputError(f"metadata {at} is {short_repr(item)}: it must be a dict")
    checked = {}
    for name, value in item.items():
        if not isinstance(name, str) or not name:
            raise InputError(
                f"metadata {at} has the name {short_repr(name)}: a name must be a str that is not empty"
            )
        found = plain(value, f"{name!r} of metadata {at}")
        if found is not None:
            checked[name] = found
    return checked


def plain(value: Any, what: str, depth: int = 0) -> Any:
    """A scalar, or a list or dict of such: what JSON can hold."""
    if depth > MOST_DEPTH:
        raise ParameterError(f"{what} is nested too deeply: up to {MOST_DEPTH} levels are stored")
    if isinstance(value, Mapping):
        return {str(name): plain(item, what, depth + 1) for name, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [plain(item, what, depth + 1) for item in value]
    return scalar(value, what)


def scalar(value: Any, what: str) -> Any:
    """A value that SQLite can compare, None for a missing one (NaN, NA); dates are texts that sort as they do."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, Decimal):
        value = float(value)
    if isinstance(value, float) and not math.isinf(value):
        return None if math.isnan(value) else value
    if isinstance(value, int) and LEAST <= value <= MOST:
        return value
    raise ParameterError(
        f"{what} is {short_repr(value)}: use a text, a finite number (whole ones of 64 bits), True, False, a date, or a list of these"
    )


def dumped(metadata: Metadata) -> str | None:
    """Metadata as JSON, None where there are none."""
    return json.dumps(metadata) if metadata else None


def loaded(content: str | None) -> Metadata:
    return {} if content is None else dict(json.loads(content))


def compared(value: Any) -> Any:
    """What a filter sees of a value; lists and dicts are there, but equal to nothing."""
    if isinstance(value, (list, dict)):
        return b""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
