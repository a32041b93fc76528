"""The paper's classifier, and its parity with torch."""

from __future__ import annotations

from noppa.evaluate import report
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
        f"NoPPA with its default parameters, {len(tasks)} of the eight tasks: {timed(rows)}."
        + (f" Not run yet: {', '.join(missing)}." if missing else "")
        + "\n\n"
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
