"""What the paper says of rows of its Table 1, judged in every setting: a file of vectors and a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from noppa.paper.tasks import CLASSIFICATION
from pages.comparisons import mean, scores_of, standard_error, uncertainty
from pages.gains import gain_of, settings
from pages.table_1 import FILES, PAPER, PROTOCOLS, table_of

HELD, FAILED, UNTESTED = "held", "did not hold", "cannot be tested here"
BAGS = ("Average", "TfIdf", "SIF", "USIF")
METHODS = ("Average", "TfIdf", "SIF", "USIF", "VLAWE", "DCT", "S3E", "GEM", "NoPPA")


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was found, and what follows."""

    said: str
    found: str
    verdict: str


def judged(outcomes: Sequence[int]) -> str:
    """From +1 (better beyond the error), 0 (a tie) and -1 (worse) for each setting."""
    better = sum(outcome > 0 for outcome in outcomes)
    if better == len(outcomes):
        return HELD
    if better:
        return f"held in {better} of {len(outcomes)} settings"
    return FAILED if any(outcome < 0 for outcome in outcomes) else f"{FAILED}: a tie"


def compared(said: str, new: str, old: str) -> Claim:
    """Judged in every setting that has both rows."""
    gains = [gain for setting in settings() if (gain := gain_of(setting.table, new, old))]
    outcomes = [gain.sign for gain in gains]
    low, high = (pick(gain.gain for gain in gains) for pick in (min, max))
    counts = [
        f"{word} in {outcomes.count(way)}"
        for word, way in (("better", 1), ("tied", 0), ("worse", -1))
    ]
    found = f"{new} against {old}: {', '.join(counts)} of {len(gains)} settings, from {low:+.2f} to {high:+.2f} in the mean of eight."
    if (new, old) == ("CE-avg", "Average"):
        before, after = (PAPER[name][CLASSIFICATION.index("SST2")] for name in (old, new))
        found += f" {lower_tasks()} In the paper's own table it also falls on SST2, from {before} to {after}."
    return Claim(said, found, judged(outcomes))


def lower_tasks() -> str:
    """Where the contextual half does not help."""
    lower = []
    for setting in settings():
        if "CE-avg" in setting.table.rows:
            new, old = (scores_of(setting.table, row) for row in ("CE-avg", "Average"))
            lower += [task for task in CLASSIFICATION if new[task] <= old[task]]
    return f"Tasks on which it is not higher, and in how many settings: {by_task(lower)}."


def best_of_bags() -> Claim:
    """Task by task: lost where another is higher, clearly where by more than the error of one task."""
    lost, clear = [], []
    for setting in settings():
        ours = scores_of(setting.table, "NoPPA")
        bags = [scores_of(setting.table, row) for row in BAGS]
        for task in CLASSIFICATION:
            theirs = max(scores[task] for scores in bags)
            lost += [task] * (theirs >= ours[task])
            clear += [task] * (theirs - ours[task] > standard_error(theirs, task))
    cells = len(CLASSIFICATION) * len(settings())
    return Claim(
        "NoPPA outperforms all bag-of-words methods on each data set",
        f"Against Average, TF-IDF, SIF and uSIF, NoPPA is not the best in {len(lost)} of {cells} cells of data set and setting ({by_task(lost)}), by more "
        f"than the standard error of the task in {len(clear)} ({by_task(clear)}).",
        FAILED if lost else HELD,
    )


def by_task(found: Sequence[str]) -> str:
    """How often each task was found."""
    counts = [f"{task} {found.count(task)}" for task in CLASSIFICATION if task in found]
    return ", ".join(counts) or "none"


def best_of_all() -> Claim:
    """First, or behind the first by no more than the error."""
    parts, outcomes = [], []
    for setting in settings():
        means = {row: mean(setting.table, row) for row in METHODS}
        order = sorted(means, key=means.__getitem__, reverse=True)
        behind = means[order[0]] - means["NoPPA"]
        outcomes.append(1 if behind <= uncertainty(setting.table, "NoPPA") else -1)
        shown = ", ".join(f"{row} {means[row]:.2f}" for row in order[:3])
        at = order.index("NoPPA") + 1
        place = "" if at <= 3 else f", NoPPA {means['NoPPA']:.2f} at place {at}"
        parts.append(f"{setting.name}: {shown}{place}")
    return Claim(
        "NoPPA is comparable to or better than the state of the art of non-parametric methods on average",
        f"The best means. {'. '.join(parts)}.",
        judged(outcomes),
    )


def parametric() -> Claim:
    """NoPPA against trained encoders."""
    gains: dict[str, list[float]] = {}
    for protocol in PROTOCOLS:
        for file in FILES:
            own, trained = table_of(protocol, file), table_of(protocol, None)
            for name in trained.rows:
                gains.setdefault(name, []).append(mean(own, "NoPPA") - mean(trained, name))
    parts = [
        f"{name}: from {min(own):+.2f} to {max(own):+.2f} in {len(own)} settings"
        for name, own in gains.items()
    ]
    better = sum(fmean(own) > 0 for own in gains.values())
    return Claim(
        "Compared with parametric models, NoPPA does better than most",
        f"NoPPA with its defaults against trained encoders, mean of eight: {'; '.join(parts)}. Those of the paper are older.",
        HELD if better > len(gains) / 2 else FAILED,
    )
