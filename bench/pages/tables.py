"""The tables of pages that are otherwise written by hand."""

from __future__ import annotations

from statistics import fmean

from noppa.evaluate import report
from noppa.evaluate.tasks import CLASSIFICATION
from pages.methods import vectors_of
from pages.results import method_rows, peer_rows, records_of

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


def model_card() -> str:
    """What docs/default-model.md says of quality: the table, and what rounding to 8 bits cost."""
    (table,) = report.tables(peer_rows())
    rounded = {(row["encoder"], row["task"]): row["score"] for row in records_of("presets")}
    losses = {}
    for row in records_of("rounding"):
        name, task = row["encoder"].partition(",")[0], row["task"]
        losses[name, task] = row["score"] - rounded[name, task]
    # each preset where it is meant to be used
    meant = {
        key: loss
        for key, loss in losses.items()
        if (key[0] == "default") == (key[1] in CLASSIFICATION)
    }
    worst, other = max(meant, key=meant.__getitem__), max(losses, key=losses.__getitem__)
    lines = [" | ".join(line) for line in table.lines()]
    rule = "|".join(["---", *["---:"] * (len(table.tasks) + 1)])
    return (
        f"| {lines[0]} |\n|{rule}|\n"
        + "".join(f"| {line} |\n" for line in lines[1:])
        + f"\nAgainst the same model in float32, each preset on the tasks that it is for, the largest loss is "
        f"{losses[worst]:.2f} points (`{worst[0]}` on {worst[1]}); of all tasks it is {losses[other]:.2f} "
        f"(`{other[0]}` on {other[1]}). The mean loss of `default` on the eight tasks is "
        f"{fmean(losses['default', task] for task in CLASSIFICATION):.2f}.\n"
    )
