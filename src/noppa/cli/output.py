"""What commands print: tables, JSON, progress bars, and text that is safe on a terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from noppa.errors import NoppaWarning
from noppa.io.paths import STREAM, PathLike, refuse_input_as_output
from noppa.progress_bar import counts_bar, terminal_bar

#: Control characters, bidirectional overrides and lone surrogates: printed as they are, they could clear the screen,
#: rename the window or disguise text.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


# Text


def visible(text: object) -> str:
    """Return the text on one line, with each control character escaped, such as `\\x1b`."""
    return _CONTROLS.sub(lambda match: repr(match[0])[1:-1], str(text))


def printable(text: object) -> str:
    """Return data for standard output: `visible` on a terminal, unchanged in a pipe or a file."""
    return visible(text) if sys.stdout.isatty() else str(text)


def note(message: object) -> None:
    """Print a line to standard error."""
    print(f"noppa: {message}", file=sys.stderr)


@contextmanager
def warnings_once() -> Iterator[None]:
    """Show warnings that differ only in numbers and examples once, not in every fold."""
    seen: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", NoppaWarning)
        show = warnings.showwarning

        def show_once(message: Warning | str, *rest: Any, **more: Any) -> None:
            shape = re.sub(r"\d+", "", re.split(r": |, among", str(message))[0])
            if shape not in seen:
                seen.add(shape)
                show(message, *rest, **more)

        warnings.showwarning = show_once
        yield


# Tables


def draws_tables() -> bool:
    """Return whether tables are drawn: on a terminal, or if FORCE_COLOR asks for it."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def print_json(value: Any) -> None:
    """Print one line of JSON; non-ASCII text is escaped only if standard output is not UTF-8."""
    print(json.dumps(value, ensure_ascii=(sys.stdout.encoding or "").lower() != "utf-8"))


def print_facts(facts: dict[str, Any], as_json: bool = False) -> None:
    """Print names and values, one per line."""
    if as_json:
        return print_json(facts)
    width = max(map(len, facts), default=0) + 2
    for name, value in facts.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        print(printable(f"{name:<{width}}{text}"))


def print_objects(rows: Iterable[Any], names: Sequence[str]) -> None:
    """Print each row as one line with a JSON object of these names."""
    for row in rows:
        print_json(dict(zip(names, row, strict=True)))


def print_rows(rows: Iterable[Iterable[Any]]) -> None:
    """Print tab-separated lines; white space inside a text becomes single spaces."""
    for row in rows:
        cells = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        sys.stdout.write("\t".join(printable(" ".join(cell.split())) for cell in cells) + "\n")


def print_table(head: Sequence[str], rows: Sequence[Sequence[Any]], digits: Sequence[int]) -> None:
    """Draw a table on a terminal, or print tab-separated lines in a pipe.

    Args:
        head: The names of the columns.
        rows: Texts and numbers.
        digits: Decimal places of the numbers of each column.
    """
    cells = [
        [
            f"{cell:.{places}f}" if isinstance(cell, float) else str(cell)
            for cell, places in zip(row, digits, strict=True)
        ]
        for row in rows
    ]
    if not draws_tables():
        return print_rows([head, *cells])
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column, name in enumerate(head):
        is_number = bool(rows) and not isinstance(rows[0][column], str)
        table.add_column(Text(name), justify="right" if is_number else "left")
    for row in cells:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console().print(table)


# Files


def check_output(output: PathLike, sources: Iterable[Any], quiet: bool = False) -> None:
    """Refuse an output that is an input, and note that an existing file will be replaced unless `quiet`."""
    refuse_input_as_output(output, sources)
    if not quiet and os.fspath(output) != STREAM and os.path.lexists(output):
        note(f"{visible(output)} exists and will be replaced")


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Print a message if Ctrl-C or SIGTERM ends the block, and exit without a traceback."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as end:
        note(f"interrupted{message}")
        raise SystemExit(getattr(end, "code", 130)) from None


# Progress bars; they are drawn on a terminal only


@contextmanager
def bytes_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (bytes done, bytes in total)."""
    with terminal_bar(what, "DownloadColumn", "TransferSpeedColumn") as update:
        yield lambda done, total: update(completed=done, total=total or None)


@contextmanager
def records_bar(what: str, total: int) -> Iterator[Callable[[int, int], None]]:
    """Yield a callback (records done, bytes of input read).

    Args:
        what: What is being done, as a verb.
        total: The size of the input in bytes, 0 if unknown.
    """
    start = time.monotonic()

    def show(records: int, done: int) -> None:
        rate = records / max(time.monotonic() - start, 1e-9)
        counts = f"{what}: {records:,} records, {rate:,.0f} per second"
        update(description=counts, completed=done, total=total or None)

    with terminal_bar(what) as update:
        yield show


@contextmanager
def progress_ticks(what: str, total: int = 0) -> Iterator[Callable[[], None]]:
    """Yield a callback to call once per block of work; `total` is the number of blocks, 0 if unknown."""
    with counts_bar() as progress:
        done = 0

        def tick() -> None:
            nonlocal done
            progress(what, done, max(total, done + 1))
            done += 1

        yield tick
