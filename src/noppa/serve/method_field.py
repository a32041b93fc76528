"""The field `method` of a request: another method over the served words, and those of its parameters that may be set."""

from __future__ import annotations

import inspect
from typing import Any

from noppa import METHODS
from noppa.errors import NoppaError
from noppa.methods.method import TEXT as LEARNS_FROM_TEXT
from noppa.methods.noppa import PAIR_KERNELS
from noppa.methods.registry import to_dict
from noppa.serve.fields import Field, Schema, kind_of, whole
from noppa.serve.problems import Problem, invalid

#: The name of a method and its parameters in order; empty for the method of the served encoder.
Choice = tuple[Any, ...]

MOST_PARTS, MOST_K, LONGEST_PART = 8, 64, 10


def _scalar(value: Any, name: str) -> Any:
    """Anything but arrays and objects: the method itself checks the rest."""
    if isinstance(value, (list, dict)):
        raise invalid(f"{name} is {kind_of(value)}: send a number or a name", name)
    return value


def _parts(value: Any, name: str) -> Any:
    short = isinstance(value, list) and 1 <= len(value) <= MOST_PARTS
    if not short or not all(isinstance(part, str) and len(part) < LONGEST_PART for part in value):
        raise invalid(f"{name} must be 1 to {MOST_PARTS} names of parts", name)
    return value


#: Parameters that a server bounds, or that the document can say more about; others are numbers or names.
PARAMETERS = {
    "a": Field({"type": ["number", "null"], "exclusiveMinimum": 0}, _scalar),
    "k": whole(0, MOST_K),
    "parts": Field(
        {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": MOST_PARTS},
        _parts,
    ),
    "position": Field({"enum": ["paper", "reference", None]}, _scalar),
    "kernel": Field({"enum": [*PAIR_KERNELS]}, _scalar),
}
OTHER = Field({"type": ["number", "string", "boolean", "null"]}, _scalar)


def offered() -> dict[str, dict[str, Any]]:
    """Methods to choose from, registered ones too; each with the parameters that may be set, and their defaults.

    Not those that train on text, which takes longer than anybody waits for a page, nor those that cannot do without
    parameters of their own.
    """
    choices = {}
    for name, kind in METHODS.items():
        try:
            method = kind()
            if method.learning != LEARNS_FROM_TEXT:
                values = to_dict(method)
                choices[name] = {parameter: values[parameter] for parameter in method.settable}
        except (NoppaError, TypeError, ValueError):
            continue
    return choices


def summary_of(name: str) -> str:
    """The first paragraph of a method's documentation; empty where nobody wrote one."""
    kind = METHODS[name]
    written = inspect.cleandoc(kind.__doc__ or "").partition("\n\n")[0]
    # A dataclass without documentation gets its signature for one.
    return "" if written.startswith(f"{kind.__name__}(") else " ".join(written.split())


def method_field() -> Field:
    return Field(_schema, _checked).optional(())


def _schema() -> Schema:
    choices = offered()
    parameters = dict.fromkeys(parameter for defaults in choices.values() for parameter in defaults)
    return {
        "type": "object",
        "description": "Another method over the served words; the served encoder where absent.",
        "properties": {
            "name": {"enum": [*choices]},
            **{parameter: PARAMETERS.get(parameter, OTHER).documented() for parameter in parameters},
        },
        "required": ["name"],
        "additionalProperties": False,
    }  # fmt: skip


def _checked(method: Any, field: str) -> Choice:
    choices = offered()
    name = method.get("name") if isinstance(method, dict) else None
    if not isinstance(name, str) or name not in choices:
        held = "without a known name" if isinstance(method, dict) else kind_of(method)
        raise invalid(
            f"{field} is {held}: send an object whose name is one of {', '.join(choices)}, or leave it out",
            field,
        )
    parameters = {key: value for key, value in method.items() if key != "name"}
    allowed = choices[name]
    for parameter, value in parameters.items():
        if parameter not in allowed:
            raise invalid(
                f"{field}.{parameter[:40]} is not a parameter here: this method has {', '.join(allowed) or 'none'}",
                field,
            )
        try:
            PARAMETERS.get(parameter, OTHER).check(value, f"{field}.{parameter}")
        except Problem as problem:
            problem.param = field
            raise
    try:
        METHODS[name](**parameters)
    except (NoppaError, TypeError, ValueError) as error:
        raise invalid(f"{field}: {error}", field) from None
    return (name, *sorted((key, _frozen(value)) for key, value in parameters.items()))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
