"""Results as tables and plots. A result that broke the honest protocol carries its label wherever it stands."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, stdev

from noppa.evaluate.plots import bars
from noppa.evaluate.records import Record
from noppa.evaluate.tasks import CLASSIFICATION, TASKS

MEAN = "mean of eight"


@dataclass
class Table:
    """Encoders down, tasks across; a cell holds the scores of all seeds."""

    title: str
    rows: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    @property
    def tasks(self) -> list[str]:
        found = {task for cells in self.rows.values() for task in cells}
        return [name for name in TASKS if name in found]

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
    """What is not honest about a record, or not comparable."""
    found = {
        "transductive": record.get("transductive", False),
        "selected on test": record.get("selected_on", "dev") == "test",
        "unchecked data": not record.get("checked", True),
        "shuffled labels": record.get("shuffled_labels", False),
    }
    return [label for label, holds in found.items() if holds]


def tables(records: Sequence[Record]) -> list[Table]:
    """One table for each protocol and file of vectors, in the order of the records; trials of a search are left out."""
    found: dict[str, Table] = {}
    for record in records:
        if "trial" in record:
            continue
        vectors = (record.get("vectors") or {}).get("file")
        title = f"protocol {record['protocol']}" + (f", {vectors}" if vectors else "")
        table = found.setdefault(title, Table(title))
        marks = labels(record)
        row = record["encoder"] + (f" [{', '.join(marks)}]" if marks else "")
        table.rows.setdefault(row, {}).setdefault(record["task"], []).append(record["score"])
    return list(found.values())


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


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>noppa bench</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; color: #222 }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums }}
td, th {{ padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd }}
td:first-child, th:first-child {{ text-align: left }}
svg {{ max-width: 100%; margin: 1rem 0 }}
</style></head><body><h1>noppa bench</h1>
<p>{note}</p>
{body}
</body></html>
"""


def page(records: Sequence[Record]) -> str:
    """One HTML page with tables and plots inside, which asks nothing of the network."""
    parts = []
    for table in tables(records):
        head, *lines = table.lines()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        body = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in line)}</tr>\n"
            for line in lines
        )
        parts.append(
            f"<h2>{html.escape(table.title)}</h2>\n<table><tr>{cells}</tr>\n{body}</table>\n"
        )
        means = {row: mean for row in table.rows if (mean := table.mean(row)) is not None}
        if means:
            parts.append(bars(MEAN, means))
        parts += [
            bars(
                task,
                {row: fmean(cells[task]) for row, cells in table.rows.items() if task in cells},
            )
            for task in table.tasks
        ]
    commits = sorted({str(record.get("commit")) for record in records})
    note = f"{len(records)} results in percent; commit {html.escape(', '.join(commits))}."
    return PAGE.format(note=note, body="\n".join(parts))


FORMATS: dict[str, Callable[[Sequence[Record]], str]] = {
    "markdown": markdown,
    "latex": latex,
    "html": page,
}
