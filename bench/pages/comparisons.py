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


def uncertainty(table: Table, row: str, of: Sequence[str] | None = None) -> float:
    """The standard error of a mean of tasks, by default of all that a row has, from the number of rows that are marked."""
    tasks = shared_tasks(table, [row]) if of is None else of
    variance = sum(standard_error(fmean(table.rows[row][task]), task) ** 2 for task in tasks)
    return float(variance**0.5 / len(tasks))


def task_error(table: Table, task: str) -> float:
    """The standard error of a score on a task, at the mean score of the table."""
    scores = [fmean(cells[task]) for cells in table.rows.values() if task in cells]
    return standard_error(fmean(scores), task)


def standard_error(score: float, task: str) -> float:
    """Of a score in percent, from the number of rows that are marked."""
    marked = sum(file.rows for file in TASKS[task].files if file.part in ("test", "all"))
    return float(100 * (score / 100 * (1 - score / 100) / marked) ** 0.5)
