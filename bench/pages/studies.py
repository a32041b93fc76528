"""The parts of `noppa bench paper`: what ran, as tables, and what did not run yet, with the command that runs it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from noppa.evaluate import report
from noppa.evaluate import results as records
from noppa.evaluate.experiments import GRID_A, GRID_K, PARTS
from noppa.evaluate.tasks import CLASSIFICATION
from pages.paper import TABLE_1, TASKS, speed_rows, timing
from pages.results import lines_of, records_of, timed

#: The rows of Table 1 that the paper has not.
MORE = ("USIF", "NoPPA, rich parts")
COMMAND = (
    "noppa bench paper --data SentEval/data --vectors glove.6B.100d.npy --counts enwiki_vocab_min200.txt "
    "--corpus text.txt -o bench/results --part"
)


def table_1() -> str:
    """Our scores with the paper's classifier, the paper's own in brackets: a table for each file of vectors."""
    rows = records_of("paper_senteval")
    if not rows:
        return ""
    files = dict.fromkeys(row["vectors"]["file"] for row in rows)
    return (
        "### Table 1 with the paper's classifier\n\nProtocol senteval, SentEval's own files, every method with its default "
        "parameters, nothing chosen or fitted on test. In brackets the paper's numbers, with GloVe 840B of 300 dimensions, which was "
        "not to be had: only gains and ranks compare. A dash: not run yet, or not in the paper.\n\n"
        + "".join(
            _table_1(file, [row for row in rows if row["vectors"]["file"] == file])
            for file in files
        )
    )


def _table_1(file: str, rows: Sequence[records.Record]) -> str:
    scores = {(row["encoder"], row["task"]): row["score"] for row in rows}
    lines = [f"| {file} | {' | '.join(TASKS)} |", "|---|" + "---:|" * len(TASKS)]
    for name in (*TABLE_1, *MORE):
        theirs = TABLE_1.get(name, (None,) * len(TASKS))
        cells = [
            _cell(scores.get((name, task)), paper)
            for task, paper in zip(TASKS, theirs, strict=True)
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    errors = ", ".join(f"{task} {_error(rows, task):.2f}" for task in TASKS if _error(rows, task))
    left = len(TASKS) * len({*TABLE_1, *MORE}) - len(scores)
    unfinished = f"; {left} are not run yet" if left else ""
    return (
        "\n".join(lines)
        + f"\n\nStandard errors from the number of marked rows: {errors}. {len(scores)} cells, {timed(rows)}{unfinished}.\n\n"
    )


def _cell(score: float | None, paper: float | None) -> str:
    return f"{'–' if score is None else f'{score:.2f}'} ({'–' if paper is None else paper})"


def _error(rows: Sequence[records.Record], task: str) -> float:
    found = [row["score"] / 100 for row in rows if row["task"] == task]
    if not found:
        return 0.0
    from noppa.evaluate.tasks import TASKS as ALL

    marked = sum(file.rows for file in ALL[task].files if file.part in ("test", "all"))
    return 100 * (fmean(found) * (1 - fmean(found)) / marked) ** 0.5


def speed() -> str:
    files = sorted({row["vectors"]["file"] for row in records_of("paper_speed")})
    if not files:
        return ""
    lines = [f"| method | {' | '.join(files)} |", "|---|" + "---:|" * len(files)]
    rows = {file: speed_rows(file) for file in files}
    for name in rows[files[0]]:
        cells = [timing(rows[file][name]) if name in rows[file] else "–" for file in files]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return (
        "### Speed\n\nCPU seconds for the 19,854 sentences of SICK, one thread, mean and standard error of ten runs on a machine that "
        "had other work. The paper has 7.55 for NoPPA, 2.45 without log2 and 3.23 for S3E, on its own machine.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def grids() -> dict[str, list[list[float]]]:
    """Scores of each task that has all cells: a down, k across."""
    scores = {(row["task"], row["encoder"]): row["score"] for row in records_of("paper_grid")}
    tasks = {}
    for task in dict.fromkeys(task for task, _ in scores):
        names = [[(task, f"NoPPA(a={a:g}, k={k})") for k in GRID_K] for a in GRID_A]
        if all(name in scores for row in names for name in row):
            tasks[task] = [[scores[name] for name in row] for row in names]
    return tasks


def grid() -> str:
    """The heat maps, and how far the best cell is above the paper's default."""
    tasks = grids()
    if not tasks:
        return ""
    best = [
        f"{task} {max(max(row) for row in cells):.2f} at a = {a:g}, k = {k}"
        for task, cells in tasks.items()
        for a, row in zip(GRID_A, cells, strict=True)
        for k, score in zip(GRID_K, row, strict=True)
        if score == max(max(row) for row in cells)
    ]
    return (
        "### Test scores by a and k\n\nNoPPA on glove.6B.100d.npy, protocol fast; no choice is made from these. a is down, k across; "
        "the best cell of a task is bold.\n\n![Heat maps of the score of NoPPA by a and k, a panel a task](images/grid.svg)\n\n"
        f"The highest: {'; '.join(best)}.\n\n"
    )


def variants() -> str:
    rows = records_of("paper_ablations")
    return (
        f"### One setting changed\n\nNoPPA with a=0.05 and k=12.\n\n{report.markdown(rows)}\n"
        if rows
        else ""
    )


def files() -> str:
    rows = lines_of("senteval_files")
    folds = ", ".join(
        f"{row['task']} {100 * row['same_fold']:.0f} %" for row in rows if row["same_fold"]
    )
    tokens = ", ".join(f"{row['task']} {100 * row['other_tokens']:.1f} %" for row in rows)
    return (
        "### Published files and SentEval's\n\nSentEval's scripts tokenize most files; `noppa data prepare` makes theirs of the published "
        "ones, byte for byte, `noppa data check` takes both, and every result names its own. SentEval sorts rows by their number of "
        f"tokens before it draws folds, so with the published files few rows are in SentEval's outer fold: {folds}. noppa tokenizes "
        f"SentEval's text once more; its tokens differ from those between the spaces in this share of texts: {tokens} (MRPC is not tokenized in SentEval).\n\n"
    )


def not_run() -> str:
    """The parts without any result; Table 1 says itself what it lacks."""
    absent = [name for name in PARTS if not records_of(f"paper_{name}")]
    others = (
        "the same on word2vec-googlenews-300d-26k.bin and on the 7,700 words of GloVe 840B (give their files as --vectors: about three "
        "times as long), MiniLM, USE-lite and all-mpnet-base-v2 as rows (--sbert FOLDER)"
    )
    lines = [f"    {COMMAND} {name}" for name in absent]
    senteval = len(records_of("paper_senteval")) < len(CLASSIFICATION) * (len(TABLE_1) + len(MORE))
    if senteval:
        lines.append(f"    {COMMAND} senteval    # goes on where it stopped")
    return (
        "### Not run yet\n\n"
        + "\n".join(lines)
        + f"\n\nEach says first how long it takes. And {others}.\n\n"
    )


def studies() -> str:
    parts = (table_1, variants, speed, grid, files, not_run)
    return "## The paper's experiments\n\n" + "".join(part() for part in parts)
