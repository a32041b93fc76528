"""`noppa topics`: groups of texts with names, and `noppa clusters`, which somebody may type for it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from noppa.cli.options import AsJson, expanded
from noppa.cli.record_options import Inputs, Reading
from noppa.cli.table_output import print_json
from noppa.cli.terminal import printable
from noppa.cli.workspace import Comparing, all_texts, pulse
from noppa.errors import InputError, ParameterError
from noppa.files.collected import Collected
from noppa.io.atomic import atomic_file
from noppa.io.table_file import WRITERS, write_table
from noppa.topics.find_topics import Topics, topics_of

#: What can be written besides a table of all records.
PAGE, SUMMARY = ".html", ".json"


class Grouped(NamedTuple):
    """A record, numbered from 1 on, with its topic, numbered from 1 on, and how near it is to the middle of that."""

    record: int
    topic: int
    name: str
    nearness: float
    outlier_score: float
    text: str


@expanded
def topics(
    comparing: Comparing,
    reading: Reading,
    inputs: Inputs = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count",
            "-n",
            min=1,
            help="How many topics; as many as differ if not given.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A page with a map (.html), the topics (.json), or each record with its topic (.csv, .jsonl, .parquet).",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Groups of texts, the largest first, each with words that tell it from the others and a text from its middle.

    Example: noppa topics reviews.csv --column body -o topics.html
    """  # fmt: skip
    with all_texts(inputs, reading, comparing, output, (PAGE, SUMMARY)) as (
        found,
        vectors,
        encoder,
    ):
        if not len(found.texts):
            raise InputError("there are no texts, so there are no topics")
        with pulse("group") as tick:
            made = topics_of(found.texts, vectors, encoder, count, tick)
        if output is None and as_json:
            print_json(_numbered(made, found))
        elif output is None:
            print("\n".join(map(printable, str(made).splitlines())))
        elif output.suffix.lower() in WRITERS:
            write_table(output, Grouped, _rows(made, found))
        else:
            _write(output, made, found)


def _rows(made: Topics, found: Collected) -> Iterator[Grouped]:
    for row, text in enumerate(made.texts):
        label = int(made.labels[row])
        yield Grouped(
            int(found.records[row]) + 1,
            label + 1,
            made.topics[label].name,
            float(made.nearness[row]),
            float(made.outlier_scores[row]),
            text,
        )


def _write(output: Path, made: Topics, found: Collected) -> None:
    if output.suffix.lower() == PAGE:
        from noppa.plot.topic_map import topic_page

        content = topic_page(made)
    else:
        content = json.dumps(_numbered(made, found), ensure_ascii=False, indent=1) + "\n"
    with atomic_file(output) as new:
        new.write_text(content, encoding="utf-8", errors="replace")


def _numbered(made: Topics, found: Collected) -> dict[str, Any]:
    """As `described`, with the numbers of records in place of rows."""
    described = made.to_dict()
    listed = [described["outliers"], *(topic["representatives"] for topic in described["topics"])]
    for one in (one for rows in listed for one in rows):
        one["record"] = int(found.records[one.pop("row")]) + 1
    return described


def clusters() -> None:
    """Not a command: two others may be meant."""
    raise ParameterError(
        "there is no command clusters: noppa topics groups texts, and noppa cluster runs on Dask or Spark"
    )


def register(app: typer.Typer) -> None:
    app.command()(topics)
    settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    app.command(hidden=True, context_settings=settings)(clusters)
