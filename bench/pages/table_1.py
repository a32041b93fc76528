"""Table 1 of the paper: our scores beside its own, for each file of vectors and both protocols."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from noppa.paper import report
from noppa.paper.report import Table
from noppa.paper.results import Record
from noppa.paper.tasks import CLASSIFICATION
from pages.comparisons import gain, mean, task_error, uncertainty
from pages.results import lines_of, records_of, timed

Scores = tuple[float | None, ...]

#: Table 1 as it is printed; its tasks are CLASSIFICATION, in this order.
PAPER: dict[str, Scores] = {
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
#: The last column of Table 1, as far as its rows have all eight tasks.
PRINTED_MEANS = {
    "Average": 81.9,
    "SIF": 80.5,
    "TfIdf": 81.9,
    "VLAWE": 82.3,
    "DCT": 83.2,
    "S3E": 81.8,
    "GEM": 84.2,
    "CE-avg": 82.7,
    "CE-avg+NR": 83.1,
    "CE+SFW": 83.2,
    "NoPPA": 83.6,
}
#: The parametric rows of the paper, which it took from elsewhere.
PAPER_PARAMETRIC: dict[str, Scores] = {
    "USE (DAN), in the paper": (74.0, 80.5, 91.9, 83.5, 80.3, 89.6, 71.8, 80.4),
    "SBERT, in the paper": (83.6, 89.4, 94.4, 89.9, 89.0, 89.6, 76.0, None),
}
NOTHING: Scores = (None,) * len(CLASSIFICATION)
#: The rows that the paper has not.
MORE = ("USIF", "NoPPA, rich parts")
ROWS = (*PAPER, *MORE)
#: The files of vectors.
FILES = {
    "glove.6B.100d.npy": "GloVe 6B, 100 dimensions",
    "word2vec-googlenews-300d-26k.bin": "word2vec, 300 dimensions",
    "glove.840B.300d.7700.npy": "GloVe 840B, 300 dimensions, 7,700 words",
}
PROTOCOLS = {"senteval": "the paper's classifier", "fast": "logistic regression"}
SIMILAR = ("STS-B", "SICK-R")


def rows_of(protocol: str, file: str | None) -> list[Record]:
    """The rows of a file of vectors; None: of encoders from elsewhere."""
    rows = records_of(f"paper_{protocol}")
    return [row for row in rows if (row["vectors"] or {}).get("file") == file]


def table_of(protocol: str, file: str | None) -> Table:
    """The rows in the order of the paper."""
    [found] = report.tables(rows_of(protocol, file))
    order = ROWS if file else tuple(found.rows)
    return Table(found.title, {row: found.rows[row] for row in order})


def sections() -> str:
    head = (
        "## Table 1\n\nEvery method with its default parameters, nothing chosen or fitted on test, on SentEval's own files. In brackets the "
        "paper's numbers. They were made with GloVe 840B of 300 dimensions, which was not to be had but for 7,700 words, so only gains and ranks "
        "compare. FastSent and Sent2Vec are trained on 641,662 neutral sentences, far fewer than the models that the paper quotes.\n\n"
    )
    parts = [head, coverage()]
    for protocol, what in PROTOCOLS.items():
        parts.append(f"### With {what} (protocol {protocol})\n\n")
        parts += [of_file(protocol, file) for file in FILES]
        parts.append(elsewhere(protocol))
    return "".join(parts)


def coverage() -> str:
    """Which share of tokens each file knows; the others are left out of a sentence."""
    shares = {(line["vectors"], line["task"]): line["token_share"] for line in lines_of("coverage")}
    words = {line["vectors"]: line["words"] for line in lines_of("coverage")}
    tasks = (*CLASSIFICATION, *SIMILAR)
    lines = [f"| tokens known, % | words | {' | '.join(tasks)} |", rule(len(tasks) + 1)]
    for file in FILES:
        cells = " | ".join(f"{100 * shares[file, task]:.0f}" for task in tasks)
        lines.append(f"| {file} | {words[file]:,} | {cells} |")
    return (
        "A word that a file of vectors lacks is left out of its sentence. Each file has a shortened vocabulary:\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def rule(columns: int) -> str:
    return "|---|" + "---:|" * columns


def of_file(protocol: str, file: str) -> str:
    table, rows = table_of(protocol, file), rows_of(protocol, file)
    tasks = (*CLASSIFICATION, *(SIMILAR if protocol == "fast" else ()))
    lines = [f"| {FILES[file]} | {' | '.join(tasks)} | mean of eight |", rule(len(tasks) + 1)]
    lines += [line(name, table, PAPER.get(name), tasks) for name in ROWS]
    return "\n".join(lines) + f"\n\n{errors(table)} {compared(table, tasks)} {took(rows)}\n\n"


def line(name: str, table: Table, paper: Scores | None, tasks: Sequence[str]) -> str:
    """A row: our scores, the paper's in brackets, and the means of both."""
    ours = {task: fmean(table.rows[name][task]) for task in tasks}
    shown = [f"{ours[task]:.1f}" for task in tasks] + [f"{mean(table, name):.2f}"]
    theirs = quoted(paper or NOTHING, len(tasks))
    cells = (f"{own} {other}".strip() for own, other in zip(shown, theirs, strict=True))
    return f"| {name} | {' | '.join(cells)} |"


