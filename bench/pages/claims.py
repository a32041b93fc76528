"""What the paper says of rows of its Table 1, judged in every setting: a file of vectors and a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from noppa.evaluate.report import Table
from noppa.evaluate.tasks import CLASSIFICATION
from pages.comparisons import shared_tasks, standard_error, uncertainty
from pages.gains import gain_of, settings
from pages.table_1 import FILES, PAPER, PROTOCOLS, table_of, whole

HELD, FAILED, UNTESTED = "held", "did not hold", "cannot be tested here"
BAGS = ("Average", "TfIdf", "SIF", "USIF")
METHODS = ("Average", "TfIdf", "SIF", "USIF", "VLAWE", "DCT", "S3E", "GEM", "NoPPA")


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was found, and what follows."""

    said: str
    found: str
    verdict: str


def judged(outcomes: Sequence[int], partial: bool) -> str:
    """From +1 (better beyond the error), 0 (a tie) and -1 (worse) for each setting; partial: of some tasks alone."""
    if not outcomes:
        return "not tested yet"
    better = sum(outcome > 0 for outcome in outcomes)
    if better == len(outcomes):
        verdict = HELD
    elif better:
        verdict = f"held in {better} of {len(outcomes)} settings"
    else:
        verdict = FAILED if any(outcome < 0 for outcome in outcomes) else f"{FAILED}: a tie"
    return f"{verdict}, so far" if partial else verdict


def compared(said: str, new: str, old: str) -> Claim:
    """Judged by the settings that have all eight tasks; as long as there are none, by those that have some."""
    gains = [gain for setting in settings() if (gain := gain_of(setting.table, new, old))]
    complete = [gain for gain in gains if gain.complete]
    used, partial = complete or gains, not complete
    if not used:
        return Claim(said, "Not run yet.", judged([], partial))
    outcomes = [gain.sign for gain in used]
    low, high = (pick(gain.gain for gain in used) for pick in (min, max))
    counts = [
        f"{word} in {outcomes.count(way)}"
        for word, way in (("better", 1), ("tied", 0), ("worse", -1))
    ]
    tasks = sorted({len(gain.tasks) for gain in used})
    mean = (
        f"{' to '.join(map(str, dict.fromkeys([tasks[0], tasks[-1]])))} tasks"
        if partial
        else "eight"
    )
    found = f"{new} against {old}: {', '.join(counts)} of {len(used)} setting{'s' * (len(used) > 1)}, from {low:+.2f} to {high:+.2f} in the mean of {mean}."
    if (new, old) == ("CE-avg", "Average"):
        before, after = (PAPER[name][CLASSIFICATION.index("SST2")] for name in (old, new))
        found += f" {lower_tasks()} In the paper's own table it also falls on SST2, from {before} to {after}."
    return Claim(said, found, judged(outcomes, partial))


def lower_tasks() -> str:
    """Where the contextual half does not help."""
    found: dict[str, int] = {}
    for setting in settings():
        table = setting.table
        if gain_of(table, "CE-avg", "Average") is not None:
            for task in shared_tasks(table, ["CE-avg", "Average"]):
                lower = cell(table, "CE-avg", task) <= cell(table, "Average", task)
                found[task] = found.get(task, 0) + lower
    times = ", ".join(f"{task} ({count})" for task, count in found.items() if count)
    return f"Tasks on which it is not higher, and in how many settings: {times or 'none'}."


def best_of_bags() -> Claim:
    """Task by task: lost where another is higher, clearly where by more than the error of one task."""
    cells = 0
    lost: list[str] = []
    clear: list[str] = []
    for setting in settings():
        table = setting.table
        if not {*BAGS, "NoPPA"} <= set(table.rows):
            continue
        for task in shared_tasks(table, [*BAGS, "NoPPA"]):
            theirs = max(cell(table, row, task) for row in BAGS)
            ours = cell(table, "NoPPA", task)
            cells += 1
            if theirs >= ours:
                lost.append(task)
                if theirs - ours > standard_error(theirs, task):
                    clear.append(task)
    return Claim(
        "NoPPA outperforms all bag-of-words methods on each data set",
        f"Against Average, TF-IDF, SIF and uSIF, NoPPA is not the best in {len(lost)} of {cells} cells of data set and setting ({by_task(lost)}), by more "
        f"than the standard error of the task in {len(clear)} ({by_task(clear)}).",
        "not tested yet" if not cells else FAILED if lost else HELD,
    )


def by_task(found: Sequence[str]) -> str:
    """How often each task was found."""
    counts = [f"{task} {found.count(task)}" for task in CLASSIFICATION if task in found]
    return ", ".join(counts) or "none"


def cell(table: Table, row: str, task: str) -> float:
    return fmean(table.rows[row][task])


def best_of_all() -> Claim:
    """First, or behind the first by no more than the error, on the tasks that all methods have."""
    runs = [
        (setting, tasks)
        for setting in settings()
        if set(METHODS) <= set(setting.table.rows)
        and (tasks := shared_tasks(setting.table, METHODS))
    ]
    complete = [run for run in runs if len(run[1]) == len(CLASSIFICATION)]
    parts, outcomes = [], []
    for setting, tasks in complete or runs:
        means = {row: setting.table.mean(row, tasks) or 0 for row in METHODS}
        order = sorted(means, key=means.__getitem__, reverse=True)
        behind = means[order[0]] - means["NoPPA"]
        outcomes.append(1 if behind <= uncertainty(setting.table, "NoPPA", tasks) else -1)
        shown = ", ".join(f"{row} {means[row]:.2f}" for row in order[:3])
        at = order.index("NoPPA") + 1
        place = "" if at <= 3 else f", NoPPA {means['NoPPA']:.2f} at place {at}"
        some = "" if complete else f" ({', '.join(tasks)})"
        parts.append(f"{setting.name}{some}: {shown}{place}")
    return Claim(
        "NoPPA is comparable to or better than the state of the art of non-parametric methods on average",
        f"The best means. {'. '.join(parts)}." if parts else "Not run yet.",
        judged(outcomes, not complete),
    )


def parametric() -> Claim:
    """NoPPA against trained encoders, on the tasks that both have."""
    gains: dict[str, list[float]] = {}
    for protocol in PROTOCOLS:
        for file in FILES:
            own = table_of(protocol, file).rows.get("NoPPA", {})
            for name, cells in table_of(protocol, None).rows.items():
                tasks = [task for task in CLASSIFICATION if task in own and task in cells]
                if tasks:
                    each = [fmean(own[task]) - fmean(cells[task]) for task in tasks]
                    gains.setdefault(name, []).append(fmean(each))
    parts = [
        f"{name}: from {min(own):+.2f} to {max(own):+.2f} in {len(own)} settings"
        for name, own in gains.items()
    ]
    better = sum(fmean(own) > 0 for own in gains.values())
    return Claim(
        "Compared with parametric models, NoPPA does better than most",
        f"NoPPA with its defaults against trained encoders, mean of the tasks that both have: {'; '.join(parts)}. Those of the paper are older."
        if parts
        else "Not run yet.",
        judged([], True) if not parts else HELD if better > len(gains) / 2 else FAILED,
    )


def done() -> str:
    """Which settings have all rows: those without are shown where they have tasks, and not judged."""
    names = [setting.name for setting in settings()]
    complete = [
        setting.name for setting in settings() if all(whole(setting.table, row) for row in METHODS)
    ]
    if len(complete) == len(names):
        return f"All {len(names)} settings have all eight tasks."
    partial = [name for name in names if name not in complete]
    return f"{len(complete)} of {len(names)} settings have all eight tasks; not yet: {'; '.join(partial)}."
