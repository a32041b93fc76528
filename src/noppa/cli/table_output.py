"""A table on standard output: drawn on a terminal, tab-separated lines in a pipe, JSON where asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any

from noppa.cli.terminal import is_drawn, printable

Rows = Sequence[Sequence[Any]]


def print_json(value: Any) -> None:
    """One line of JSON, any text in it as it is where standard output can show it."""
    print(json.dumps(value, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def print_facts(facts: dict[str, Any], width: int, as_json: bool = False, colon: str = "") -> None:
    """Names and what they stand for, a line each."""
    if as_json:
        return print_json(facts)
    for name, value in facts.items():
        print(printable(f"{name + colon:<{width}}{value}"))


def print_objects(rows: Iterable[Any], names: Sequence[str] | None = None) -> None:
    """Rows of a NamedTuple, or of these names, as a JSON object a line."""
    for row in rows:
        print_json(dict(zip(names or row._fields, row, strict=True)))


def print_table(head: Sequence[str], rows: Rows, digits: Sequence[int]) -> None:
    """A table of texts and numbers; digits: of the numbers of each column behind the point."""
    cells = [
        [f"{cell:.{places}f}" if isinstance(cell, float) else str(cell) for cell, places in zip(row, digits, strict=True)]
        for row in rows
    ]  # fmt: skip
    if not is_drawn():
        for row in [list(head), *cells]:
            print("\t".join(" ".join(printable(cell).split()) for cell in row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for at, name in enumerate(head):
        right = bool(rows) and not isinstance(rows[0][at], str)
        table.add_column(Text(name), justify="right" if right else "left")
    for row in cells:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)
