"""What two rows of a table say of each other; a row without all eight tasks is a KeyError."""

from __future__ import annotations

from statistics import fmean

from noppa.paper.report import Table
from noppa.paper.tasks import CLASSIFICATION, TASKS


def scores_of(table: Table, row: str) -> dict[str, float]:
    """The scores of a row on the eight tasks."""
    return {task: fmean(table.rows[row][task]) for task in CLASSIFICATION}


def mean(table: Table, row: str) -> float:
    return fmean(scores_of(table, row).values())


def gain(table: Table, new: str, old: str) -> str:
    """The mean difference, with the smallest and the largest."""
    after, before = scores_of(table, new), scores_of(table, old)
    each = {task: after[task] - before[task] for task in CLASSIFICATION}
    low, high = min(each, key=each.__getitem__), max(each, key=each.__getitem__)
    return (
        f"{fmean(each.values()):+.2f} points in the mean of eight "
        f"(from {each[low]:+.2f} on {low} to {each[high]:+.2f} on {high})"
    )


def mean_gain(table: Table, new: str, old: str) -> float:
    return mean(table, new) - mean(table, old)


def uncertainty(table: Table, row: str) -> float:
    """The standard error of the mean of a row, from the number of rows that are marked."""
    errors = [standard_error(score, task) for task, score in scores_of(table, row).items()]
    return float(sum(error**2 for error in errors) ** 0.5 / len(errors))


def task_error(table: Table, task: str) -> float:
    """The standard error of a score on a task, at the mean score of the table."""
    scores = [fmean(cells[task]) for cells in table.rows.values() if task in cells]
    return standard_error(fmean(scores), task)


def standard_error(score: float, task: str) -> float:
    """Of a score in percent, from the number of rows that are marked."""
    marked = sum(file.rows for file in TASKS[task].files if file.part in ("test", "all"))
    return float(100 * (score / 100 * (1 - score / 100) / marked) ** 0.5)
