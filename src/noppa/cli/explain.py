"""`noppa explain`: the contribution of each word to a vector, or of each pair of words to a similarity."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from noppa.cli.checked_output import output_of
from noppa.cli.encoder_options import Counts, Parameters, Ranks, Vectors, encoder_of
from noppa.cli.options import AsJson, Model, TokenizerName
from noppa.cli.table_output import print_json
from noppa.cli.terminal import is_drawn, printable
from noppa.errors import InputError
from noppa.explain.explanation import Explanation, PairExplanation
from noppa.io.atomic import atomic_file
from noppa.io.outputs import folders_of
from noppa.plot import Picture, alignment, attention, contributions, save
from noppa.plot.pictures import checked

if TYPE_CHECKING:
    from rich.text import Text

Output = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="A picture (.png, .svg, .html) or everything (.json).", show_default=False
    ),
]  # fmt: skip
#: Background of a cell, from none to the shade for the largest number of its column.
SHADES = ("", "on #10293f", "on #14405f", "on #185880", "on #1c70a2")
MOST_ROWS = 60


def explain(
    text: Annotated[str, typer.Argument(help="The text to explain.", show_default=False)],
    against: Annotated[
        str | None,
        typer.Option(help="A second text: explain the similarity of both.", show_default=False),
    ] = None,
    output: Output = None,
    weighted: Annotated[
        bool, typer.Option("--weighted", help="Draw attention times the weight of the row's word.")
    ] = False,
    dark: Annotated[bool, typer.Option("--dark", help="A .png or .svg on dark ground.")] = False,
    model: Model = None,
    tokenizer: TokenizerName = None,
    vectors: Vectors = None,
    counts: Counts = None,
    ranks: Ranks = False,
    parameters: Parameters = None,
    as_json: AsJson = False,
) -> None:
    """What each word of a text gave to its vector, or each pair of words to a similarity.

    Example: noppa explain "the girl eats a cake" --against "a girl is eating" -o pair.html
    """
    for name, value in (("the text", text), ("--against", against)):
        if value is not None and not value.strip():
            raise InputError(f"{name} is empty: give at least one word")
    if output is not None:
        checked(output, (".json",))
    if against is not None and model is None and vectors is None:
        model = "similarity"  # the preset for cosines
    encoder = encoder_of(model, vectors, counts, ranks, parameters, tokenizer)
    if output is not None:
        output_of(output, [vectors, counts, *folders_of(encoder)])
    explanation: Explanation | PairExplanation = encoder.explain(text)
    if against is not None:
        explanation = encoder.explain_pair(text, against)
    if output is None and as_json:
        print_json(explanation.to_dict())
    elif output is None:
        _print(
            _token_rows(explanation)
            if isinstance(explanation, Explanation)
            else _pair_rows(explanation),
            _notes(explanation),
        )
    elif output.suffix.lower() == ".json":
        with atomic_file(output) as new:
            new.write_text(json.dumps(explanation.to_dict(), ensure_ascii=False), encoding="utf-8")
    else:
        save(_pictures(explanation, weighted), output, dark)


def _pictures(explanation: Explanation | PairExplanation, weighted: bool) -> list[Picture]:
    if isinstance(explanation, PairExplanation):
        return [alignment(explanation)]
    bars = contributions(explanation, "share")
    return [bars] if explanation.attention is None else [attention(explanation, weighted), bars]


Rows = list[list[Any]]


def _token_rows(explanation: Explanation) -> Rows:
    rows: Rows = [["token", "known", "place", "weight", "share", "cosine", "attends most to"]]
    for at, token in enumerate(explanation.tokens):
        numbers = [
            float(column[at])
            for column in (explanation.weights, explanation.shares, explanation.cosines)
        ]
        known, place = "yes" if explanation.known[at] else "no", str(explanation.positions[at])
        rows.append(
            [token, known, place if place != "-1" else "none", *numbers, _most(explanation, at)]
        )
    return rows


def _most(explanation: Explanation, at: int) -> str:
    """The two other tokens that a token attends to most."""
    if explanation.attention is None:
        return ""
    row = explanation.attention[at].copy()
    row[at] = 0
    best = [j for j in np.argsort(-row, kind="stable")[:2] if row[j] > 0]
    return ", ".join(f"{explanation.tokens[j]} {100 * row[j]:.1f} %" for j in best)


def _pair_rows(explanation: PairExplanation) -> Rows:
    """The strongest pairs of tokens first."""
    order = np.argsort(-np.abs(explanation.pairs), axis=None, kind="stable")
    places = zip(*np.unravel_index(order, explanation.pairs.shape), strict=True)
    body: Rows = [
        [explanation.a.tokens[i], explanation.b.tokens[j], float(explanation.pairs[i, j])]
        for i, j in places
    ]
    return [["first text", "second text", "part of the cosine"], *body]


def _notes(explanation: Explanation | PairExplanation) -> list[str]:
    """What belongs to no row of the table."""
    if isinstance(explanation, PairExplanation):
        remainders = [f"{name}: {value:.4f}" for name, value in explanation.remainders.items()]
        return [*remainders, f"cosine: {explanation.cosine:.4f}"]
    square = float(explanation.pooled @ explanation.pooled) or 1.0
    notes = [
        f"{name}: share {vector @ explanation.pooled / square:.4f}"
        for name, vector in explanation.remainders.items()
    ]
    return notes + [
        f"{step.name} took away {100 * step.share:.4f} % of the squared length"
        for step in explanation.steps
        if step.share is not None
    ]


def _print(rows: Rows, notes: list[str]) -> None:
    """A coloured table on a terminal, tab-separated lines in a pipe."""
    head, *body = rows
    if not is_drawn():
        for row in rows:
            print("\t".join(f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row))
        for note in notes:
            print(f"# {note}")
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False, markup=False)
    shown = body[:MOST_ROWS]
    table = Table()
    for at, name in enumerate(head):
        table.add_column(
            name, justify="right" if body and isinstance(body[0][at], float) else "left"
        )
    most = [
        max((abs(row[at]) for row in shown if isinstance(row[at], float)), default=0.0)
        for at in range(len(head))
    ]
    for row in shown:
        style = "dim" if "none" in row[2:3] else ""
        table.add_row(*(_cell(cell, top, style) for cell, top in zip(row, most, strict=True)))
    console.print(table)
    if len(body) > len(shown):
        console.print(f"and {len(body) - len(shown)} more rows: write -o file.html or file.json")
    for note in notes:
        console.print(note)


def _cell(value: Any, most: float, style: str) -> Text:
    from rich.text import Text

    if not isinstance(value, float):
        return Text(printable(value), style)
    level = int(np.sqrt(abs(value) / most) * (len(SHADES) - 1) + 0.5) if most > 0 else 0
    ink = "#ff9d5c" if value < 0 else ("white" if level else style)
    return Text(f"{value:.4f}", f"{ink} {SHADES[level]}".strip())


def register(app: typer.Typer) -> None:
    app.command()(explain)
