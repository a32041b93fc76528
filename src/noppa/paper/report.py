"""Results as tables and plots. A result that broke the honest protocol is labelled in every one of them."""

from __future__ import annotations

import csv
import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import StringIO
from statistics import fmean, stdev

import numpy as np

from noppa.paper.results import Record
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
        scored = {task for cells in self.rows.values() for task in cells}
        return [name for name in TASKS if name in scored]

    def mean(self, row: str, of: Sequence[str] = CLASSIFICATION) -> float | None:
        """The mean over tasks, None where one is missing."""
        cells = self.rows[row]
        if not all(name in cells for name in of):
            return None
        return fmean(fmean(cells[name]) for name in of)

    def lines(self) -> list[list[str]]:
        """The table as text, its head first."""
        averaged = [self.mean(row) is not None for row in self.rows]
        head = ["encoder", *self.tasks, *([MEAN] if any(averaged) else [])]
        lines = [head]
        for row, cells in self.rows.items():
            line = [row, *(shown(cells.get(task, [])) for task in self.tasks)]
            if any(averaged):
                mean = self.mean(row)
                line.append(shown([] if mean is None else [mean]))
            lines.append(line)
        return lines


def shown(scores: Sequence[float]) -> str:
    """A score, or the mean and deviation of several."""
    if not scores:
        return ""
    if len(scores) == 1:
        return f"{scores[0]:.2f}"
    return f"{fmean(scores):.2f} ± {stdev(scores):.2f}"


def labels(record: Record) -> list[str]:
    """Labels of a record that broke the honest protocol or is not comparable."""
    breaches = {
        "transductive": record.get("transductive", False),
        "selected on test": record.get("selected_on", "dev") == "test",
        "unchecked data": not record.get("checked", True),
        "shuffled labels": record.get("shuffled_labels", False),
    }
    return [label for label, holds in breaches.items() if holds]


def tables(records: Sequence[Record]) -> list[Table]:
    """One table for each protocol and file of vectors, in the order of the records; trials of a search are left out."""
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
    """Tables in Markdown."""
    parts = []
    for table in tables(records):
        head, *lines = table.lines()
        rule = ["---", *["---:"] * (len(head) - 1)]
        body = "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])
        parts.append(f"### {table.title[0].upper()}{table.title[1:]}\n\n{body}\n")
    return "\n".join(parts)


def latex(records: Sequence[Record]) -> str:
    """Tables in LaTeX, for booktabs."""
    parts = []
    for table in tables(records):
        head, *lines = table.lines()
        body = "\n".join(" & ".join(map(_escaped, line)) + r" \\" for line in lines)
        parts.append(
            f"% {table.title}\n\\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}\n\\toprule\n"
            f"{' & '.join(map(_escaped, head))} \\\\\n\\midrule\n{body}\n\\bottomrule\n\\end{{tabular}}\n"
        )
    return "\n".join(parts)


def _escaped(text: str) -> str:
    for character in "&%_#":
        text = text.replace(character, "\\" + character)
    return text.replace("±", r"$\pm$")


def text(records: Sequence[Record]) -> str:
    """Tables for a terminal, in columns."""
    parts = []
    for table in tables(records):
        lines = table.lines()
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        body = [
            "  ".join(
                cell.rjust(width) if at else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        ]
        parts.append("\n".join([table.title, *body]) + "\n")
    return "\n".join(parts)


def separated(records: Sequence[Record]) -> str:
    """Every score as a line of CSV, with the table that it belongs to."""
    out = StringIO()
    lines = csv.writer(out, lineterminator="\n")
    lines.writerow(["table", "encoder", "task", "score", "scores"])
    for table in tables(records):
        for row, cells in table.rows.items():
            for task in table.tasks:
                scores = cells.get(task, [])
                if scores:
                    lines.writerow([table.title, row, task, f"{fmean(scores):.4f}", len(scores)])
    return out.getvalue()


def pictures(records: Sequence[Record]) -> list[Bars]:
    """For each table the mean of eight, or the only task."""
    drawn = []
    for table in tables(records):
        means = {row: mean for row in table.rows if (mean := table.mean(row)) is not None}
        if means:
            drawn.append(_chart(f"{table.title}: {MEAN}", means))
        for task in () if means else table.tasks:
            scores = {row: fmean(cells[task]) for row, cells in table.rows.items() if task in cells}
            drawn.append(_chart(f"{table.title}: {task}", scores))
    return drawn


def page(records: Sequence[Record]) -> str:
    """One self-contained HTML page with tables and plots."""
    commits = sorted({str(record.get("commit")) for record in records})
    parts = [f"<p>{len(records)} results in percent; commit {html.escape(', '.join(commits))}.</p>"]
    for table in tables(records):
        parts.append(f"<h2>{html.escape(table.title)}</h2>\n{pages.table(table.lines())}")
        means = {row: mean for row in table.rows if (mean := table.mean(row)) is not None}
        if means:
            parts.append(_bars(MEAN, means))
        for task in table.tasks:
            scores = {row: fmean(cells[task]) for row, cells in table.rows.items() if task in cells}
            parts.append(_bars(task, scores))
    return pages.page([], "noppa bench", "\n".join(parts))


def _bars(title: str, scores: dict[str, float]) -> str:
    return pages.figure(_chart(title, scores))


def _chart(title: str, scores: dict[str, float]) -> Bars:
    """The axis starts a little below the smallest score, and says so."""
    low, high = min(scores.values()), max(scores.values())
    start = max(0.0, round(low - 0.25 * max(high - low, 1), 1))
    values, known = np.array(list(scores.values())), np.ones(len(scores), bool)
    note = "Scores in percent."
    return Bars(title, note, tuple(scores), values, "score", known, start=start, digits=2)


FORMATS: dict[str, Callable[[Sequence[Record]], str]] = {
    "markdown": markdown,
    "latex": latex,
    "html": page,
    "csv": separated,
    "text": text,
}
