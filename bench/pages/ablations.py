"""One setting of NoPPA changed at a time: noise removal, kernel, positions, attention, whitening."""

from __future__ import annotations

from statistics import fmean

from noppa.paper import report
from noppa.paper.report import Table
from pages.comparisons import mean_gain, uncertainty
from pages.results import records_of
from pages.table_1 import FILES, SIMILAR, rule

NONE = "CE+SFW"
NOISE = {
    "as the paper writes it": "NoPPA",
    "as the authors' program does it": "NoPPA, noise=reference",
    "of the first k directions": "NoPPA, first-k removed",
}
BARE = "NoPPA, no positions"


def tables() -> dict[str, Table]:
    """By file of vectors."""
    rows = records_of("paper_ablations")
    by_file = {file: [row for row in rows if row["vectors"]["file"] == file] for file in FILES}
    return {file: report.tables(own)[0] for file, own in by_file.items()}


def ablations() -> str:
    found = tables()
    return (
        "## One setting changed\n\nNoPPA with a=0.05 and k=12, protocol fast. CE+SFW is NoPPA without noise removal; the other parts of the "
        "paper's ablation are rows of Table 1.\n\n"
        + "".join(of_file(file, table) for file, table in found.items())
        + positions(found)
    )


def of_file(file: str, table: Table) -> str:
    head, *lines = table.lines()
    head[0] = FILES[file]
    body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    return f"| {' | '.join(head)} |\n{rule(len(head) - 1)}\n{body}\n\n{noise(table)}{cosines(table)}\n\n"


def noise(table: Table) -> str:
    """What noise removal is worth to a classifier."""
    error = uncertainty(table, NONE)
    parts = []
    for name, row in NOISE.items():
        change = mean_gain(table, row, NONE)
        size = "less than" if abs(change) < error else "more than"
        parts.append(f"removal {name} moves the mean of eight by {change:+.2f}, {size} that error")
    return f"Against no noise removal, with a standard error of a mean of {error:.2f}: {'; '.join(parts)}."


def cosines(table: Table) -> str:
    """What the kinds of noise removal do where no classifier can undo them."""
    parts = []
    for task in SIMILAR:
        none, *kinds = (fmean(table.rows[row][task]) for row in (NONE, *NOISE.values()))
        shown = ", ".join(f"{value:.2f} {name}" for name, value in zip(NOISE, kinds, strict=True))
        parts.append(f" On {task} {none:.2f} without, {shown}.")
    return "".join(parts)


def positions(found: dict[str, Table]) -> str:
    """Positions and the size of word vectors."""
    changes = []
    for file, table in found.items():
        cosine = fmean(
            fmean(table.rows[BARE][task]) - fmean(table.rows["NoPPA"][task]) for task in SIMILAR
        )
        change = mean_gain(table, BARE, "NoPPA")
        changes.append(
            f"with {FILES[file]} {change:+.2f} in the mean of eight and {cosine:+.2f} in that of the two cosine tasks"
        )
    return (
        "The paper adds positions, whose entries reach one, to word vectors of whatever size. In word2vec's, whose entries are far smaller, "
        "the contextual half is then mostly position, which a classifier can use or ignore but a cosine cannot. Leaving them out "
        f"(`NoPPA(position=None)`) changes {'; '.join(changes)}. With vectors of small entries leave positions out where cosines matter, "
        "or scale the vectors up first.\n\n"
    )
