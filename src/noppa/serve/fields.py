"""Fields of a body, each declared once: how its value is checked, and the JSON schema that the OpenAPI document shows.

An error names the field, what it holds and what to send.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from noppa.serve.problems import Problem, invalid, too_large
from noppa.serve.settings import Settings

Schema = dict[str, Any]

NULL: Schema = {"type": "null"}

MISSING = object()
KINDS = {
    type(MISSING): "missing",
    type(None): "null",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    str: "a string",
    list: "an array",
    dict: "an object",
}
TOKENS = (
    "{param} holds token numbers, and this server takes text: with LangChain's OpenAIEmbeddings set "
    "check_embedding_ctx_length=False, elsewhere send strings"
)
#: Longer numbers are not quoted in an error.
QUOTED = 10**9


@dataclass(frozen=True)
class Field:
    """One field of a body.

    schema: what is allowed, as JSON schema; a function where that can change while the server runs.
    check: takes the value and the field's name; returns the value or raises a `Problem`.
    default: used where a field that is not required is absent or null.
    body: the fields of a field that is an object of declared ones.
    """

    schema: Schema | Callable[[], Schema]
    check: Callable[[Any, str], Any]
    required: bool = True
    default: Any = None
    body: Body | None = None

    def optional(self, default: Any = None) -> Field:
        return replace(self, required=False, default=default)

    def read(self, fields: Mapping[str, Any], name: str, key: str | None = None) -> Any:
        """The value of a field; key: where it is not at the top, its key in the object `fields`."""
        value = fields.get(key or name, MISSING)
        if not self.required and (value is None or value is MISSING):
            return self.default
        return self.check(value, name)

    def documented(self) -> Schema:
        schema = self.schema() if callable(self.schema) else self.schema
        if self.required or schema == NULL:
            return schema
        return {"anyOf": [schema, NULL]}


Body = Mapping[str, Field]


def checked(body: Body, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all fields of a body, by name."""
    return {name: field.read(fields, name) for name, field in body.items()}


def undeclared(body: Body, fields: Mapping[str, Any], path: str = "") -> list[str]:
    """The names of fields that a body does not declare, also of those inside its objects."""
    names = []
    for name, value in fields.items():
        field = body.get(name)
        if field is None:
            names.append(path + name)
        elif field.body is not None and isinstance(value, dict):
            names += undeclared(field.body, value, f"{path}{name}.")
    return names


def documented(body: Body, closed: bool = False) -> Schema:
    """The schema of a body; closed: without fields that nobody declared."""
    schema: Schema = {
        "type": "object",
        "properties": {name: field.documented() for name, field in body.items()},
        "required": [name for name, field in body.items() if field.required],
    }
    return {**schema, "additionalProperties": False} if closed else schema


# Kinds of fields


