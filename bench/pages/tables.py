"""The table of README.md."""

from __future__ import annotations

from noppa.evaluate import report
from pages.methods import vectors_of
from pages.results import method_rows, peer_rows

SHORT = ("Average", "SIF", "DCT", "VLAWE", "NoPPA")


def short_table() -> str:
    """A few rows of all tables: the mean of the eight tasks, and the similarity tasks."""
    lines = [
        "| word vectors | encoder | mean of eight | STS-B | SICK-R |",
        "|---|---|---:|---:|---:|",
    ]
    for table in report.tables([*method_rows(), *peer_rows()]):
        vectors = vectors_of(table)
        for row, cells in table.rows.items():
            mean = table.mean(row)
            if mean is not None and (row in SHORT or not vectors):
                similar = " | ".join(
                    report.shown(cells.get(task, [])) for task in ("STS-B", "SICK-R")
                )
                lines.append(f"| {vectors or 'its own'} | {row} | {mean:.2f} | {similar} |")
    return "\n".join(lines) + "\n"
