"""`noppa outliers`: texts that are like no others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from noppa.cli.options import AsJson, expanded
from noppa.cli.record_options import Inputs, Reading
from noppa.cli.table_output import print_objects
from noppa.cli.workspace import Comparing, all_texts, print_rows, pulse
from noppa.io.table_file import write_table
from noppa.topics.outliers import blocks, most_unlike, outlier_scores


class Outlier(NamedTuple):
    """How unlike all others a text is, from 0 to 1 and a little above, and the number of its record from 1 on."""

    score: float
    record: int
    text: str


@expanded
def outliers(
    comparing: Comparing,
    reading: Reading,
    inputs: Inputs = None,
    count: Annotated[int, typer.Option("--count", "-n", min=1, help="How many to show.")] = 20,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .csv, .jsonl or .parquet file.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """The texts most unlike all others: 1 minus the mean cosine of the nearest, number of the record, text.

    Example: noppa outliers reviews.csv --column body -n 20
    """
    with all_texts(inputs, reading, comparing, output) as (found, vectors, _):
        with pulse("compare", blocks(len(vectors))) as tick:
            scores = outlier_scores(vectors, tick)
        rows = [
            Outlier(float(scores[row]), int(found.records[row]) + 1, found.texts[row])
            for row in most_unlike(scores, count).tolist()
        ]
        if output is None and as_json:
            print_objects(rows)
        elif output is None:
            print_rows(rows)
        else:
            write_table(output, Outlier, rows)


def register(app: typer.Typer) -> None:
    app.command()(outliers)
