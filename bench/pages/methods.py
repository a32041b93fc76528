"""The methods on each file of word vectors, and encoders from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from noppa.evaluate import report
from noppa.evaluate import results as records
from noppa.evaluate.report import Table
from noppa.evaluate.tasks import CLASSIFICATION
from pages.comparisons import gain, uncertainty
from pages.results import method_rows, peer_rows, timed


def methods() -> str:
    rows = method_rows()
    text = f"## Methods\n\n{report.markdown(rows)}\n"
    for table in report.tables(rows):
        text += f"- With {vectors_of(table)}: {compared(table)}\n"
    slow = [row for row in rows if row["encoder"] == "NoPPA" and "cpu_seconds" in row]
    return text + (
        "\nEvery method runs with its default parameters, and vectors of different length are compared as they are "
        "(NoPPA's are twice as long as the average's, VLAWE's ten times). FastSent and Sent2Vec, which train word "
        "vectors of their own on a corpus, are not in the table."
        f"{took(slow)}\n\n"
    )


def vectors_of(table: Table) -> str:
    return table.title.partition(", ")[2]


def compared(table: Table) -> str:
    """NoPPA against the average, and the best method."""
    if not {"NoPPA", "Average"} <= set(table.rows):
        return "not run yet."
    whole = {row: mean for row in table.rows if (mean := table.mean(row)) is not None}
    best = max(whole, key=whole.__getitem__)
    missing = [row for row in table.rows if row not in whole]
    return (
        f"NoPPA against the average {gain(table, 'NoPPA', 'Average')}. The standard error of a mean of eight, from "
        f"the number of marked rows alone, is {uncertainty(table, 'NoPPA'):.2f}. The best mean is that of {best}, "
        f"{whole[best]:.2f}. On {similar(table)}."
        + (f" Not on all tasks: {', '.join(missing)}." if missing else "")
    )


def similar(table: Table) -> str:
    """NoPPA against the average and the best method where cosines are compared."""
    parts = []
    for task in ("STS-B", "SICK-R"):
        scores = {row: fmean(cells[task]) for row, cells in table.rows.items() if task in cells}
        best = max(scores, key=scores.__getitem__)
        parts.append(
            f"{task} NoPPA has {scores['NoPPA']:.2f}, the average {scores['Average']:.2f}, and {best}, the best, "
            f"{scores[best]:.2f}"
        )
    return "; on ".join(parts)


def took(rows: Sequence[records.Record]) -> str:
    """Seconds of NoPPA for each file of vectors of which all eight tasks were timed."""
    text = ""
    for file in sorted({row["vectors"]["file"] for row in rows}):
        own = [row for row in rows if row["vectors"]["file"] == file]
        if {row["task"] for row in own} >= set(CLASSIFICATION):
            text += f" With {file} all tasks took NoPPA {timed(own)}."
    return text


def peers() -> str:
    return (
        f"## The embedded model, and encoders from elsewhere\n\n{report.markdown(peer_rows())}\n"
        "The others through `noppa.external`, as they are: MiniLM is a transformer of six layers that was trained on a "
        "billion pairs of sentences, WordLlama the average of trained token vectors.\n\n"
    )
