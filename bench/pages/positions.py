"""What positions do to vectors of different size."""

from __future__ import annotations

from statistics import fmean

from noppa.evaluate.tasks import CLASSIFICATION
from pages.results import method_rows, records_of

SIMILAR = ("STS-B", "SICK-R")


def positions() -> str:
    without = records_of("position")
    if not without:
        return ""
    lines = [
        "| word vectors | positions | mean of eight | STS-B | SICK-R |",
        "|---|---|---:|---:|---:|",
    ]
    changes = []
    for file in sorted({row["vectors"]["file"] for row in without}):
        scores = {
            "added": {
                row["task"]: row["score"]
                for row in method_rows()
                if row["encoder"] == "NoPPA" and row["vectors"]["file"] == file
            },
            "left out": {
                row["task"]: row["score"] for row in without if row["vectors"]["file"] == file
            },
        }
        means = {}
        for name, own in scores.items():
            means[name] = fmean(own[task] for task in CLASSIFICATION)
            cells = " | ".join(f"{own[task]:.2f}" for task in SIMILAR)
            lines.append(f"| {file} | {name} | {means[name]:.2f} | {cells} |")
        change = means["left out"] - means["added"]
        similar = fmean(scores["left out"][task] - scores["added"][task] for task in SIMILAR)
        changes.append(
            f"with {file} {change:+.2f} in the mean of eight and {similar:+.2f} in that of the two cosine tasks"
        )
    return (
        "## Positions and the size of word vectors\n\n"
        "The paper adds positions, whose entries reach one, to word vectors of whatever size. In word2vec's, whose entries are "
        "far smaller, the contextual half is then mostly position, which a classifier can use or ignore but a cosine "
        "cannot.\n\n"
        + "\n".join(lines)
        + f"\n\nLeaving them out (`NoPPA(position=None)`) changes {'; '.join(changes)}. With vectors of small "
        "entries leave positions out where cosines matter, or scale the vectors up first.\n\n"
    )
