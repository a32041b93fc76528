"""The paper's classifier, and its parity with torch."""

from __future__ import annotations

from collections.abc import Sequence

from noppa.evaluate import report
from noppa.evaluate.results import Record
from noppa.evaluate.tasks import CLASSIFICATION
from pages.results import lines_of, records_of, timed


def senteval() -> str:
    rows = records_of("senteval")
    if not rows:
        return ""
    tasks = [row["task"] for row in rows]
    missing = [task for task in CLASSIFICATION if task not in tasks]
    return (
        f"## The paper's classifier\n\n{report.markdown(rows)}\n"
        f"NoPPA with its default parameters on the published files, {len(tasks)} of the eight tasks, trained in NumPy as it was then: "
        f"{timed(rows)}. {native(rows)}"
        + (f" Not run yet: {', '.join(missing)}." if missing else "")
        + "\n\n"
    )


def native(rows: Sequence[Record]) -> str:
    """The same cells with the native trainer: whether they are equal, and their share of the CPU time."""
    before = {row["task"]: row for row in rows}
    pairs = [(before[row["task"]], row) for row in records_of("senteval_native")]
    same = [
        old["task"] for old, new in pairs if (old["score"], old["l2"]) == (new["score"], new["l2"])
    ]
    shares = [new["cpu_seconds"] / old["cpu_seconds"] for old, new in pairs]
    return (
        f"With the native trainer {len(same)} of {len(pairs)} cells that were run again ({', '.join(same)}) have the same score and "
        f"l2, in {min(shares):.2f} to {max(shares):.2f} of the CPU time."
    )


def parity() -> str:
    rows = lines_of("parity")
    lines = [
        "| task | seeds | NumPy dev | torch dev | NumPy test | torch test | difference on test |"
    ]
    lines.append("|---|" + "---:|" * 6)
    for row in rows:
        values = [row[key] for key in ("numpy_dev", "torch_dev", "numpy_test", "torch_test")]
        cells = " | ".join(f"{value:.2f}" for value in values)
        lines.append(
            f"| {row['task']} | {len(row['seeds'])} | {cells} | {values[2] - values[3]:+.2f} |"
        )
    return (
        "## Parity with torch\n\nSentEval's classifier in torch (`bench/parity_torch.py`) beside ours, same vectors, "
        "folds, first weights and order of batches, so a difference is what rounding grows to.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )
