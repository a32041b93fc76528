"""The classifier: accuracy at every size, speed, and planted label errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

import noppa
from noppa.paper.tasks import CLASSIFICATION
from pages.results import lines_of, peer_rows

SIZES = {8: "8 rows a class", 100: "100 rows", 1000: "1,000 rows", "all": "all rows"}
OURS, BAG, VECTORS, PEER = "Classifier", "TF-IDF", "noppa.load()", "all-MiniLM-L6-v2"
TITLES = {
    OURS: "`noppa.Classifier`",
    BAG: "TF-IDF n-grams alone",
    VECTORS: "`noppa.load()`",
    PEER: "all-MiniLM-L6-v2",
}
Line = dict[str, Any]


def measured() -> str:
    lines = _latest(lines_of("classifier"))
    return accuracy(lines) + published(lines) + speed(lines) + flips(lines) + older(lines)


def _latest(lines: Sequence[Line]) -> list[Line]:
    """Of lines about the same, the last; of those on the embedded model's words, only the ones on its newest."""
    newest = {line["what"]: line["model"] for line in lines if line["encoder"] == OURS}
    found: dict[tuple[Any, ...], Line] = {}
    for line in lines:
        if line["encoder"] in (OURS, VECTORS) and line["model"] != newest[line["what"]]:
            continue
        key = tuple(line[name] for name in ("what", "task", "encoder", "rows", "seed"))
        found.pop(key, None)
        found[key] = line
    return list(found.values())


def accuracy(lines: Sequence[Line]) -> str:
    head = f"| | rows | mean of eight | {' | '.join(CLASSIFICATION)} |\n|---|---|{'---:|' * 9}\n"
    rows = []
    for size, title in SIZES.items():
        for encoder in (OURS, BAG, VECTORS, PEER):
            scores = _scores(lines, encoder, size)
            if len(scores) == len(CLASSIFICATION):
                cells = [np.mean(list(scores.values())), *(scores[name] for name in CLASSIFICATION)]
                numbers = " | ".join(f"{cell:.2f}" for cell in cells)
                rows.append(f"| {TITLES[encoder]} | {title} | {numbers} |\n")
    runs = {(line["encoder"], line["seed"]) for line in lines if line["what"] == "accuracy"}
    seeds = Counter(encoder for encoder, _ in runs)
    return (
        head
        + "".join(rows)
        + "\nAccuracy on test rows, in percent. All rows: the folds and splits of `noppa bench`, "
        + f"seeds: {seeds[OURS]} of the classifier, {seeds[BAG]} of TF-IDF, one of the others, whose vectors have the probe `fast`. "
        "Fewer rows: the mean of five draws from the training rows of the first split. The classifier chooses everything inside "
        "the training rows, or on development rows where a task has them.\n\n"
    )


def by_rows() -> str:
    """The mean of eight for each number of training rows."""
    lines = _latest(lines_of("classifier"))
    head = f"| mean of eight | {' | '.join(SIZES.values())} |\n|---|{'---:|' * len(SIZES)}\n"
    rows = (
        [np.mean(list(_scores(lines, encoder, size).values())) for size in SIZES]
        for encoder in TITLES
    )
    return head + "".join(
        f"| {title} | {' | '.join(f'{mean:.2f}' for mean in means)} |\n"
        for title, means in zip(TITLES.values(), rows, strict=True)
    )


def model2vec_published() -> str:
    return published(_latest(lines_of("classifier"))).strip() + "\n"


def _scores(lines: Sequence[Line], encoder: str, size: Any) -> dict[str, float]:
    """The mean over seeds, by task."""
    if size == "all" and encoder in (VECTORS, PEER):
        return {
            row["task"]: row["score"]
            for row in peer_rows()
            if row["encoder"].strip("`") == encoder and row["task"] in CLASSIFICATION
        }
    by_task: dict[str, list[float]] = {}
    for line in lines:
        if line["what"] in ("accuracy", "few") and (line["encoder"], line["rows"]) == (
            encoder,
            size,
        ):
            by_task.setdefault(line["task"], []).append(line["score"])
    return {task: float(np.mean(scores)) for task, scores in by_task.items()}


def published(lines: Sequence[Line]) -> str:
    """What model2vec says of its own classifiers, where a task is the same."""
    theirs = lines_of("published")
    ours = _scores(lines, OURS, theirs[0]["rows"])
    if any(line["task"] not in ours for line in theirs):
        return ""
    parts = [f"{line['encoder']} {line['score']:.2f} on {line['task']}" for line in theirs]
    own = " and ".join(
        f"{ours[task]:.2f} on {task}" for task in dict.fromkeys(line["task"] for line in theirs)
    )
    return (
        f"model2vec publishes [its own figures]({theirs[0]['source']}) with {theirs[0]['rows']:,} training rows, on other splits: "
        f"{', '.join(parts)}. Ours with as many rows: {own}.\n\n"
    )


def speed(lines: Sequence[Line]) -> str:
    line = next((line for line in lines if line["what"] == "speed"), None)
    if line is None:
        return ""
    return (
        f"{line['rows']:,} rows of {line['task']}, {line['dim']} dimensions: trained with folds and report in "
        f"{line['train_cpu_seconds']:.1f} seconds of CPU time ({line['train_seconds']:.1f} by the clock of a busy machine of "
        f"two cores); predicted at {line['texts_a_cpu_second']:,.0f} texts a second of CPU time. The saved folder has "
        f"{line['bytes'] / 1e6:.2f} MB beside the embedded words. Loaded in another process, the shares of 100 texts add up to "
        f"the logits within {line['largest_error_of_shares']:.0e}.\n\n"
    )


def flips(lines: Sequence[Line]) -> str:
    chosen = [line for line in lines if line["what"] == "flips"]
    if not chosen:
        return ""
    rows = "".join(
        f"| {line['task']} | {TITLES[line['encoder']]} | {line['found']} |\n" for line in chosen
    )
    return (
        f"| 200 flipped labels in {chosen[0]['rows']:,} rows | model | of them among the 200 most suspicious |\n"
        f"|---|---|---:|\n{rows}"
    )


def older(lines: Sequence[Line]) -> str:
    """What was measured on an earlier form of the embedded model."""
    titles = {
        "accuracy": "all rows",
        "few": "fewer rows",
        "speed": "speed",
        "flips": "flipped labels",
    }
    now = noppa.load()
    before = {
        line["what"]: line["dim"]
        for line in lines
        if line["encoder"] == OURS and line["model"] != now.identity.checksum
    }
    if not before:
        return ""
    names = ", ".join(f"{titles[what]} ({dim:,} numbers a text)" for what, dim in before.items())
    return f"\nMeasured on an earlier form of `noppa.load()`, which has {now.dim:,} numbers a text now: {names}.\n"
