"""The other parts of `noppa bench paper`: tuned baselines, speed, a and k, and the files that were used."""

from __future__ import annotations

from statistics import fmean

from noppa.methods import NoPPA
from noppa.paper import tuning
from noppa.paper.experiments import BASELINES, GRID_A, GRID_K
from noppa.paper.report import Table
from noppa.paper.tasks import CLASSIFICATION, TASKS
from pages.results import lines_of, records_of
from pages.selection import GLOVE, HONEST, scores_of, searched, whole_searches
from pages.speeds import measured, speed_rows, timing
from pages.table_1 import rule, table_of


def tuned_table() -> Table:
    """Every method with parameters chosen on development rows."""
    rows = [row for row in whole_searches("paper_tuned") if row["vectors"]["file"] == GLOVE]
    names = [kind.__name__ for kind in BASELINES]
    tuned = {
        name: scores_of([row for row in rows if row["encoder"] == tuning.searched(name)], HONEST)
        for name in names
    }
    plain = table_of("fast", GLOVE).rows
    untuned = {name: plain[name] for name in ("Average", "TfIdf")}
    return Table("tuned", tuned | untuned | {"NoPPA": scores_of(searched(), HONEST)})


def tuned() -> str:
    """Baselines over the grids of their papers."""
    table, plain = tuned_table(), table_of("fast", GLOVE)
    lines = [
        f"| {GLOVE} | grid | {' | '.join(CLASSIFICATION)} | mean of eight | with defaults |",
        rule(11),
    ]
    for kind, space in (BASELINES | {NoPPA: tuning.SPACE}).items():
        name = kind.__name__
        cells = [f"{fmean(table.rows[name][task]):.2f}" for task in CLASSIFICATION]
        grid = ", ".join(space).replace("|", ", ").replace(":", " to ")
        lines.append(
            f"| {name} | {grid} | {' | '.join(cells)} | {table.mean(name):.2f} | {plain.mean(name):.2f} |"
        )
    return (
        "### Baselines tuned\n\nProtocol fast; the best of the grid that its paper gives, on development rows, for each outer fold. Average and TF-IDF "
        f"have nothing to tune. NoPPA by the honest search above, {tuning.TRIALS} trials.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def speed() -> str:
    files = sorted({row["vectors"]["file"] for row in records_of("paper_speed")})
    lines = [f"| method | {' | '.join(files)} |", "|---|" + "---:|" * len(files)]
    rows = {file: speed_rows(file) for file in files}
    for name in rows[files[0]]:
        cells = [timing(rows[file][name]) for file in files]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return (
        f"### Speed\n\n{measured(len(rows[files[0]]['S3E']))}. The paper has 7.55 for NoPPA, 2.45 without log2 and 3.23 for S3E, on its own machine.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def epochs() -> str:
    """How long the two methods that train are trained, and how long it pays."""
    rows = lines_of("epochs")
    tasks = ("STS-B", "SICK-E", "TREC")
    lines = [f"| method | epochs | {' | '.join(tasks)} | mean | CPU seconds |", rule(6)]
    best = []
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [
            row | {"mean": fmean(row[task] for task in tasks)}
            for row in rows
            if row["method"] == method
        ]
        for row in own:
            scores = " | ".join(f"{row[name]:.2f}" for name in (*tasks, "mean"))
            lines.append(f"| {method} | {row['epochs']} | {scores} | {row['cpu_seconds']:.0f} |")
        at = {
            name: max(own, key=lambda row, name=name: row[name])["epochs"]
            for name in (*tasks, "mean")
        }
        best.append(
            f"of {method} on "
            + ", ".join(f"{name} {at[name]}" for name in tasks)
            + f", in their mean {at['mean']}"
        )
    return (
        f"### How long FastSent and Sent2Vec are trained\n\nOn {rows[0]['sentences']:,} neutral sentences, from {GLOVE}; scores on development rows "
        f"(`bench/epochs.py`). The rows of Table 1 have the default, {rows[0]['default']} epochs. More pay for cosines and cost a classifier: the "
        f"best number of epochs is {'; '.join(best)}.\n\n" + "\n".join(lines) + "\n\n"
    )


def grids() -> dict[str, list[list[float]]]:
    """Scores of each task: a down, k across."""
    scores = {(row["task"], row["encoder"]): row["score"] for row in records_of("paper_grid")}
    tasks = {task for task, _ in scores}
    return {
        task: [[scores[task, f"NoPPA(a={a:g}, k={k})"] for k in GRID_K] for a in GRID_A]
        for task in TASKS
        if task in tasks
    }


def grid() -> str:
    """The heat maps, and the best cell of each task."""
    tasks = grids()
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


def studies() -> str:
    parts = (tuned, epochs, speed, grid, files)
    return "## More of the paper's experiments\n\n" + "".join(part() for part in parts)
