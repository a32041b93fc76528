"""The tables of README.md and docs/comparison.md: quality, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from noppa.paper import report
from pages.embedded import cost_rows, of_context, table
from pages.results import FIRST_EDITION, peer_rows, plain_rows

#: Of the methods on plain word vectors, the one that readers ask for first.
PLAIN = "NoPPA"


def quality() -> str:
    """The mean of the eight tasks and the similarity tasks, of the presets, of plain vectors, and of peers."""
    lines = [line for line in quality_lines() if FIRST_EDITION not in line[0]]
    return table(["", "mean of eight", "STS-B", "SICK-R"], lines) + (
        "\nAccuracy in percent over MR, CR, SUBJ, MPQA, SST2, TREC, MRPC and SICK-E by logistic regression on the vectors; Spearman's correlation "
        "of cosines times 100.\n"
    )


def quality_lines() -> Iterable[list[str]]:
    for scores in report.tables([*peer_rows(), *plain_rows()]):
        vectors = scores.title.partition(", ")[2]
        for row, cells in scores.rows.items():
            mean = scores.mean(row)
            if mean is not None and (row == PLAIN or not vectors):
                name = f"`noppa.{row}` on {vectors}" if vectors else row
                similar = [report.shown(cells.get(task, [])) for task in ("STS-B", "SICK-R")]
                yield [name, f"{mean:.2f}", *similar]


def speed() -> str:
    """What a text, a start and the memory cost, of the presets and of peers."""
    rows = {
        name: row
        for name, row in cost_rows().items()
        if FIRST_EDITION not in name and "processes" not in name
    }
    head = ["", "texts a CPU second", "cold start, CPU ms", "MB of memory", "MB on disk", "speed, model2vec = 1"]  # fmt: skip
    lines = (
        [
            name,
            *cost_cells(row),
            "" if row["bytes"] is None else f"{row['bytes'] / 1e6:.1f}",
            f"{row['cpu_ratio']:.3g}",
        ]
        for name, row in rows.items()
    )
    return table(head, lines) + (
        "\nSentences of SICK from raw text on two threads, in the CPU time of both; memory after the first vector; on disk the wheel with all presets, for "
        f"MiniLM the graph alone. model2vec is its average of words in 300 dimensions. {of_context()}".rstrip()
        + "\n"
    )


def glance() -> str:
    """Quality and cost in one table, of whatever was measured in part at least."""
    scored = {name: cells for name, *cells in quality_lines()}
    costs = {name: row for name, row in cost_rows().items() if "processes" not in name}
    head = ["", "mean of eight", "STS-B", "SICK-R", "texts a CPU second", "cold start, CPU ms", "MB of memory"]  # fmt: skip
    return table(
        head,
        (
            [name, *scored.get(name, [""] * 3), *cost_cells(costs.get(name))]
            for name in {**scored, **costs}
            if FIRST_EDITION not in name
        ),
    )


def cost_cells(row: dict[str, Any] | None) -> list[str]:
    if row is None:
        return [""] * 3
    return [
        f"{1 / row['cpu_seconds']:,.0f}",
        f"{1000 * row['cold_start']:.0f}",
        f"{row['memory_first'] / 1e6:.0f}",
    ]
