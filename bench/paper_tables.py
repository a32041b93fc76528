"""Tables of docs/evaluation.md: Table 1 of the paper, parameter selection, ablations and smaller studies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from statistics import fmean, median, stdev

from tables import SIMILARITY, Row, Scores, from_rows, markdown, mean, pivot, read, score_table

from noppa.paper.tasks import CLASSIFICATION, TASKS

GLOVE = "glove.6B.100d.npy"
FILES = {
    GLOVE: "GloVe 6B, 100 dimensions",
    "word2vec-googlenews-300d-26k.bin": "word2vec, 300 dimensions",
    "glove.840B.300d.7700.npy": "GloVe 840B, 300 dimensions, 7,700 words",
}
SHORT = {file: name.partition(",")[0] for file, name in FILES.items()}
PROTOCOLS = {"senteval": "network", "fast": "logistic"}

PaperScores = tuple[float | None, ...]
#: Table 1 as printed, tasks in the order of CLASSIFICATION.
PAPER: dict[str, PaperScores] = {
    "FastSent": (70.8, 78.4, 88.7, 80.6, None, 76.8, 72.2, None),
    "Sent2Vec": (75.8, 80.3, 91.1, 85.9, None, 86.4, 72.5, None),
    "Average": (77.4, 80.0, 91.6, 87.8, 82.2, 84.0, 73.2, 79.2),
    "SIF": (77.6, 78.7, 91.3, 87.3, 82.3, 79.6, 71.9, 75.1),
    "TfIdf": (77.5, 79.5, 91.9, 87.7, 81.7, 83.6, 74.0, 79.3),
    "VLAWE": (77.7, 79.2, 91.7, 88.1, 80.8, 87.0, 72.8, 81.2),
    "DCT": (78.3, 80.0, 92.5, 88.2, 82.5, 88.6, 73.6, 81.8),
    "S3E": (77.9, 79.6, 91.5, 87.0, 82.6, 83.8, 73.9, 78.4),
    "GEM": (78.8, 81.1, 93.1, 89.4, 83.6, 88.6, 73.4, 85.3),
    "CE-avg": (77.4, 80.1, 92.4, 88.0, 81.9, 87.2, 73.6, 81.5),
    "CE-avg+NR": (77.7, 80.4, 92.4, 88.1, 83.4, 87.2, 73.6, 81.5),
    "CE+SFW": (77.9, 80.2, 92.4, 88.2, 82.9, 88.0, 74.1, 81.2),
    "NoPPA": (78.0, 80.5, 92.9, 88.4, 84.1, 88.2, 74.7, 81.6),
}
#: The last column of Table 1 as printed, for the rows with all eight tasks.
PRINTED_MEANS = {
    "Average": 81.9, "SIF": 80.5, "TfIdf": 81.9, "VLAWE": 82.3, "DCT": 83.2, "S3E": 81.8, "GEM": 84.2,
    "CE-avg": 82.7, "CE-avg+NR": 83.1, "CE+SFW": 83.2, "NoPPA": 83.6,
}  # fmt: skip
#: Trained encoders of Table 1; the paper quotes them from other papers.
PAPER_TRAINED: dict[str, PaperScores] = {
    "USE (DAN), in the paper": (74.0, 80.5, 91.9, 83.5, 80.3, 89.6, 71.8, 80.4),
    "SBERT, in the paper": (83.6, 89.4, 94.4, 89.9, 89.0, 89.6, 76.0, None),
}
ROWS = (*PAPER, "USIF", "NoPPA, rich parts")
#: Table 2 as printed: the chosen a and k of each seed.
PAPER_CHOICES = {
    "MR": ((0.05, 22), (0.04, 15), (0.01, 15), (0.1, 12), (0.02, 12)),
    "CR": ((0.1, 11), (0.04, 15), (0.02, 15), (0.09, 2), (0.1, 14)),
    "SUBJ": ((0.03, 21), (0.02, 9), (0.03, 7), (0.02, 5), (0.08, 12)),
    "MPQA": ((0.1, 6), (0.01, 5), (0.02, 3), (0.03, 11), (0.1, 3)),
    "SST2": ((0.1, 2), (0.1, 4), (0.1, 5), (0.07, 2), (0.07, 6)),
    "TREC": ((0.1, 16), (0.06, 1), (0.1, 7), (0.03, 13), (0.06, 17)),
    "MRPC": ((0.1, 6), (0.1, 1), (0.01, 5), (0.02, 2), (0.1, 14)),
    "SICK-E": ((0.03, 21), (0.01, 9), (0.01, 14), (0.03, 2), (0.07, 22)),
}


# Table 1


def scores_of(protocol: str, file: str | None) -> dict[str, Scores]:
    """Return the rows of Table 1 in the paper's order; file None: encoders trained elsewhere."""
    rows = read(f"paper_{protocol}")
    scores = pivot(row for row in rows if (row["vectors"] or {}).get("file") == file)
    return {name: scores[name] for name in ROWS} if file else scores


