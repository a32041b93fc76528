"""What notebooks and consoles show of an object: a short `repr`, a `View` as HTML and as plain text, a table as a frame.

A class that is worth more than its `repr` derives from `Displayed` and says in `_view` what there is to see. Everything in
a view may come from a user: it is escaped here, in this one place. Colours are tints of the page's own background, so that
the same HTML is readable on light and on dark pages, and inline, since many viewers drop style sheets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from noppa.extras import needs
from noppa.parameters import short_repr

#: Characters of a `repr`, and of a text in a view.
LONGEST, TEXT = 200, 160
#: Members of a list that a `repr` may show.
MEMBERS = 8
#: Rows of a table, words of a text, and rows or columns of a grid that are shown.
ROWS, WORDS, CELLS = 12, 200, 16
#: Tints for and against (Okabe and Ito's blue and vermilion), and how opaque they get: text on top stays readable.
FOR, AGAINST, OPAQUE = "0, 114, 178", "213, 94, 0", 0.55
CELL = "padding: .15em .6em; border-bottom: 1px solid rgba(128, 128, 128, .3)"


class Table(NamedTuple):
    """Named columns and their rows; numbers are shown with four decimals."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Words(NamedTuple):
    """A text as its words, each tinted by its share."""

    tokens: Sequence[str]
    shares: Sequence[float]


class Grid(NamedTuple):
    """Shares (rows, columns), as a tinted table."""

    rows: Sequence[str]
    columns: Sequence[str]
    shares: Any


#: What can stand in a view; a text is a note.
Block = Table | Words | Grid | str


@dataclass(frozen=True)
class View:
    """A title, and what stands below it."""

    title: str
    blocks: Sequence[Block] = ()


class Displayed:
    """An object that notebooks show as its view."""

    def _view(self) -> View:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return html_of(self._view())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        bundle = {"text/plain": str(self), "text/html": self._repr_html_()}
        return {
            kind: content
            for kind, content in bundle.items()
            if (not include or kind in include) and kind not in (exclude or ())
        }


# Short


def dataclass_repr(self: Any) -> str:
    """A `repr` of at most `LONGEST` characters for a dataclass or a NamedTuple: arrays by their shapes, long values cut."""
    names = (
        [field.name for field in fields(self) if field.repr]
        if is_dataclass(self)
        else list(self._fields)
    )
    return listed(type(self).__name__, {name: getattr(self, name) for name in names})


def listed(name: str, values: Mapping[str, Any]) -> str:
    """`name(key=value, …)` with as many of the values as fit."""
    text = f"{name}("
    for at, (key, value) in enumerate(values.items()):
        part = f"{', ' * bool(at)}{key}={_short(value)}"
        if len(text) + len(part) > LONGEST - 4:
            return f"{text}{', ' * bool(at)}…)"
        text += part
    return f"{text})"


def changed(frozen: Any) -> str:
    """The `repr` of a dataclass of parameters with those alone that are not what they are by default."""
    if not is_dataclass(frozen):
        return short_repr(frozen)
    values = {field.name: getattr(frozen, field.name) for field in fields(frozen)}
    others = {
        field.name: values[field.name]
        for field in fields(frozen)
        if values[field.name] != field.default
    }
    return listed(type(frozen).__name__, others)


