"""Short `repr`s, and tables of results as plain text, HTML and pandas frames.

A result that is a table derives from `Displayed` and returns its columns from `_columns`. Texts may come from anywhere, so
all HTML is escaped here. Colours are inline tints of the page's background: readable on light and dark pages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from noppa.extras import needs
from noppa.parameters import short_repr

#: Longest `repr` and longest text in a table, in characters.
LONGEST, TEXT = 200, 160
#: Longest list that a `repr` shows, and most rows of a table.
MEMBERS, ROWS = 8, 12
#: Tints of positive and negative shares (Okabe and Ito's blue and vermilion) and their largest opacity.
POSITIVE, NEGATIVE, OPACITY = "0, 114, 178", "213, 94, 0", 0.55


class Displayed:
    """Base class of results that are tables: notebooks show them as HTML, `to_pandas()` returns a frame."""

    @property
    def _title(self) -> str:
        return repr(self)

    def _columns(self) -> Mapping[str, Sequence[Any]]:
        """Return the table's columns by name; a column whose name begins with "share" is tinted."""
        raise NotImplementedError

    def __str__(self) -> str:
        return f"{self._title}\n{text_table(self._columns())}"

    def to_pandas(self) -> Any:
        """Return the table as a pandas frame."""
        return frame(self._columns())

    def _repr_html_(self) -> str:
        from html import escape

        def cell(tag: str, value: Any, tint: str = "") -> str:
            text = escape(storable(cut(_plain(value))))
            return f'<{tag} dir="auto" style="text-align: start{tint}">{text}</{tag}>'

        columns = self._columns()
        tints = {name: _tints(column) for name, column in columns.items() if name[:5] == "share"}
        lines = ["".join(cell("th", name) for name in columns)]
        for row, values in enumerate(_rows(columns)):
            cells = zip(columns, values, strict=True)
            lines.append(
                "".join(cell("td", v, tints[n][row] if n in tints else "") for n, v in cells)
            )
        table = "".join(f"<tr>{line}</tr>" for line in lines)
        title = escape(storable(cut(self._title)))
        return f'<p><b dir="auto">{title}</b></p><table>{table}</table><p>{_rest(columns)}</p>'


def dataclass_repr(self: Any) -> str:
    """Format a dataclass or NamedTuple in at most `LONGEST` characters; arrays appear as their shapes."""
    if is_dataclass(self):
        names = [field.name for field in fields(self) if field.repr]
    else:
        names = list(self._fields)
    return _call(type(self).__name__, {name: getattr(self, name) for name in names})


def changed_repr(frozen: Any) -> str:
    """Format a dataclass of parameters, with only those that differ from their defaults."""
    if not is_dataclass(frozen):
        return short_repr(frozen)
    values = {field.name: getattr(frozen, field.name) for field in fields(frozen)}
    defaults = {field.name: field.default for field in fields(frozen)}
    changed = {name: value for name, value in values.items() if value != defaults[name]}
    return _call(type(frozen).__name__, changed)


def cut(text: Any, width: int = TEXT) -> str:
    """Return a text on one line, shortened to `width` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def text_table(columns: Mapping[str, Sequence[Any]]) -> str:
    """Format columns as lines of aligned text."""
    table = [[cut(name, 40) for name in columns]]
    table += [[cut(_plain(value), 40) for value in row] for row in _rows(columns)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([*lines, _rest(columns)]).rstrip()


def frame(
    values: Any, index: Sequence[Any] | None = None, columns: Sequence[Any] | None = None
) -> Any:
    """Return a pandas frame of named columns, or of an array (rows, columns)."""
    with needs("pandas", "to_pandas"):
        import pandas
    if isinstance(values, Mapping):
        values = {
            storable(name): list(map(storable, column)) if isinstance(column, list) else column
            for name, column in values.items()
        }
    names = (None if labels is None else list(map(storable, labels)) for labels in (index, columns))
    return pandas.DataFrame(values, *names)


def storable(value: Any) -> Any:
    """Replace lone surrogates in a text, which neither notebook files nor Arrow can store."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _call(name: str, values: Mapping[str, Any]) -> str:
    """Format `name(key=value, …)` with as many values as fit."""
    text = f"{name}("
    for number, (key, value) in enumerate(values.items()):
        part = f"{', ' * bool(number)}{key}={_short(value)}"
        if len(text) + len(part) > LONGEST - 4:
            return f"{text}{', ' * bool(number)}…)"
        text += part
    return f"{text})"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {value.shape}>" if value.size > 4 else short_repr(value)
    if isinstance(value, (list, tuple, Mapping)):
        short = short_repr(value) if len(value) <= MEMBERS else "…"
        return f"<{type(value).__name__} of {len(value)}>" if short.endswith("…") else short
    return short_repr(value)


def _rows(columns: Mapping[str, Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*(column[:ROWS] for column in columns.values()), strict=True))


def _rest(columns: Mapping[str, Sequence[Any]]) -> str:
    hidden = len(next(iter(columns.values()), ())) - ROWS
    return f"… and {hidden:,} more" if hidden > 0 else ""


def _plain(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        size = abs(float(value))
        return f"{value:.4f}" if size == 0 or 5e-5 <= size < 1e6 else f"{value:.1e}"
    return ", ".join(map(_plain, value)) if isinstance(value, (tuple, list)) else str(value)


def _tints(shares: Sequence[float]) -> list[str]:
    largest = max(map(abs, shares), default=0.0) or 1.0
    return [
        f"; background: rgba({POSITIVE if share > 0 else NEGATIVE}, {OPACITY * abs(share) / largest:.2f})"
        for share in shares
    ]
