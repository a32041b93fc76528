"""What two rows of a table say of each other."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from noppa.evaluate.report import Table
from noppa.evaluate.tasks import CLASSIFICATION, TASKS


def shared_tasks(table: Table, rows: Sequence[str]) -> list[str]:
    """The tasks of the eight that all the rows have."""
    return [task for task in CLASSIFICATION if all(task in table.rows[row] for row in rows)]


def gain(table: Table, new: str, old: str) -> str:
    """The mean difference over the tasks that both have, with the smallest and the largest."""
    tasks = shared_tasks(table, [new, old])
    each = {task: fmean(table.rows[new][task]) - fmean(table.rows[old][task]) for task in tasks}
    low, high = min(each, key=each.__getitem__), max(each, key=each.__getitem__)
    return (
        f"{fmean(each.values()):+.2f} points in the mean of {len(tasks)} tasks "
        f"(from {each[low]:+.2f} on {low} to {each[high]:+.2f} on {high})"
    )


def mean_gain(table: Table, new: str, old: str) -> float:
    tasks = shared_tasks(table, [new, old])
    return (table.mean(new, tasks) or 0) - (table.mean(old, tasks) or 0)


def uncertainty(table: Table, row: str) -> float:
    """The standard error of a mean of tasks, from the number of rows that are marked."""
    tasks = shared_tasks(table, [row])
    variance = 0.0
    for task in tasks:
        share = fmean(table.rows[row][task]) / 100
        parts = ("test", "all")
        rows = sum(file.rows for file in TASKS[task].files if file.part in parts)
        variance += share * (1 - share) / rows
    return float(100 * variance**0.5 / len(tasks))
