"""`noppa explain`: the contribution of each word to a vector, or of each pair of words to a similarity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

import noppa
from noppa.cli.options import AsJson, Model
from noppa.cli.output import check_output, draws_tables, print_json, print_rows, printable
from noppa.errors import InputError
from noppa.explain import Explanation, PairExplanation
from noppa.io.atomic import atomic_file
from noppa.io.paths import folders_of
from noppa.plot import Picture, alignment, attention, contributions, save
from noppa.plot.pictures import checked_path

if TYPE_CHECKING:
    from rich.text import Text

#: Background colours of a cell, from none to the one for the largest number of its column.
SHADES = ("", "on #10293f", "on #14405f", "on #185880", "on #1c70a2")
MOST_ROWS = 60


def explain(
    text: Annotated[str, typer.Argument(help="The text to explain.")],
    against: Annotated[
        str | None, typer.Option(help="A second text: explain the similarity of both.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A picture (.png, .svg, .html) or all numbers (.json)."
        ),
    ] = None,
    model: Model = None,
    as_json: AsJson = False,
) -> None:
    """Show what each word contributes to a text's vector, or each pair of words to a similarity.

    Example: noppa explain "the girl eats a cake" --against "a girl is eating" -o pair.html
    """
    for name, value in (("the text", text), ("--against", against)):
        if value is not None and not value.strip():
            raise InputError(f"{name} is empty: give at least one word")
    if output is not None:
        checked_path(output, (".json",))
    encoder = noppa.load("similarity" if model is None and against is not None else model)
    if output is not None:
        check_output(output, folders_of(encoder))
    explanation: Explanation | PairExplanation
    if against is None:
        explanation = encoder.explain(text)
        rows, notes = _token_rows(explanation), _token_notes(explanation)
        pictures: list[Picture] = [contributions(explanation, "share")]
        if explanation.attention is not None:
            pictures.insert(0, attention(explanation))
    else:
        explanation = encoder.explain_pair(text, against)
        rows, notes = _pair_rows(explanation), _pair_notes(explanation)
        pictures = [alignment(explanation)]
    if output is None and as_json:
        print_json(explanation.to_dict())
    elif output is None:
        _print(rows, notes)
    elif output.suffix.lower() == ".json":
        with atomic_file(output) as new:
            new.write_text(json.dumps(explanation.to_dict(), ensure_ascii=False), encoding="utf-8")
    else:
        save(pictures, output)


Rows = list[list[Any]]


def _token_rows(explanation: Explanation) -> Rows:
    rows: Rows = [["token", "known", "position", "weight", "share", "cosine", "attends most to"]]
    columns = (explanation.weights, explanation.shares, explanation.cosines)
    for number, token in enumerate(explanation.tokens):
        known, position = explanation.known[number], explanation.positions[number]
        rows.append(
            [
                token,
                "yes" if known else "no",
                "none" if position == -1 else str(position),
                *(float(column[number]) for column in columns),
                _attends_to(explanation, number),
            ]
        )
    return rows


def _attends_to(explanation: Explanation, number: int) -> str:
    """Return the two other tokens that a token attends to most."""
    if explanation.attention is None:
        return ""
    row = explanation.attention[number].copy()
    row[number] = 0
    best = [other for other in np.argsort(-row, kind="stable")[:2] if row[other] > 0]
    return ", ".join(f"{explanation.tokens[other]} {100 * row[other]:.1f} %" for other in best)


def _pair_rows(explanation: PairExplanation) -> Rows:
    """Return the pairs of tokens, the strongest first."""
    order = np.argsort(-np.abs(explanation.pairs), axis=None, kind="stable")
    body: Rows = [
        [explanation.a.tokens[i], explanation.b.tokens[j], float(explanation.pairs[i, j])]
        for i, j in zip(*np.unravel_index(order, explanation.pairs.shape), strict=True)
    ]
    return [["first text", "second text", "part of the cosine"], *body]


def _pair_notes(explanation: PairExplanation) -> list[str]:
    remainders = [f"{name}: {value:.4f}" for name, value in explanation.remainders.items()]
    return [*remainders, f"cosine: {explanation.cosine:.4f}"]


def _token_notes(explanation: Explanation) -> list[str]:
    """Describe the parts of the vector that belong to no token, and what each refinement removed."""
    square = float(explanation.pooled @ explanation.pooled) or 1.0
    notes = [
        f"{name}: share {vector @ explanation.pooled / square:.4f}"
        for name, vector in explanation.remainders.items()
    ]
    return notes + [
        f"{step.name} removed {100 * step.share:.4f} % of the squared length"
        for step in explanation.steps
        if step.share is not None
    ]


def _print(rows: Rows, notes: list[str]) -> None:
    """Draw a coloured table on a terminal, or print tab-separated lines in a pipe."""
    if not draws_tables():
        print_rows(
            [f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row] for row in rows
        )
        return print("".join(f"# {note}\n" for note in notes), end="")
    from rich.console import Console
    from rich.table import Table

    head, *body = rows
    console = Console(highlight=False, markup=False)
    shown = body[:MOST_ROWS]
    table = Table()
    largest = []
    for column, name in enumerate(head):
        numbers = [abs(row[column]) for row in shown if isinstance(row[column], float)]
        table.add_column(name, justify="right" if numbers else "left")
        largest.append(max(numbers, default=0.0))
    for row in shown:
        style = "dim" if "none" in row[2:3] else ""
        table.add_row(*(_cell(cell, top, style) for cell, top in zip(row, largest, strict=True)))
    console.print(table)
    if len(body) > len(shown):
        console.print(f"and {len(body) - len(shown)} more rows: write -o file.html or file.json")
    for note in notes:
        console.print(note)


def _cell(value: Any, largest: float, style: str) -> Text:
    """Return a cell whose background shows how large its number is within its column."""
    from rich.text import Text

    if not isinstance(value, float):
        return Text(printable(value), style)
    level = int(np.sqrt(abs(value) / largest) * (len(SHADES) - 1) + 0.5) if largest > 0 else 0
    ink = "#ff9d5c" if value < 0 else ("white" if level else style)
    return Text(f"{value:.4f}", f"{ink} {SHADES[level]}".strip())


def register(app: typer.Typer) -> None:
    app.command()(explain)