def quoted(paper: Scores, tasks: int) -> list[str]:
    """The paper's scores and their mean in brackets, nothing where it has none, for a table of that many tasks."""
    known = [score for score in paper if score is not None]
    average = f"({fmean(known):.2f})" if len(known) == len(paper) else ""
    cells = ["" if score is None else f"({score:.1f})" for score in paper]
    return [*cells, *[""] * (tasks - len(paper)), average]


def errors(table: Table) -> str:
    each = ", ".join(f"{task} {task_error(table, task):.2f}" for task in CLASSIFICATION)
    return f"Standard errors from the number of marked rows: {each}; of a mean of eight {uncertainty(table, 'NoPPA'):.2f}."


def compared(table: Table, tasks: Sequence[str]) -> str:
    """NoPPA against the average, and the best of the paper's methods."""
    means = {row: mean(table, row) for row in (*PAPER, "USIF")}
    best = max(means, key=means.__getitem__)
    parts = [
        f"NoPPA against the average: {gain(table, 'NoPPA', 'Average')}.",
        f"The best mean is that of {best}, {means[best]:.2f}.",
    ]
    for task in tasks[len(CLASSIFICATION) :]:
        scores = {row: fmean(cells[task]) for row, cells in table.rows.items()}
        best = max(scores, key=scores.__getitem__)
        parts.append(f"On {task} {best} is best, {scores[best]:.2f}.")
    return " ".join(parts)


def took(rows: Sequence[Record]) -> str:
    return f"{len(rows)} cells took {timed(rows)}."


def elsewhere(protocol: str) -> str:
    """Encoders that were trained, which the paper compares with, too."""
    table, rows = table_of(protocol, None), rows_of(protocol, None)
    tasks = (*CLASSIFICATION, *(SIMILAR if protocol == "fast" else ()))
    lines = [f"| trained encoders | {' | '.join(tasks)} | mean of eight |", rule(len(tasks) + 1)]
    lines += [line(name, table, None, tasks) for name in table.rows]
    lines += [
        f"| {name} | {' | '.join(quoted(scores, len(tasks)))} |"
        for name, scores in PAPER_PARAMETRIC.items()
    ]
    return (
        "\n".join(lines)
        + "\n\nVectors as their own programs make them of SentEval's text (`bench/sentence_vectors.py`, `noppa bench paper --encoded`): "
        "all-MiniLM-L6-v2 as an ONNX graph, use-lite the English Universal Sentence Encoder lite in node. The paper's two rows are quoted there "
        f"from other papers. {took(rows)}\n\n"
    )