def standard_error(score: float, task: str) -> float:
    """Return the binomial standard error of an accuracy in percent."""
    count = sum(file.rows for file in TASKS[task].files if file.part in ("test", "all"))
    return float(100 * (score / 100 * (1 - score / 100) / count) ** 0.5)


def mean_error(scores: Scores) -> float:
    """Return the standard error of a mean of eight."""
    errors = [standard_error(fmean(scores[task]), task) for task in CLASSIFICATION]
    return float(sum(error**2 for error in errors) ** 0.5 / len(errors))


def table_1(protocol: str) -> str:
    """Return one table per file of vectors and one of trained encoders, the paper's scores in brackets."""
    tasks = [*CLASSIFICATION, *(SIMILARITY if protocol == "fast" else ())]
    parts = []
    for file in (*FILES, None):
        scores = scores_of(protocol, file)
        lines = [paper_line(name, own, PAPER.get(name), tasks) for name, own in scores.items()]
        if file is None:
            lines += [paper_line(name, {}, own, tasks) for name, own in PAPER_TRAINED.items()]
        head = [FILES[file] if file else "trained encoders", *tasks, "mean of eight"]
        parts.append(markdown(head, lines))
        if file:
            error = mean_error(scores["NoPPA"])
            parts[-1] += f"\nStandard error of a mean of eight: {error:.2f}.\n"
    return "\n".join(parts)


def paper_line(
    name: str, scores: Scores, paper: PaperScores | None, tasks: Sequence[str]
) -> list[str]:
    """Return the cells of one row: our score, and the paper's in brackets where it has one."""
    printed = dict(zip(CLASSIFICATION, paper or (), strict=False))
    cells = []
    for task in tasks:
        ours = f"{fmean(scores[task]):.1f}" if task in scores else ""
        theirs = f"({printed[task]:.1f})" if printed.get(task) else ""
        cells.append(f"{ours} {theirs}".strip())
    ours = f"{mean(scores):.2f}" if scores else ""
    known = [score for score in printed.values() if score]
    theirs = f"({fmean(known):.2f})" if len(known) == len(CLASSIFICATION) else ""
    return [name, *cells, f"{ours} {theirs}".strip()]


def coverage() -> str:
    """Return the share of tokens that each file of vectors knows."""
    shares = {(row["vectors"], row["task"]): row["token_share"] for row in read("coverage")}
    words = {row["vectors"]: row["words"] for row in read("coverage")}
    tasks = (*CLASSIFICATION, *SIMILARITY)
    lines = [
        [file, f"{words[file]:,}", *(f"{100 * shares[file, task]:.0f}" for task in tasks)]
        for file in FILES
    ]
    return markdown(["known tokens, %", "words", *tasks], lines)


