"""Choice on development rows against choice on test."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from noppa.evaluate import report
from noppa.evaluate import results as records
from noppa.evaluate.tasks import CLASSIFICATION, TASKS
from pages.comparisons import uncertainty
from pages.results import records_of


def selection() -> str:
    whole = [row for row in records_of("search") if "search" in row]
    if not whole:
        return ""
    honest = scores_of(whole, [])
    paper = scores_of(whole, ["transductive", "selected on test"])
    both = [task for task in TASKS if task in honest and task in paper]
    trials = {row["task"]: row["search"]["trials"] for row in whole}
    lines = [
        "| task | trials | seeds | honest | as the paper | difference |",
        "|---|" + "---:|" * 5,
    ]
    for task in both:
        left, right = honest[task], paper[task]
        lines.append(
            f"| {task} | {trials[task]} | {len(left)}, {len(right)} | {report.shown(left)} | {report.shown(right)} | "
            f"{fmean(right) - fmean(left):+.2f} |"
        )
    eight = [task for task in both if task in CLASSIFICATION]
    missing = [task for task in CLASSIFICATION if task not in both]
    return (
        "## Honest choice against the paper's\n\n"
        "NoPPA on glove.6B.100d.npy, protocol fast: a search over a and k that follows development rows, against one as "
        "the paper's, which follows the test score and fits on test text (transductive, selected on test). With several "
        "seeds of the search, their mean ± deviation.\n\n"
        + "\n".join(lines)
        + f"\n\n{owed(honest, paper, eight)}"
        + (f" Not searched: {', '.join(missing)}." if missing else "")
        + "\n\n"
    )


def scores_of(rows: Sequence[records.Record], labels: list[str]) -> dict[str, list[float]]:
    """The scores of all seeds for each task, of rows with just these labels."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if report.labels(row) == labels:
            scores.setdefault(row["task"], []).append(row["score"])
    return scores


def owed(honest: dict[str, list[float]], paper: dict[str, list[float]], tasks: list[str]) -> str:
    """How much of the gain over the average is owed to the choice on test."""
    plain = {
        name: {
            row["task"]: row["score"] for row in records_of("ablations") if row["encoder"] == name
        }
        for name in ("NoPPA", "Average")
    }
    fair = fmean(fmean(honest[task]) - plain["Average"][task] for task in tasks)
    best = fmean(fmean(paper[task]) - plain["Average"][task] for task in tasks)
    default = fmean(plain["NoPPA"][task] - plain["Average"][task] for task in tasks)
    return (
        f"In the mean of these {len(tasks)} classification tasks NoPPA gains {best:+.2f} points over the average when it is "
        f"chosen on test as in the paper, {fair:+.2f} when it is chosen on development rows, and {default:+.2f} with its "
        f"default parameters: {best - fair:.2f} points, {100 * (best - fair) / best:.0f} percent of the gain, are "
        f"selection on test (with test text in the fit). {uncertain(best, fair)}"
    )


def uncertain(best: float, fair: float) -> str:
    """How far the share moves when the gain does, within the standard error of a mean of eight."""
    (table,) = report.tables(records_of("ablations"))
    error = uncertainty(table, "NoPPA")
    low, high = (100 * (best - fair) / (best + sign * error) for sign in (1, -1))
    return (
        f"The gain itself is uncertain by about {error:.2f}, so that the share may be {low:.0f} to {high:.0f} percent; both searches "
        "are scored on the same rows, and most tasks have one to three seeds."
    )