def cut(text: Any, width: int = TEXT) -> str:
    """A text on one line, of at most `width` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} {value.shape}>" if value.size > 4 else short_repr(value)
    if isinstance(value, (list, tuple, Mapping)):
        short = short_repr(value) if len(value) <= MEMBERS else "…"
        return f"<{type(value).__name__} of {len(value)}>" if short.endswith("…") else short
    return short_repr(value)


# Plain text


def text_of(view: View) -> str:
    """A view as lines for a terminal."""
    return "\n".join([cut(view.title), *(line for block in view.blocks for line in _lines(block))])


def _lines(block: Block) -> Iterable[str]:
    if isinstance(block, str):
        return [block]
    if isinstance(block, Words):
        return []  # the shares stand in a table as well
    if isinstance(block, Grid):
        rows, columns, shares, note = _clipped(block)
        cells = [[name, *row] for name, row in zip(rows, shares.tolist(), strict=True)]
        return [*_columns(["", *columns], cells), *note]
    return [*_columns(block.columns, block.rows[:ROWS]), *_more(block)]


def _columns(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """A table in columns of equal width."""
    table = [[cut(name, 40) for name in names]]
    table += [[cut(_plain(value), 40) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]


def _plain(value: Any) -> str:
    if isinstance(value, (float, np.floating)):
        size = abs(float(value))
        return f"{value:.4f}" if size == 0 or 5e-5 <= size < 1e6 else f"{value:.1e}"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_plain, value))
    return str(value)


def _more(table: Table) -> list[str]:
    rest = len(table.rows) - ROWS
    return [f"… and {rest:,} more"] if rest > 0 else []


# HTML


def html_of(view: View) -> str:
    """A view as a piece of HTML; nothing of it is taken for markup."""
    body = "".join(map(_html, view.blocks))
    return f'<div style="color: inherit"><p><b dir="auto">{_escaped(cut(view.title))}</b></p>{body}</div>'


def _html(block: Block) -> str:
    if isinstance(block, str):
        return f"<p>{_escaped(block)}</p>"
    if isinstance(block, Words):
        return _words(block)
    if isinstance(block, Grid):
        return _grid(block)
    head = "".join(_cell("th", _escaped(name)) for name in block.columns)
    body = "".join(
        f"<tr>{''.join(_cell('td', _escaped(cut(_plain(value)))) for value in row)}</tr>"
        for row in block.rows[:ROWS]
    )
    more = "".join(f"<p>{_escaped(line)}</p>" for line in _more(block))
    return f"{_table(f'<tr>{head}</tr>{body}')}{more}"


def _words(block: Words) -> str:
    most = max(map(abs, block.shares), default=0.0) or 1.0
    shares = list(zip(block.tokens, block.shares, strict=True))
    words = [
        f'<span style="background: {_tint(share / most)}; padding: 0 .15em; border-radius: .2em" '
        f'title="{share:+.4f}">{_escaped(token)}</span>'
        for token, share in shares[:WORDS]
    ]
    more = f" … and {len(shares) - WORDS:,} more words" if len(shares) > WORDS else ""
    return f'<p dir="auto">{" ".join(words)}{more}</p>'


def _grid(block: Grid) -> str:
    rows, columns, shares, note = _clipped(block)
    most = float(np.abs(shares).max(initial=0)) or 1.0
    lines = ["".join(_cell("th", _escaped(name)) for name in ("", *columns))]
    for name, row in zip(rows, shares.tolist(), strict=True):
        cells = "".join(_cell("td", f"{share:.3f}", _tint(share / most)) for share in row)
        lines.append(_cell("th", _escaped(name)) + cells)
    return _table("".join(f"<tr>{line}</tr>" for line in lines)) + "".join(map(_html, note))


def _clipped(grid: Grid) -> tuple[list[str], list[str], Any, list[str]]:
    """The rows and columns of a grid with most in them, in their order, and a note of the others."""
    shares = np.asarray(grid.shares, float)
    kept = [
        np.sort(np.argsort(-np.abs(shares).sum(axis=1 - axis), kind="stable")[:CELLS])
        for axis in (0, 1)
    ]
    names = [[grid[axis][at] for at in kept[axis].tolist()] for axis in (0, 1)]
    note = f"the strongest {len(names[0])} of {len(grid.rows)} rows and {len(names[1])} of {len(grid.columns)} columns"
    is_whole = shares.shape == (len(names[0]), len(names[1]))
    return names[0], names[1], shares[np.ix_(*kept)], [] if is_whole else [note]


def _table(lines: str) -> str:
    return f'<div style="overflow-x: auto"><table style="border-collapse: collapse">{lines}</table></div>'


def _cell(tag: str, content: str, tint: str = "transparent") -> str:
    return (
        f'<{tag} dir="auto" style="{CELL}; text-align: start; background: {tint}">{content}</{tag}>'
    )


def _tint(share: float) -> str:
    """Of a share from -1 to 1."""
    return f"rgba({FOR if share > 0 else AGAINST}, {OPAQUE * abs(share):.2f})"


def _escaped(text: Any) -> str:
    from html import escape

    return escape(_storable(str(text)))


def _storable(value: Any) -> Any:
    """A text with question marks for lone surrogates, which neither notebook files nor Arrow can hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


# Frames


def frame(
    values: Any, index: Sequence[Any] | None = None, columns: Sequence[Any] | None = None
) -> Any:
    """A pandas frame of columns by their names, or of an array (rows, columns)."""
    with needs("pandas", "to_pandas"):
        import pandas
    if isinstance(values, dict):
        values = {
            _storable(name): list(map(_storable, column)) if isinstance(column, list) else column
            for name, column in values.items()
        }
    names = (None if one is None else list(map(_storable, one)) for one in (index, columns))
    return pandas.DataFrame(values, *names)
