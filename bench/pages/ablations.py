"""The ablations, and what noise removal is worth."""

from __future__ import annotations

from statistics import fmean

from noppa.evaluate import report
from noppa.evaluate import results as records
from noppa.evaluate.report import Table
from pages.comparisons import gain, mean_gain, uncertainty
from pages.results import records_of


def ablations() -> str:
    rows = records_of("ablations")
    if not rows:
        return ""
    (table,) = report.tables(rows)
    return (
        f"## Ablations and noise removal\n\nWith {used(rows)}.\n\n{report.markdown(rows)}\n"
        f"- The contextual half (CE-avg against the average): {gain(table, 'CE-avg', 'Average')}.\n"
        f"- The frequency weight (CE+SFW against CE-avg): {gain(table, 'CE+SFW', 'CE-avg')}.\n"
        f"- Noise removal as the paper writes it, without weights (CE-avg+NR against CE-avg): "
        f"{gain(table, 'CE-avg+NR', 'CE-avg')}.\n"
        f"- Noise removal as the paper writes it, with weights (NoPPA against CE+SFW): {gain(table, 'NoPPA', 'CE+SFW')}.\n"
        f"- Noise removal as the authors' program does it, against none: "
        f"{gain(table, 'NoPPA, noise=reference', 'CE+SFW')}.\n"
        f"- Taking out the first k directions instead of the last, against none: "
        f"{gain(table, 'NoPPA, first-k removed', 'CE+SFW')}.\n"
        f"{similarity_of_noise(table)}\n{noise_verdict(table)}\n\n"
    )


def noise_verdict(table: Table) -> str:
    """What noise removal is worth to a classifier, in one sentence."""
    kinds = {
        "as the paper writes it": "NoPPA",
        "as the authors' program does it": "NoPPA, noise=reference",
        "of the first k directions": "NoPPA, first-k removed",
    }
    error = uncertainty(table, "CE+SFW")
    parts = []
    for name, row in kinds.items():
        change = mean_gain(table, row, "CE+SFW")
        size = "less than" if abs(change) < error else "more than"
        parts.append(f"removal {name} moves the mean of eight by {change:+.2f}, {size} that error")
    return (
        f"So, against no noise removal and with a standard error of {error:.2f} from the number of marked rows: "
        f"{'; '.join(parts)}."
    )


def used(rows: list[records.Record]) -> str:
    parameters = next(row["parameters"] for row in rows if row["encoder"] == "NoPPA")
    return f"a={parameters['a']} and k={parameters['k']}"


def similarity_of_noise(table: Table) -> str:
    """What the kinds of noise removal do to the similarity tasks, where no classifier can undo them."""
    lines = []
    for task in ("STS-B", "SICK-R"):
        kinds = ("CE+SFW", "NoPPA", "NoPPA, noise=reference", "NoPPA, first-k removed")
        if all(task in table.rows.get(kind, {}) for kind in kinds):
            none, paper, reference, first = (fmean(table.rows[kind][task]) for kind in kinds)
            lines.append(
                f"- On {task}: none {none:.2f}, paper {paper:.2f}, reference {reference:.2f}, first k {first:.2f}.\n"
            )
    return "".join(lines)
