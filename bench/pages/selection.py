"""Choice on development rows against choice on test: the search for a and k, Table 2, and the authors' run."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from noppa.evaluate import report
from noppa.evaluate.report import Table
from noppa.evaluate.results import Record
from noppa.evaluate.tasks import CLASSIFICATION, TASKS
from pages.comparisons import uncertainty
from pages.results import plain_rows, records_of
from pages.table_1 import PAPER, rule, table_of, whole

GLOVE = "glove.6B.100d.npy"
HONEST: list[str] = []
AS_PAPER = ["transductive", "selected on test"]


def whole_searches(name: str) -> list[Record]:
    return [row for row in records_of(name) if "search" in row]


def has_all(rows: Sequence[Record]) -> bool:
    """Whether each of the eight tasks was searched in both ways."""
    return all(set(CLASSIFICATION) <= set(scores_of(rows, labels)) for labels in (HONEST, AS_PAPER))


def searched() -> list[Record]:
    """Whole searches on SentEval's files; the earlier ones, on the published files, as long as these lack tasks."""
    rows = whole_searches("paper_search")
    return rows if has_all(rows) else whole_searches("search")


def defaults() -> Table:
    """The average and NoPPA with its default parameters, on the files that were searched."""
    if has_all(whole_searches("paper_search")) and whole(table_of("fast", GLOVE), "NoPPA"):
        return table_of("fast", GLOVE)
    rows = [row for row in plain_rows() if row["vectors"]["file"] == GLOVE]
    return report.tables(rows)[0]


def selection() -> str:
    rows = searched()
    honest, paper = scores_of(rows, HONEST), scores_of(rows, AS_PAPER)
    both = [task for task in TASKS if task in honest and task in paper]
    trials = {row["task"]: row["search"]["trials"] for row in rows}
    lines = ["| task | trials | seeds | honest | as the paper | difference |", rule(5)]
    for task in both:
        left, right = honest[task], paper[task]
        lines.append(
            f"| {task} | {trials[task]} | {len(left)}, {len(right)} | {report.shown(left)} | {report.shown(right)} | "
            f"{fmean(right) - fmean(left):+.2f} |"
        )
    return (
        "## Honest choice against the paper's\n\n"
        f"NoPPA on {GLOVE}, protocol fast: a search over a and k that follows development rows, against one as the paper's, which follows the "
        "test score and fits on test text (transductive, selected on test). With several seeds of the search, their mean ± deviation. "
        f"{which()}\n\n"
        + "\n".join(lines)
        + f"\n\n{owed(honest, paper, [task for task in both if task in CLASSIFICATION])}\n\n{table_2(rows)}{replayed()}"
    )


def which() -> str:
    """On what files the search ran, and what is still to come."""
    new = whole_searches("paper_search")
    if has_all(new):
        return "On SentEval's files; on tasks with outer folds each fold has a search of its own, guided by its own development rows."
    done = sorted({row["task"] for row in new})
    return (
        "On the published files, where trials on tasks with outer folds were drawn at random. `noppa bench paper --part search` repeats it on "
        f"SentEval's files with five seeds and guided on every task, 2.5 hours of CPU time; done so far: {', '.join(done) or 'none'}."
    )


def scores_of(rows: Sequence[Record], labels: list[str]) -> dict[str, list[float]]:
    """The scores of all seeds for each task, of rows with just these labels."""
    scores: dict[str, list[float]] = {}
    for row in rows:
        if report.labels(row) == labels:
            scores.setdefault(row["task"], []).append(row["score"])
    return scores