def ablation_scores(file: str) -> dict[str, Scores]:
    return pivot(row for row in read("paper_ablations") if row["vectors"]["file"] == file)


def ablations() -> str:
    return "\n".join(score_table(name, ablation_scores(file)) for file, name in FILES.items())


# Selection on development rows against selection on test


def searches(name: str, on_test: bool) -> list[Row]:
    """Return the searches that chose on development rows, or as the paper did on test."""
    return [row for row in read(name) if (row["selected_on"] == "test") == on_test]


def chosen(task: str, on_test: bool) -> list[dict[str, float]]:
    """Return the chosen a and k of each search on a task: one per seed, or per seed and fold."""
    found: list[dict[str, float]] = []
    for row in searches("paper_search", on_test):
        if row["task"] == task:
            choice = row["parameters"]["chosen"]
            found += choice if isinstance(choice, list) else [choice]
    return found


def search_scores(name: str, on_test: bool) -> Scores:
    scores: Scores = {}
    for row in searches(name, on_test):
        scores.setdefault(row["task"], []).append(row["score"])
    return scores


def with_deviation(scores: Sequence[float]) -> str:
    return f"{fmean(scores):.2f}" + (f" ± {stdev(scores):.2f}" if len(scores) > 1 else "")


def selection() -> str:
    """Compare both ways to select a and k, and report how much of the gain is owed to the test set."""
    honest, on_test = (search_scores("paper_search", way) for way in (False, True))
    lines = [
        [
            task,
            with_deviation(honest[task]),
            with_deviation(on_test[task]),
            f"{fmean(on_test[task]) - fmean(honest[task]):+.2f}",
        ]
        for task in TASKS
        if task in honest and task in on_test
    ]
    table = scores_of("fast", GLOVE)
    average, error = mean(table["Average"]), mean_error(table["NoPPA"])
    fair, best = mean(honest) - average, mean(on_test) - average
    low, high = (100 * (best - fair) / (best + sign * error) for sign in (1, -1))
    return markdown(["task", "selected on development rows", "selected on test", "difference"], lines) + (
        f"\nIn the mean of eight, NoPPA gains {best:+.2f} points over the average if a and k are selected on test, {fair:+.2f} if they "
        f"are selected on development rows, and {mean(table['NoPPA']) - average:+.2f} with default parameters. Selection on test accounts for "
        f"{best - fair:.2f} points, {100 * (best - fair) / best:.0f} % of the gain ({low:.0f} to {high:.0f} % given a standard error of {error:.2f}).\n"
    )  # fmt: skip


def table_2() -> str:
    lines = []
    for task, printed in PAPER_CHOICES.items():
        a = [choice["a"] for choice in chosen(task, False)]
        lines.append(
            [
                task,
                "; ".join(f"{a:g}, {k}" for a, k in printed),
                "; ".join(f"{choice['a']:.3f}, {choice['k']}" for choice in chosen(task, True)),
                f"{median(a):.3f} ({min(a):.3f} to {max(a):.3f})",
            ]
        )
    head = ["task", "a, k in the paper, per seed", "selected on test here"]
    return markdown([*head, "a selected on development rows: median (range)"], lines)


def replay_gains() -> dict[str, float]:
    """Return by task how much the authors' protocol adds to NoPPA's score."""
    honest, theirs = (search_scores("paper_replay", way) for way in (False, True))
    return {task: fmean(theirs[task]) - fmean(honest[task]) for task in CLASSIFICATION}


def replay() -> str:
    honest, theirs = (search_scores("paper_replay", way) for way in (False, True))
    lines = [
        [task, f"{fmean(theirs[task]):.2f}", f"{fmean(honest[task]):.2f}", f"{gain:+.2f}", printed]
        for (task, gain), printed in zip(replay_gains().items(), PAPER["NoPPA"], strict=True)
    ]
    head = [
        "task",
        "the authors' protocol",
        "honest protocol",
        "difference",
        "printed in the paper",
    ]
    return markdown(head, lines) + (
        f"\nIn the mean of eight the authors' protocol adds {fmean(replay_gains().values()):.2f} points.\n"
    )


