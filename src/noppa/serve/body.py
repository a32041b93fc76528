"""Fields of a body, checked: errors name the field, what it holds and what to send."""

from __future__ import annotations

from typing import Any

from noppa.serve.problems import invalid, too_large
from noppa.serve.settings import Settings

KINDS = {
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


def kind_of(value: Any) -> str:
    return KINDS.get(type(value), type(value).__name__)


def texts(fields: dict[str, Any], name: str, settings: Settings) -> list[str]:
    """One text or a list of texts, as a list."""
    if name not in fields:
        raise invalid(f"{name} is missing: send a string or an array of strings", name)
    value = fields[name]
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, list):
        raise invalid(f"{name} is {kind_of(value)}: send a string or an array of strings", name)
    if not value:
        raise invalid(f"{name} is an empty array: send at least one text", name)
    if len(value) > settings.max_inputs:
        raise too_large(
            f"{name} has {len(value)} texts and this server takes up to {settings.max_inputs} a request", name
        )  # fmt: skip
    for at, item in enumerate(value):
        if isinstance(item, str):
            if not item and settings.empty_input == "error":
                raise invalid(
                    f"{name}[{at}] is an empty string: leave it out, or start the server with --empty-input zero",
                    name,
                )
        elif _is_whole(item) or (isinstance(item, list) and all(map(_is_whole, item))):
            raise invalid(TOKENS.format(param=name), name, "token_input_unsupported")
        else:
            raise invalid(f"{name}[{at}] is {kind_of(item)}: every text must be a string", name)
    return value


def text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        found = kind_of(value) if name in fields else "missing"
        raise invalid(f"{name} is {found}: send a string", name)
    return value


def whole(fields: dict[str, Any], name: str, most: int | None = None, least: int = 1) -> int | None:
    """A whole number, None where absent or null."""
    value = fields.get(name)
    if value is None:
        return None
    if not _is_whole(value) or value < least or (most is not None and value > most):
        bounds = f"from {least} on" if most is None else f"from {least} to {most}"
        found = value if _is_whole(value) and abs(value) < 10**9 else kind_of(value)
        if _is_whole(value) and abs(value) >= 10**9:
            found = "larger than any limit" if value > 0 else "below every limit"
        raise invalid(f"{name} is {found}: send a whole number {bounds}", name)
    return int(value)


def number(fields: dict[str, Any], name: str, low: float, high: float) -> float | None:
    """A number within bounds, None where absent or null."""
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        found = f"{value:g}" if type(value) is float else kind_of(value)
        raise invalid(f"{name} is {found}: send a number from {low:g} to {high:g}", name)
    return float(value)


def flag(fields: dict[str, Any], name: str, default: bool) -> bool:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise invalid(f"{name} is {kind_of(value)}: send true or false", name)
    return value


def one_of(fields: dict[str, Any], name: str, choices: tuple[str, ...], default: str) -> str:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or value not in choices:
        found = repr(value[:50]) if isinstance(value, str) else kind_of(value)
        raise invalid(f"{name} is {found}: send {' or '.join(map(repr, choices))}", name)
    return value


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
