"""How much one row of Table 1 gains over another in every setting: a file of vectors and a classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noppa.paper.report import Table
from noppa.paper.tasks import CLASSIFICATION
from pages.comparisons import mean_gain, uncertainty
from pages.selection import GLOVE
from pages.studies import tuned_table
from pages.table_1 import FILES, PAPER, PROTOCOLS, rule, table_of

PICTURE = "docs/images/gains.svg"


@dataclass(frozen=True)
class Setting:
    """A table of scores, and how it came about."""

    name: str
    table: Table


#: Short names of files and classifiers, for the columns of a table.
SHORT = {
    "glove.6B.100d.npy": "GloVe 6B",
    "word2vec-googlenews-300d-26k.bin": "word2vec",
    "glove.840B.300d.7700.npy": "GloVe 840B",
    "senteval": "network",
    "fast": "logistic",
}


def settings() -> list[Setting]:
    """Each file of vectors with each classifier, and with every method tuned, as far as they were run."""
    found = [
        Setting(f"{SHORT[file]}, {SHORT[protocol]}", table_of(protocol, file))
        for protocol in PROTOCOLS
        for file in FILES
    ]
    found.append(Setting(f"{SHORT[GLOVE]}, {SHORT['fast']}, tuned", tuned_table()))
    return [setting for setting in found if setting.table.rows]


#: What the paper says of two rows of Table 1: the better one, the other, and the claim.
COMPARED = (
    ("NoPPA", "Average", "NoPPA outperforms the average of words"),
    ("NoPPA", "DCT", "NoPPA outperforms DCT on average"),
    ("NoPPA", "S3E", "NoPPA outperforms S3E on average"),
    ("NoPPA", "VLAWE", "NoPPA outperforms VLAWE on average"),
    (
        "CE-avg",
        "Average",
        "The contextual half (CE-avg) improves on the average (in the paper on all data sets but MR)",
    ),
    ("CE+SFW", "CE-avg", "The smooth frequency weight improves NoPPA on average"),
    ("NoPPA", "CE+SFW", "Noise removal improves NoPPA on average"),
)


@dataclass(frozen=True)
class Gain:
    """The gain of one row over another in the mean of eight tasks, and its error."""

    gain: float
    error: float

    @property
    def sign(self) -> int:
        """+1 or -1 beyond the error, 0 for a tie."""
        return 0 if abs(self.gain) <= self.error else 1 if self.gain > 0 else -1

    def __str__(self) -> str:
        return f"{self.gain:+.2f} ± {self.error:.2f}"


def gain_of(table: Table, new: str, old: str) -> Gain | None:
    """None where a row is not there: the ablations were not tuned."""
    if not {new, old} <= set(table.rows):
        return None
    return Gain(mean_gain(table, new, old), uncertainty(table, new))


def gains() -> str:
    """Every comparison in every setting."""
    shown = settings()
    lines = [
        f"| | {' | '.join(setting.name for setting in shown)} |",
        rule(len(shown)),
    ]
    for new, old, _ in COMPARED:
        each = [gain_of(setting.table, new, old) for setting in shown]
        cells = ["" if gain is None else str(gain) for gain in each]
        lines.append(f"| {new} against {old} | {' | '.join(cells)} |")
    return (
        "## Gains, setting by setting\n\nIn the mean of eight tasks, with the standard error of that mean. The ablations "
        "were not tuned.\n\n"
        f"![The gain of one row over another in each setting, with its error, beside the paper's]({PICTURE.removeprefix('docs/')})\n\n"
        + "\n".join(lines)
        + "\n\n"
    )


def shown() -> dict[str, list[tuple[str, float, float]]]:
    """For the picture: of each comparison the gain in every setting and its error; the paper's has none."""
    printed = Table(
        "",
        {
            name: {task: [score] for task, score in zip(CLASSIFICATION, own, strict=True) if score}
            for name, own in PAPER.items()
        },
    )
    rows = {}
    for new, old, _ in COMPARED:
        found = [(setting.name, gain_of(setting.table, new, old)) for setting in settings()]
        points = [(name, gain.gain, gain.error) for name, gain in found if gain]
        rows[f"{new} against {old}"] = [*points, ("the paper", mean_gain(printed, new, old), 0.0)]
    return rows


def draw(figure: Any) -> None:
    """A line a comparison, a point a setting."""
    axes, rows = figure.subplots(), shown()
    names = list(dict.fromkeys(name for points in rows.values() for name, _, _ in points))
    for at, name in enumerate(names):
        look = (
            {"fmt": "D", "color": "black", "mfc": "white"} if name == "the paper" else {"fmt": "o"}
        )
        own = [
            (line + (at + 1) / (len(names) + 1) - 0.5, gain, error)
            for line, points in enumerate(rows.values())
            for other, gain, error in points
            if other == name
        ]
        y, x, error = zip(*own, strict=True)
        axes.errorbar(x, y, xerr=error, ms=5, lw=1, label=name, **look)
    axes.axvline(0, color="black", lw=0.8)
    for line in range(1, len(rows)):
        axes.axhline(line - 0.5, color="0.85", lw=0.8)
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set_xlabel("gain in the mean of eight tasks, points, with its standard error")
    axes.grid(axis="x", alpha=0.25)
    figure.legend(loc="outside right upper")
