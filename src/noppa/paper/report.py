"""Tables and plots of records. A result that broke the honest protocol is labelled in every one of them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

import numpy as np

from noppa.paper.records import Record
from noppa.paper.tasks import CLASSIFICATION, TASKS
from noppa.plot import page as pages
from noppa.plot.pictures import Bars

MEAN = "mean of eight"


@dataclass
class Table:
    """Encoders down, tasks across; a cell holds the scores of all seeds."""

    title: str
    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        """The scored tasks, in the order of `TASKS`."""
        scored = {task for cells in self.rows.values() for task in cells}
        return [name for name in TASKS if name in scored]

    def means(self) -> dict[str, float]:
        """Return the mean of eight of each row that has all of them."""
        return {
            row: fmean(fmean(cells[task]) for task in CLASSIFICATION)
            for row, cells in self.rows.items()
            if set(CLASSIFICATION) <= set(cells)
        }

    def lines(self) -> list[list[str]]:
        """Return the cells as text, the header first."""
        means = self.means()
        columns = [*self.tasks, *([MEAN] if means else [])]
        lines = [["encoder", *columns]]
        for row, cells in self.rows.items():
            scores = cells | ({MEAN: [means[row]]} if row in means else {})
            lines.append([row, *(format_scores(scores.get(column, [])) for column in columns)])
        return lines


def format_scores(scores: Sequence[float]) -> str:
    """Format a score, or the mean and deviation of several."""
    if not scores:
        return ""
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


def labels(record: Record) -> list[str]:
    """Return the labels of a record that broke the honest protocol or is not comparable."""
    breaches = {
        "transductive": record.get("transductive", False),
        "selected on test": record.get("selected_on", "dev") == "test",
        "unchecked data": not record.get("checked", True),
    }
    return [label for label, holds in breaches.items() if holds]


def tables(records: Sequence[Record]) -> list[Table]:
    """Return one table per protocol and file of vectors, in the order of the records; trials of a search are left out."""
    by_title: dict[str, Table] = {}
    for record in records:
        if "trial" in record:
            continue
        vectors = (record.get("vectors") or {}).get("file")
        title = f"protocol {record['protocol']}" + (f", {vectors}" if vectors else "")
        table = by_title.setdefault(title, Table(title))
        breaches = labels(record)
        row = record["encoder"] + (f" [{', '.join(breaches)}]" if breaches else "")
        table.rows.setdefault(row, {}).setdefault(record["task"], []).append(record["score"])
    return list(by_title.values())


def markdown(records: Sequence[Record]) -> str:
    """Return the tables in Markdown."""
    parts = []
    for table in tables(records):
        head, *lines = table.lines()
        rule = ["---", *["---:"] * (len(head) - 1)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
        parts.append(f"### {table.title[0].upper()}{table.title[1:]}\n\n{body}\n")
    return "\n".join(parts)


def page(records: Sequence[Record]) -> str:
    """Return one self-contained HTML page with tables and plots."""
    commits = sorted({str(record.get("commit")) for record in records})
    parts = [f"<p>{len(records)} results in percent; commit {html.escape(', '.join(commits))}.</p>"]
    for table in tables(records):
        parts.append(f"<h2>{html.escape(table.title)}</h2>\n{pages.table(table.lines())}")
        if means := table.means():
            parts.append(pages.figure(_chart(MEAN, means)))
        for task in table.tasks:
            scores = {row: fmean(cells[task]) for row, cells in table.rows.items() if task in cells}
            parts.append(pages.figure(_chart(task, scores)))
    return pages.page([], "noppa paper", "\n".join(parts))


def _chart(title: str, scores: dict[str, float]) -> Bars:
    """Return bars whose axis starts a little below the smallest score."""
    low, high = min(scores.values()), max(scores.values())
    start = max(0.0, round(low - 0.25 * max(high - low, 1), 1))
    values = np.array(list(scores.values()))
    return Bars(title, "Scores in percent.", tuple(scores), values, "score", start=start, digits=2)
