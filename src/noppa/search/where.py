"""Filters over metadata: `{"lang": "en", "year": {">": 2020}}`, or `lang = en and year > 2020` as an expression.

Names and values of the user reach SQLite only as parameters; the SQL itself consists of the constants here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from noppa.errors import ParameterError
from noppa.parameters import short_repr

#: Numbers and strings are never compared with each other: to SQLite every string is larger than every number.
NUMBER, STRING = "typeof({column}) IN ('integer', 'real') AND ", "typeof({column}) = 'text' AND "
ORDERED = ("<", "<=", ">", ">=")
OPERATORS = ("=", "!=", *ORDERED, "in", "contains", "missing")
MOST_VALUES = 10_000
#: The range of SQLite's integers.
LEAST, MOST = -(1 << 63), (1 << 63) - 1

Where = Mapping[str, Any]


class Condition(NamedTuple):
    """One comparison of a field."""

    field: str
    operator: str
    value: Any

    def sql(self, column: str) -> tuple[str, list[Any]]:
        """Return the condition as SQL over a column of ours, and its parameters."""
        operator, value = self.operator, self.value
        if operator == "missing":
            return f"{column} IS {'' if value else 'NOT '}NULL", []
        if operator == "in":
            return f"{column} IN ({', '.join('?' * len(value))})", value
        if operator == "contains":
            return STRING.format(column=column) + f"instr({column}, ?) > 0", [value]
        if operator in ORDERED:
            kind = STRING if isinstance(value, str) else NUMBER
            return kind.format(column=column) + f"{column} {operator} ?", [value]
        return f"{column} IS {'' if operator == '=' else 'NOT '}?", [value]


def parse_where(where: Where | None) -> list[Condition]:
    """Return the conditions of a filter, all of which must hold; a plain value means `=`, a list `in`, None `missing`."""
    if where is None:
        return []
    if not isinstance(where, Mapping):
        raise ParameterError(
            f'where must be a dict such as {{"year": {{">": 2020}}}}, not {short_repr(where)}'
        )
    conditions = []
    for field, wanted in where.items():
        if not isinstance(field, str):
            raise ParameterError(f"a field in where must be a string, not {short_repr(field)}")
        if wanted is None:
            wanted = {"missing": True}
        elif not isinstance(wanted, Mapping):
            wanted = {"in" if isinstance(wanted, (list, tuple, set, frozenset)) else "=": wanted}
        conditions += [_checked(field, operator, value) for operator, value in wanted.items()]
    return conditions


def _checked(field: str, operator: Any, value: Any) -> Condition:
    if operator not in OPERATORS:
        raise ParameterError(
            f"{field!r} has the operator {short_repr(operator)}",
            f"use one of {', '.join(OPERATORS)}",
        )
    if operator == "missing":
        if not isinstance(value, bool):
            raise ParameterError(
                f"missing of {field!r} must be True or False, not {short_repr(value)}"
            )
        return Condition(field, operator, value)
    if operator == "in":
        if isinstance(value, str) or not isinstance(value, (Sequence, set, frozenset)):
            raise ParameterError(f"in of {field!r} needs a list of values, not {short_repr(value)}")
        if len(value) > MOST_VALUES:
            raise ParameterError(f"in of {field!r} has {len(value)} values, at most {MOST_VALUES}")
        return Condition(field, operator, [_comparable(field, item) for item in value])
    if operator == "contains" and not isinstance(value, str):
        raise ParameterError(f"contains of {field!r} needs a string, not {short_repr(value)}")
    return Condition(field, operator, _comparable(field, value))


def _comparable(field: str, value: Any) -> Any:
    plain = plain_scalar(value, f"the value of {field!r} in where")
    if plain is None:
        raise ParameterError(
            f"{field!r} can be compared with a string, a number, True or False, not {short_repr(value)}"
        )
    return comparable(plain)


def plain_scalar(value: Any, name: str) -> Any:
    """Return a value that SQLite can compare, None if it is missing (NaN, NA); a date becomes a string that sorts alike."""
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
        f"{name} is {short_repr(value)}",
        "use a string, a finite number (integers of 64 bits), True, False, a date, or a list of these",
    )


def comparable(value: Any) -> Any:
    """Return what a filter compares: lists and dicts are present, but equal to nothing."""
    if isinstance(value, (list, dict)):
        return b""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


# Expressions

_BARE = r"""[^\s"'(),<>=!]"""
#: A quoted string, or a bare word that does not end in the middle.
_WORD = rf"""(?:"[^"]*"|'[^']*'|{_BARE}+(?!{_BARE}))"""
_CONDITION = re.compile(
    rf"""\s*(?P<field>{_WORD})\s*(?:
        (?P<missing>(?:not\s+)?missing(?!{_BARE}))
        |in\s*\(\s*(?P<list>{_WORD}(?:\s*,\s*{_WORD})*)\s*\)
        |(?P<operator><=|>=|!=|=|<|>|contains(?!{_BARE}))\s*(?P<value>{_WORD})
    )\s*(?P<more>and(?!{_BARE})|$)""",
    re.VERBOSE,
)
_INTEGER, _REAL = re.compile(r"[+-]?\d{1,18}"), re.compile(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?")
EXAMPLE = "for example: year > 2020 and lang = en"


def parse_expressions(expressions: Sequence[str]) -> dict[str, Any]:
    """Return the filter for expressions such as `year > 2020 and lang in (en, de)`, all of which must hold."""
    where: dict[str, Any] = {}
    for expression in expressions:
        position, more = 0, True
        while more:
            match = _CONDITION.match(expression, position)
            if match is None:
                raise ParameterError(f"cannot parse the filter {short_repr(expression)}", EXAMPLE)
            field, operator, value = _unquoted(match["field"]), match["operator"], match["value"]
            if match["missing"]:
                operator, value = "missing", not match["missing"].startswith("not")
            elif match["list"]:
                operator, value = "in", [_value(word) for word in re.findall(_WORD, match["list"])]
            else:
                value = _unquoted(value) if operator == "contains" else _value(value)
            if operator in where.setdefault(field, {}):
                raise ParameterError(f"{field!r} is compared by {operator} twice")
            where[field][operator] = value
            position, more = match.end(), bool(match["more"])
    return where


def _unquoted(word: str) -> str:
    return word[1:-1] if word[0] in "\"'" else word


def _value(word: str) -> Any:
    if word[0] in "\"'":
        return word[1:-1]
    if word in ("true", "false"):
        return word == "true"
    if _INTEGER.fullmatch(word):
        return int(word)
    return float(word) if _REAL.fullmatch(word) else word
