"""Read the committed results and format them as Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from noppa.paper.tasks import CLASSIFICATION

ROOT = Path(__file__).resolve().parents[1]
SIMILARITY = ("STS-B", "SICK-R")

Row = dict[str, Any]
#: Scores of one encoder: task -> the scores of all seeds.
Scores = dict[str, list[float]]
#: A cell is a format string over the fields of a row, or a function of the row.
Cell = str | Callable[[Row], object]


@cache
def read(name: str, folder: str = "bench") -> list[Row]:
    """Return the rows of a result file. Do not change them: they are cached."""
    text = (ROOT / folder / "results" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def select(rows: Iterable[Row], **fields: object) -> list[Row]:
    """Return the rows in which every named field has the given value."""
    return [row for row in rows if all(row.get(key) == value for key, value in fields.items())]


def markdown(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table; columns are right-aligned if all their cells are numbers."""
    body = [[str(cell) for cell in line] for line in lines]
    numeric = [all(is_numeric(line[at]) for line in body) for at in range(len(head))]
    rule = ["---:" if is_number else "---" for is_number in numeric]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule, *body])


def is_numeric(cell: str) -> bool:
    return not cell or cell.lstrip("+-(~")[:1].isdigit()


def from_rows(rows: Iterable[Row], columns: Mapping[str, Cell]) -> str:
    """Return a table with one line per row and one column per entry of `columns`."""
    lines = [
        [cell.format_map(row) if isinstance(cell, str) else cell(row) for cell in columns.values()]
        for row in rows
    ]
    return markdown(list(columns), lines)


def pivot(rows: Iterable[Row], key: Callable[[Row], str] | None = None) -> dict[str, Scores]:
    """Group scores by encoder and task."""
    scores: dict[str, Scores] = {}
    for row in rows:
        name = key(row) if key else row["encoder"]
        scores.setdefault(name, {}).setdefault(row["task"], []).append(row["score"])
    return scores


def mean(scores: Scores) -> float:
    """Return the mean over the eight classification tasks; KeyError if one is missing."""
    return fmean(fmean(scores[task]) for task in CLASSIFICATION)


def score_table(title: str, scores: Mapping[str, Scores]) -> str:
    """Return one line per encoder: its score on each task, and the mean of eight."""
    every = (*CLASSIFICATION, *SIMILARITY)
    tasks = [task for task in every if any(task in own for own in scores.values())]
    lines = []
    for name, own in scores.items():
        cells = [f"{fmean(own[task]):.2f}" if task in own else "" for task in tasks]
        whole = all(task in own for task in CLASSIFICATION)
        lines.append([name, *cells, f"{mean(own):.2f}" if whole else ""])
    return markdown([title, *tasks, "mean of eight"], lines)


# The presets and encoders from elsewhere


def preset_name(preset: str) -> str:
    return "`noppa.load()`" if preset == "default" else f'`noppa.load("{preset}")`'


def quality_scores() -> dict[str, Scores]:
    """Return the scores of the presets, of other encoders, and of NoPPA on plain word vectors."""
    order = ("default", "similarity", "small")
    presets = sorted(read("presets"), key=lambda row: order.index(row["encoder"]))
    plain = select(read("plain"), encoder="NoPPA")
    return {
        **pivot(presets, lambda row: preset_name(row["encoder"])),
        **pivot(read("peers")),
        **pivot(plain, lambda row: f"`noppa.NoPPA` on {row['vectors']['file']}"),
    }


def cost_rows() -> dict[str, Row]:
    """Return speed, memory and size of the presets and of other encoders."""
    return {
        preset_name(row["model"]) if row["edition"] else row["model"]: row for row in read("cost")
    }
