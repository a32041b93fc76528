"""The timings of the paper's speed study."""

from __future__ import annotations

from statistics import fmean, stdev

from pages.results import records_of


def speed_rows(file: str) -> dict[str, list[float]]:
    return {
        row["encoder"]: row["folds"]
        for row in records_of("paper_speed")
        if row["vectors"]["file"] == file
    }


def measured(runs: int) -> str:
    """What was timed, and how often."""
    (sentences,) = {row["sentences"] for row in records_of("paper_speed")}
    return f"CPU seconds for the {sentences:,} sentences of SICK, one thread, mean and standard error of {runs} runs"


def error(seconds: list[float]) -> float:
    """The standard error of their mean."""
    return float(stdev(seconds) / len(seconds) ** 0.5)


def timing(seconds: list[float]) -> str:
    return f"{fmean(seconds):.3f} ± {error(seconds):.3f}"
