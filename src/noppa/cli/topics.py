"""`noppa topics`: groups of texts with names, or the texts that fit in no group."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from noppa.cli.inputs import EncodedTexts, encoded_texts
from noppa.cli.options import AsJson, Column, Format, Inputs, Model, OnError
from noppa.cli.output import print_json, print_objects, print_rows, printable, progress_ticks
from noppa.errors import InputError
from noppa.files.collect import Collected
from noppa.io.atomic import atomic_file
from noppa.io.tables import WRITERS, write_table
from noppa.topics.find_topics import Topics, topics_of
from noppa.topics.groups import LANDMARKS, blocks, largest_scores, outlier_scores

#: What can be written in addition to a table of all records.
PAGE, SUMMARY = ".html", ".json"


class TopicRow(NamedTuple):
    """A record and its topic, both numbered from 1, and how near it is to the middle of that topic."""

    record: int
    topic: int
    name: str
    nearness: float
    outlier_score: float
    text: str


class Outlier(NamedTuple):
    """How unlike all others a text is, from 0 to slightly above 1, and its record's number from 1."""

    score: float
    record: int
    text: str


def topics(
    inputs: Inputs = None,
    count: Annotated[
        int | None,
        typer.Option(
            "--count", "-n", min=1, help="How many topics; found automatically if not given."
        ),
    ] = None,
    outliers: Annotated[
        int | None,
        typer.Option(
            min=1, help="List this many texts that are most unlike all others, instead of topics."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A page with a map (.html), the topics (.json), or a table of all records (.csv, .jsonl, .parquet).",
        ),
    ] = None,
    as_json: AsJson = False,
    column: Column = None,
    model: Model = None,
    form: Format = None,
    on_error: OnError = "raise",
) -> None:
    """Group texts by topic, the largest first, each with its typical words and a text from its middle.

    Examples:

    noppa topics reviews.csv --column body -o topics.html

    noppa topics reviews.csv --column body --outliers 20
    """
    suffixes = () if outliers else (PAGE, SUMMARY)
    with encoded_texts(inputs, column, form, on_error, model, output, suffixes) as encoded:
        if outliers is not None:
            _find_outliers(encoded, outliers, output, as_json)
        else:
            _find_topics(encoded, count, output, as_json)


def _find_topics(
    encoded: EncodedTexts, count: int | None, output: Path | None, as_json: bool
) -> None:
    texts = encoded.collected
    if not len(texts.texts):
        raise InputError("there are no texts, so there are no topics")
    with progress_ticks("group") as tick:
        found = topics_of(texts.texts, encoded.vectors, encoded.encoder, count, tick)
    if output is None and as_json:
        print_json(_by_record(found, texts))
    elif output is None:
        print("\n".join(map(printable, str(found).splitlines())))
    elif output.suffix.lower() in WRITERS:
        write_table(output, TopicRow, _rows(found, texts))
    else:
        _write(output, found, texts)


def _find_outliers(encoded: EncodedTexts, count: int, output: Path | None, as_json: bool) -> None:
    texts, vectors = encoded.collected, encoded.vectors
    total = len(list(blocks(len(vectors), min(len(vectors), LANDMARKS), lambda: None)))
    with progress_ticks("compare", total) as tick:
        scores = outlier_scores(vectors, tick)
    rows = [
        Outlier(float(scores[row]), int(texts.records[row]) + 1, texts.texts[row])
        for row in largest_scores(scores, count).tolist()
    ]
    if output is not None:
        write_table(output, Outlier, rows)
    elif as_json:
        print_objects(rows, Outlier._fields)
    else:
        print_rows(rows)


def _rows(found: Topics, texts: Collected) -> Iterator[TopicRow]:
    for row, text in enumerate(found.texts):
        label = int(found.labels[row])
        yield TopicRow(
            int(texts.records[row]) + 1,
            label + 1,
            found.topics[label].name,
            float(found.nearness[row]),
            float(found.outlier_scores[row]),
            text,
        )


def _write(output: Path, found: Topics, texts: Collected) -> None:
    if output.suffix.lower() == PAGE:
        from noppa.plot import topic_page

        content = topic_page(found)
    else:
        content = json.dumps(_by_record(found, texts), ensure_ascii=False, indent=1) + "\n"
    with atomic_file(output) as new:
        new.write_text(content, encoding="utf-8", errors="replace")


def _by_record(found: Topics, texts: Collected) -> dict[str, Any]:
    """Return `found.to_dict()` with record numbers instead of row numbers."""
    facts = found.to_dict()
    lists = [facts["outliers"], *(topic["representatives"] for topic in facts["topics"])]
    for entry in (entry for entries in lists for entry in entries):
        entry["record"] = int(texts.records[entry.pop("row")]) + 1
    return facts


def register(app: typer.Typer) -> None:
    app.command()(topics)