# Smaller studies


def tuned_scores() -> dict[str, Scores]:
    """Return every method with parameters selected on development rows."""
    tuned = pivot(read("paper_tuned"), lambda row: row["encoder"].removesuffix(", searched"))
    plain = scores_of("fast", GLOVE)
    untuned = {name: plain[name] for name in ("Average", "TfIdf")}
    return tuned | untuned | {"NoPPA": search_scores("paper_search", False)}


def tuned() -> str:
    grids = {
        row["encoder"].removesuffix(", searched"): ", ".join(row["search"]["space"])
        for row in [*read("paper_tuned"), *read("paper_search")]
    }
    defaults = scores_of("fast", GLOVE)
    lines = [
        [
            name,
            grids[name].replace("|", ", ").replace(":", " to "),
            *(f"{fmean(scores[task]):.2f}" for task in CLASSIFICATION),
            f"{mean(scores):.2f}",
            f"{mean(defaults[name]):.2f}",
        ]
        for name, scores in tuned_scores().items()
        if name in grids
    ]
    head = ["method", "grid", *CLASSIFICATION, "mean of eight", "with defaults"]
    return markdown(head, lines)


def speed_seconds(file: str) -> dict[str, list[float]]:
    """Return the CPU seconds of all runs of the speed study by method."""
    rows = read("paper_speed")
    return {row["encoder"]: row["folds"] for row in rows if row["vectors"]["file"] == file}


def error_of_mean(values: Sequence[float]) -> float:
    return float(stdev(values) / len(values) ** 0.5)


def speed() -> str:
    columns = {file: speed_seconds(file) for file in FILES if speed_seconds(file)}
    lines = [
        [name, *(f"{fmean(own[name]):.3f} ± {error_of_mean(own[name]):.3f}" for own in columns.values())]
        for name in columns[GLOVE]
    ]  # fmt: skip
    return markdown(["CPU seconds", *(FILES[file] for file in columns)], lines)


def epochs() -> str:
    tasks = ("STS-B", "SICK-E", "TREC")
    columns = {"method": "{method}", "epochs": "{epochs}"}
    columns |= {task: f"{{{task}:.2f}}" for task in tasks}
    order = sorted(read("epochs"), key=lambda row: (row["method"], row["epochs"]))
    return from_rows(order, columns | {"CPU seconds": "{cpu_seconds:.0f}"})


def grid_scores() -> dict[str, dict[tuple[float, int], float]]:
    """Return the test score of each task by (a, k)."""
    cells: dict[str, dict[tuple[float, int], float]] = {}
    for row in read("paper_grid"):
        match = re.fullmatch(r"NoPPA\(a=(.+), k=(\d+)\)", row["encoder"])
        assert match, row["encoder"]
        cells.setdefault(row["task"], {})[float(match[1]), int(match[2])] = row["score"]
    return {task: cells[task] for task in TASKS if task in cells}


def best_cells() -> dict[str, tuple[float, int]]:
    """Return the (a, k) of the best test score of each task."""
    return {task: max(cells, key=cells.__getitem__) for task, cells in grid_scores().items()}


def grid() -> str:
    scores = grid_scores()
    lines = [
        [task, f"{scores[task][a, k]:.2f}", f"{a:g}", k] for task, (a, k) in best_cells().items()
    ]
    return markdown(["task", "best test score", "a", "k"], lines)


def parity() -> str:
    columns = {
        "task": "{task}",
        "seeds": lambda row: len(row["seeds"]),
        "NumPy, dev": "{numpy_dev:.2f}",
        "torch, dev": "{torch_dev:.2f}",
        "NumPy, test": "{numpy_test:.2f}",
        "torch, test": "{torch_test:.2f}",
    }
    return from_rows(read("parity"), columns)