def text(least: int = 0) -> Field:
    """One text of at least so many characters."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str):
            raise invalid(f"{name} is {kind_of(value)}: send a string", name)
        if len(value) < least:
            raise invalid(f"{name} is an empty string: send some text", name)
        return value

    return Field({"type": "string", "minLength": least}, check)


def texts(settings: Settings) -> Field:
    """One text or a list of texts, within the limits of the server."""
    most, empty = settings.max_inputs, settings.empty_input == "zero"
    one: Schema = {"type": "string", "minLength": 0 if empty else 1}

    def check(value: Any, name: str) -> str | list[str]:
        if not isinstance(value, (str, list)):
            raise invalid(f"{name} is {kind_of(value)}: send a string or an array of strings", name)
        if value == []:
            raise invalid(f"{name} is an empty array: send at least one text", name)
        if isinstance(value, list) and len(value) > most:
            raise too_large(
                f"{name} has {len(value)} texts and this server takes up to {most} a request", name
            )
        for at, item in enumerate(as_list(value)):
            if not isinstance(item, str):
                raise _no_text(item, at, name)
            if not item and not empty:
                raise invalid(
                    f"{name}[{at}] is an empty string: leave it out, or start the server with --empty-input zero",
                    name,
                )
        return value

    many = {"type": "array", "items": one, "minItems": 1, "maxItems": most}
    return Field({"anyOf": [one, many]}, check)


def text_list(settings: Settings) -> Field:
    """A list of texts, within the limits of the server."""
    either = texts(settings)
    assert not callable(either.schema)

    def check(value: Any, name: str) -> list[str]:
        if not isinstance(value, list):
            raise invalid(f"{name} is {kind_of(value)}: send an array of strings", name)
        return list(either.check(value, name))

    return Field(either.schema["anyOf"][1], check)


def as_list(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _no_text(item: Any, at: int, name: str) -> Problem:
    if _is_whole(item) or (isinstance(item, list) and all(map(_is_whole, item))):
        return invalid(TOKENS.format(param=name), name, "token_input_unsupported")
    return invalid(f"{name}[{at}] is {kind_of(item)}: every text must be a string", name)


def lines(most: int) -> Field:
    """An array of strings, each of which may be empty."""

    def check(value: Any, name: str) -> list[str]:
        if not isinstance(value, list) or not value or {*map(type, value)} != {str}:
            raise invalid(f"{name} must be an array of at least one string", name)
        if len(value) > most:
            raise too_large(
                f"{name} has {len(value)} lines and this server keeps up to {most} for a browser",
                name,
            )
        return value

    items = {"type": "string"}
    return Field({"type": "array", "items": items, "minItems": 1, "maxItems": most}, check)


def whole(least: int, most: int) -> Field:
    """A whole number within bounds."""

    def check(value: Any, name: str) -> int:
        if not _is_whole(value) or not least <= value <= most:
            raise invalid(f"{name} is {_shown(value)}: send a whole number from {least} to {most}", name)  # fmt: skip
        return int(value)

    return Field({"type": "integer", "minimum": least, "maximum": most}, check)


def number(least: float, most: float) -> Field:
    """A number within bounds."""

    def check(value: Any, name: str) -> float:
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not real or not least <= value <= most:
            raise invalid(f"{name} is {_shown(value)}: send a number from {least:g} to {most:g}", name)  # fmt: skip
        return float(value)

    return Field({"type": "number", "minimum": least, "maximum": most}, check)


def flag(default: bool) -> Field:
    def check(value: Any, name: str) -> bool:
        if not isinstance(value, bool):
            raise invalid(f"{name} is {kind_of(value)}: send true or false", name)
        return value

    return Field({"type": "boolean"}, check).optional(default)


def record(body: Body) -> Field:
    """An object of declared fields."""

    def check(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise invalid(f"{name} is {kind_of(value)}: send an object", name)
        return {key: field.read(value, f"{name}.{key}", key) for key, field in body.items()}

    return Field(documented(body), check, body=body)


def one_of(choices: Sequence[str]) -> Field:
    def check(value: Any, name: str) -> str:
        if not isinstance(value, str) or value not in choices:
            held = repr(value[:50]) if isinstance(value, str) else kind_of(value)
            raise invalid(f"{name} is {held}: send {' or '.join(map(repr, choices))}", name)
        return value

    return Field({"enum": [*choices]}, check)


def unsupported(why: str) -> Field:
    """A field that other servers know: absent or null alone."""

    def check(value: Any, name: str) -> None:
        raise invalid(f"{name} {why}: leave it out", name)

    return Field(NULL, check).optional()


def ignored() -> Field:
    """A field that clients send and nothing here needs."""
    return Field({}, lambda value, name: None).optional()


def kind_of(value: Any) -> str:
    return KINDS.get(type(value), type(value).__name__)


def _shown(value: Any) -> str:
    """A number that is short enough to quote, else what it is."""
    if type(value) is float:
        return f"{value:g}"
    if not _is_whole(value):
        return kind_of(value)
    if abs(value) < QUOTED:
        return str(value)
    return "larger than any limit" if value > 0 else "below every limit"


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
