"""Filters over metadata: `{"lang": "en", "year": {">": 2020}}`, from Python or parsed from a command line, as SQL.

Names and values of the user reach SQLite as parameters only; the SQL itself is made of the constants here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from noppa.errors import ParameterError
from noppa.parameters import short_repr
from noppa.search.metadata import compared, scalar

#: Numbers and texts are never compared with each other: SQLite would call every text the larger.
NUMBER, STRING = "typeof({column}) IN ('integer', 'real') AND ", "typeof({column}) = 'text' AND "
COMPARED = ("<", "<=", ">", ">=")
OPERATORS = ("=", "!=", *COMPARED, "in", "contains", "missing")
MOST_VALUES = 10_000

Where = Mapping[str, Any]


class Condition(NamedTuple):
    """One comparison of a field."""

    field: str
    operator: str
    value: Any


def conditions_of(where: Where | None) -> list[Condition]:
    """The checked conditions of a filter, all of which must hold; a plain value means `=`, a list `in`, None `missing`."""
    if where is None:
        return []
    if not isinstance(where, Mapping):
        raise ParameterError(
            f'where must be a dict such as {{"year": {{">": 2020}}}}, not {short_repr(where)}'
        )
    conditions = []
    for field, wanted in where.items():
        if not isinstance(field, str):
            raise ParameterError(f"a field of where must be a str, not {short_repr(field)}")
        pairs = wanted.items() if isinstance(wanted, Mapping) else [_implied(wanted)]
        conditions += [_checked(field, operator, value) for operator, value in pairs]
    return conditions


def _implied(value: Any) -> tuple[str, Any]:
    if value is None:
        return "missing", True
    return ("in" if isinstance(value, (list, tuple, set, frozenset)) else "="), value


def _checked(field: str, operator: Any, value: Any) -> Condition:
    if operator not in OPERATORS:
        raise ParameterError(
            f"{field!r} has the operator {short_repr(operator)}: choose from {', '.join(OPERATORS)}"
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
        return Condition(field, operator, [_scalar(field, item) for item in value])
    if operator == "contains" and not isinstance(value, str):
        raise ParameterError(f"contains of {field!r} needs a text, not {short_repr(value)}")
    return Condition(field, operator, _scalar(field, value))


def _scalar(field: str, value: Any) -> Any:
    found = scalar(value, f"the value of {field!r} in where")
    if found is None:
        raise ParameterError(
            f"{field!r} is compared with a text, a number, True or False, not {short_repr(value)}"
        )
    return compared(found)


def sql_of(condition: Condition, column: str) -> tuple[str, list[Any]]:
    """A condition as SQL over a column of ours, and its parameters."""
    operator, value = condition.operator, condition.value
    if operator == "missing":
        return f"{column} IS {'' if value else 'NOT '}NULL", []
    if operator == "in":
        return f"{column} IN ({', '.join('?' * len(value))})", value
    if operator == "contains":
        return STRING.format(column=column) + f"instr({column}, ?) > 0", [value]
    if operator in COMPARED:
        kind = STRING if isinstance(value, str) else NUMBER
        return kind.format(column=column) + f"{column} {operator} ?", [value]
    return f"{column} IS {'' if operator == '=' else 'NOT '}?", [value]


# The command line

_TOKEN = re.compile(
    r"""\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<operator><=|>=|!=|=|<|>)|(?P<mark>[(),])|(?P<bare>[^\s"'(),<>=!]+))"""
)
_INTEGER, _REAL = re.compile(r"[+-]?\d{1,18}"), re.compile(r"[+-]?(\d+\.\d*|\.?\d+)([eE][+-]?\d+)?")
EXAMPLE = "for example: year > 2020 and lang = en"


class _Token(NamedTuple):
    text: str
    kind: str


def parsed_where(expressions: Sequence[str]) -> dict[str, Any]:
    """The filter that some expressions such as `year > 2020 and lang in (en, de)` stand for; all must hold."""
    where: dict[str, Any] = {}
    for expression in expressions:
        tokens = _tokens(expression)
        while tokens:
            field, operator, value = _condition(tokens, expression)
            if operator in where.setdefault(field, {}):
                raise ParameterError(f"{field!r} is compared by {operator} twice in --where")
            where[field][operator] = value
            if tokens and (_is_word(tokens.pop(0), "and") is False or not tokens):
                raise _unclear(expression)
    return where


def _tokens(expression: str) -> list[_Token]:
    tokens, at = [], 0
    while at < len(expression.rstrip()):
        match = _TOKEN.match(expression, at)
        if match is None:
            raise _unclear(expression)
        tokens.append(_Token(match[match.lastgroup or 0], match.lastgroup or ""))
        at = match.end()
    if not tokens:
        raise _unclear(expression)
    return tokens


def _condition(tokens: list[_Token], expression: str) -> tuple[str, str, Any]:
    try:
        field = _text(tokens.pop(0))
        operator = tokens.pop(0)
        if _is_word(operator, "not") and _is_word(tokens[0], "missing"):
            return field, tokens.pop(0).text, False
        if _is_word(operator, "missing"):
            return field, operator.text, True
        if _is_word(operator, "in"):
            return field, operator.text, _listed(tokens)
        if operator.kind != "operator" and not _is_word(operator, "contains"):
            raise _unclear(expression)
        value = tokens.pop(0)
        return field, operator.text, _text(value) if operator.text == "contains" else _value(value)
    except (IndexError, ValueError):
        raise _unclear(expression) from None


def _listed(tokens: list[_Token]) -> list[Any]:
    values = []
    _expect(tokens.pop(0), "(")
    while True:
        values.append(_value(tokens.pop(0)))
        mark = tokens.pop(0)
        if mark.kind == "mark" and mark.text == ")":
            return values
        _expect(mark, ",")


def _expect(token: _Token, mark: str) -> None:
    if token != _Token(mark, "mark"):
        raise ValueError


def _is_word(token: _Token, word: str) -> bool:
    return token == _Token(word, "bare")


def _text(token: _Token) -> str:
    if token.kind in ("operator", "mark"):
        raise ValueError
    return token.text


def _value(token: _Token) -> Any:
    text = _text(token)
    if token.kind != "bare":
        return text
    if text in ("true", "false"):
        return text == "true"
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _REAL.fullmatch(text) else text


def _unclear(expression: str) -> ParameterError:
    return ParameterError(f"--where {short_repr(expression)} cannot be read: {EXAMPLE}")