def owed(honest: dict[str, list[float]], paper: dict[str, list[float]], tasks: list[str]) -> str:
    """How much of the gain over the average is owed to the choice on test."""
    table = defaults()
    average = {task: fmean(table.rows["Average"][task]) for task in tasks}
    fair, best = (
        fmean(fmean(own[task]) - average[task] for task in tasks) for own in (honest, paper)
    )
    default = fmean(fmean(table.rows["NoPPA"][task]) - average[task] for task in tasks)
    error = uncertainty(table, "NoPPA", tasks)
    low, high = (100 * (best - fair) / (best + sign * error) for sign in (1, -1))
    seeds = [len(own[task]) for own in (honest, paper) for task in tasks]
    return (
        f"In the mean of these {len(tasks)} classification tasks NoPPA gains {best:+.2f} points over the average when it is "
        f"chosen on test as in the paper, {fair:+.2f} when it is chosen on development rows, and {default:+.2f} with its "
        f"default parameters: {best - fair:.2f} points, {100 * (best - fair) / best:.0f} percent of the gain, are "
        f"selection on test (with test text in the fit). The gain itself is uncertain by about {error:.2f}, so that the share may be "
        f"{low:.0f} to {high:.0f} percent; both searches are scored on the same rows, with {min(seeds)} to {max(seeds)} seeds a task."
    )


def table_2(rows: Sequence[Record]) -> str:
    """The a and k that were best: Table 2 of the paper from our trials."""
    lines = [
        "| task | a, k chosen on test, a seed each | a chosen on development rows, median (lowest, highest) |",
        "|---|---|---|",
    ]
    for task in CLASSIFICATION:
        kinds = {
            kind: chosen(rows, task, labels)
            for kind, labels in (("test", AS_PAPER), ("dev", HONEST))
        }
        if not all(kinds.values()):
            continue
        best = "; ".join(f"{each['a']:.3f}, {each['k']}" for each in kinds["test"])
        own = [each["a"] for each in kinds["dev"]]
        lines.append(f"| {task} | {best} | {median(own):.3f} ({min(own):.3f}, {max(own):.3f}) |")
    return (
        "Table 2 of the paper, from these searches (a from 0.01 to 0.15, k from 0 to 24):\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def chosen(rows: Sequence[Record], task: str, labels: list[str]) -> list[dict[str, float]]:
    """The parameters that searches took: one for each seed, or for each seed and fold."""
    found: list[dict[str, float]] = []
    for row in rows:
        if row["task"] == task and report.labels(row) == labels:
            own = row["parameters"]["chosen"]
            found += own if isinstance(own, list) else [own]
    return found


def replayed() -> str:
    """The authors' run beside an honest search with the same classifier."""
    rows = whole_searches("paper_replay")
    honest, theirs = scores_of(rows, HONEST), scores_of(rows, AS_PAPER)
    both = [task for task in CLASSIFICATION if task in honest and task in theirs]
    lacking = [task for task in CLASSIFICATION if task not in both]
    command = f"`noppa bench paper … --part replay --tasks {','.join(lacking)}`"
    head = (
        "### The authors' run, replayed\n\nTheir positions, their noise removal, probability 0 for words without a count, fitted on test text, a and "
        f"k chosen on test, their classifier; beside an honest search with that classifier. On SentEval's files and {GLOVE}.\n\n"
    )
    if not both:
        return f"{head}Not run yet: {command} makes it, about 24 minutes of CPU time for SST2, TREC, MRPC and SICK-E, an hour and a half for the others, which have fewer trials.\n\n"
    trials = {row["task"]: row["search"]["trials"] for row in rows}
    paper = dict(zip(CLASSIFICATION, PAPER["NoPPA"], strict=True))
    lines = [
        "| task | trials | as the authors | honest | difference | the paper's score |",
        rule(5),
    ]
    for task in both:
        left, right = fmean(honest[task]), fmean(theirs[task])
        lines.append(
            f"| {task} | {trials[task]} | {right:.2f} | {left:.2f} | {right - left:+.2f} | {paper[task]} |"
        )
    mean = fmean(fmean(theirs[task]) - fmean(honest[task]) for task in both)
    absent = (
        f" Not run yet: {', '.join(lacking)}, about {22 * len(lacking)} minutes of CPU time; {command} makes them."
        if lacking
        else ""
    )
    return f"{head}{chr(10).join(lines)}\n\nIn the mean of these {len(both)} tasks the authors' run is {mean:+.2f} above the honest one.{absent}\n\n"
