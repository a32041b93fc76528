"""The options of `noppa serve` from elsewhere: a TOML file, and the environment as NOPPA_SERVE_… .

What stands on the command line counts before the environment, the environment before the file, the file before defaults.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

from noppa.errors import FileError, ParameterError
from noppa.extras import needs

PREFIX = "NOPPA_SERVE"
#: Parameters of the command that are not settings.
OTHERS = ("context", "config", "return")


class Kind(NamedTuple):
    """What a line of the file may hold."""

    wanted: str
    types: tuple[type, ...]


KINDS: dict[Any, Kind] = {
    bool: Kind("true or false", (bool,)),
    int: Kind("a whole number", (int,)),
    float: Kind("a number", (int, float)),
    str: Kind("a string", (str,)),
    Path: Kind("a path as a string", (str,)),
    list[str]: Kind("a list of strings", (list,)),
}


def options_of(file: Path, command: Callable[..., None]) -> dict[str, Any]:
    """The options of a command that a TOML file sets, by the names of its parameters."""
    kinds = _kinds(command)
    options = {}
    for key, value in _read(file).items():
        name = key.replace("-", "_")
        if name not in kinds:
            raise ParameterError(f"{file}: {key!r} is no option of noppa serve{_meant(name, kinds)}")  # fmt: skip
        kind = kinds[name]
        right = type(value) in kind.types
        if not right or (isinstance(value, list) and {*map(type, value)} - {str}):
            raise ParameterError(f"{file}: {key} is {value!r}: write {kind.wanted}")
        options[name] = value
    return options


def unknown_variables(
    command: Callable[..., None], environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Variables that look like options and are none, such as misspelt ones."""
    known = {f"{PREFIX}_{name.upper()}" for name in ("config", *_kinds(command))}
    return sorted(name for name in environment if name.startswith(f"{PREFIX}_") and name not in known)  # fmt: skip


def _kinds(command: Callable[..., None]) -> dict[str, Kind]:
    """What each option of a command may be."""
    hints = {name: hint for name, hint in get_type_hints(command).items() if name not in OTHERS}
    return {name: KINDS[_bare(hint)] for name, hint in hints.items()}


def _bare(hint: Any) -> Any:
    """A type without the None that stands for an option that is not given."""
    return next((one for one in get_args(hint) if one is not NoneType), hint) if NoneType in get_args(hint) else hint  # fmt: skip


def _read(file: Path) -> dict[str, Any]:
    with needs("serve", "--config"):
        if sys.version_info >= (3, 11):
            import tomllib
        else:
            import tomli as tomllib
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise FileError(f"the configuration {file} cannot be read: {why}") from error
    except tomllib.TOMLDecodeError as error:
        raise FileError(f"the configuration {file} is not TOML: {error}") from None


def _meant(name: str, names: Iterable[str]) -> str:
    near = get_close_matches(name, [*names], 1)
    shown = near[0].replace("_", "-") if near else ""
    return f": did you mean {shown!r}?" if near else ": noppa serve --help lists them"
