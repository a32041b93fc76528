"""The paper's classifier beside the same in torch."""

from __future__ import annotations

from pages.results import lines_of
from pages.table_1 import rule


def parity() -> str:
    lines = [
        "| task | seeds | NumPy dev | torch dev | NumPy test | torch test | difference on test |",
        rule(6),
    ]
    for row in lines_of("parity"):
        values = [row[key] for key in ("numpy_dev", "torch_dev", "numpy_test", "torch_test")]
        cells = " | ".join(f"{value:.2f}" for value in values)
        lines.append(
            f"| {row['task']} | {len(row['seeds'])} | {cells} | {values[2] - values[3]:+.2f} |"
        )
    return (
        "## Parity with torch\n\nSentEval's classifier in torch (`bench/parity_torch.py`) beside ours, same vectors, "
        "folds, first weights and order of batches, so a difference is what rounding grows to. On the published files.\n\n"
        + "\n".join(lines)
        + "\n\n"
    )
