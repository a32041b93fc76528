"""The plots of README.md (models of today), docs/default-model.md (quality against size and speed, of models and of what was tried) and docs/evaluation.md (a and k); those of docs/speed.md by curves.py, of docs/paper.md by gains.py."""

from __future__ import annotations

import hashlib
import json
from itertools import cycle
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

from noppa.paper import report
from noppa.paper.experiments import GRID_A, GRID_K
from pages import curves, gains
from pages.embedded import TAKEN, cost_rows
from pages.results import FIRST_EDITION, PRESETS, lines_of, peer_rows
from pages.studies import grids

Point = tuple[str, float, float, float]  # name, size or speed, mean of eight, STS-B
Attempt = tuple[str, float, float, bool]  # name, size or speed, score, whether it is the preset

AXES = {
    "docs/images/quality-size.svg": "MB: wheel, or model file",
    "docs/images/quality-speed.svg": "speed by CPU time, model2vec = 1",
    "docs/images/overview-speed.svg": "speed by CPU time, model2vec = 1",
    "docs/images/grid.svg": "k",
    curves.PICTURE: "speed",
    gains.PICTURE: "gains",
}
#: Pictures whose modules say what they show and draw it.
ELSEWHERE = {curves.PICTURE: curves, gains.PICTURE: gains}
OVERVIEW = "docs/images/overview-speed.svg"
GRID = "docs/images/grid.svg"
GRID_COLUMNS = 4
TRIED = {
    "docs/images/quality-size.svg": "tried for noppa.load(): difference from the model as first built, training and development rows",
    "docs/images/quality-speed.svg": "tried for noppa.load(): mean of CR, SUBJ, TREC and MRPC, training rows left out one by one",
}
#: Marker and colour of a model by a part of its name, the first that fits.
LOOKS = {
    "alone": ("v", "#2a7a4b"),
    "small": ("^", "#2a7a4b"),
    "similarity": ("s", "#7a3b9a"),
    "noppa": ("o", "#1f5fa8"),
    "WordLlama": ("D", "#b0582a"),
    "MiniLM": ("P", "#444444"),
}
MARKERS = "os^vDPX<>*hpdH8"
#: The row of tried.jsonl that the differences in it are measured from.
FIRST_BUILT = "as first built"
PANELS = ("mean of eight", "STS-B")


def points(path: str) -> list[Point]:
    """What a plot shows of models, from the results; a model without all scores is left out."""
    (scores,) = report.tables(peer_rows())
    found = []
    for name, row in cost_rows().items():
        mean = scores.mean(name) if name in scores.rows else None
        if mean is None or "STS-B" not in scores.rows[name]:
            continue
        if path == OVERVIEW and FIRST_EDITION in name:
            continue
        quality = round(mean, 2), round(fmean(scores.rows[name]["STS-B"]), 2)
        if "speed" in path:
            found.append((name, round(row["cpu_ratio"], 4), *quality))
        else:
            found.append((name, round(row["bytes"] / 1e6, 1), *quality))
            if "small" in name:
                found.append((f"{name}, saved alone", round(row["saved_bytes"] / 1e6, 1), *quality))
    return found


def attempts(path: str) -> list[Attempt]:
    """What was tried for the default preset: sources by the size of the wheel, settings by their speed."""
    if "speed" in path:
        rows = lines_of("variants")
        (taken,) = (row for row in rows if row["what"] == TAKEN)
        # The speed of the preset is measured beside model2vec, that of the others beside the preset.
        per_text = cost_rows()[PRESETS["default"]]["cpu_ratio"] * taken["microseconds"]
        return [
            (
                row["what"].replace("`", ""),
                round(per_text / row["microseconds"], 3),
                round(fmean(row["left_out"].values()), 2),
                row is taken,
            )
            for row in rows
        ]
    rows = [row for row in lines_of("tried") if "megabytes" in row]
    (built,) = (row["mean"] for row in rows if row["short"] == FIRST_BUILT)
    return [
        (
            row["short"],
            row["megabytes"],
            float(row["mean"]) if isinstance(row["mean"], str) else round(row["mean"] - built, 2),
            "taken" in row["short"],
        )
        for row in rows
    ]


def digest(path: str) -> str:
    """Of the points: the file names it, so that a check needs no matplotlib, whose versions draw differently."""
    if path in ELSEWHERE:
        shown: Any = ELSEWHERE[path].shown()
    elif path in TRIED:
        shown = [TRIED[path], points(path), attempts(path)]
    else:
        shown = grids() if path == GRID else [points(path)]
    return hashlib.sha256(json.dumps([AXES[path], shown]).encode()).hexdigest()


def stale(root: Path) -> list[str]:
    """The plots that do not show the results."""
    there = {path: root / path for path in AXES}
    return [
        path
        for path, file in there.items()
        if not file.exists() or digest(path) not in file.read_text(encoding="utf-8")
    ]


def draw(root: Path, path: str) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "noppa", "svg.fonttype": "none", "font.size": 9}
    with rc_context(settings):
        tall = path in TRIED or path in ELSEWHERE
        height = 4.2 * ceil(len(grids()) / GRID_COLUMNS) if path == GRID else 8 if tall else 4.2
        figure = Figure(figsize=(10, height), layout="constrained")
        if path in ELSEWHERE:
            ELSEWHERE[path].draw(figure)
        elif path == GRID:
            grid_panels(figure)
        elif path == OVERVIEW:
            model_panels(figure, path)
        else:
            quality_panels(figure, path)
        figure.savefig(root / path, metadata={"Date": None, "Description": digest(path)})


def quality_panels(figure: Any, path: str) -> None:
    """Models on test above, what was tried below."""
    upper, lower = figure.subfigures(2)
    model_panels(upper, path)
    attempts_panel(lower, path)


def model_panels(figure: Any, path: str) -> None:
    both = figure.subplots(1, 2)
    for column, axes in enumerate(both):
        panel(axes, points(path), column)
        axes.set_xlabel(f"{AXES[path]} (logarithmic)")
    handles = both[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4 if path in TRIED else 5)


def attempts_panel(figure: Any, path: str) -> None:
    """A marker an attempt, that of the preset filled."""
    axes = figure.subplots()
    colour = LOOKS["noppa"][1]
    for marker, (name, x, y, taken) in zip(cycle(MARKERS), attempts(path), strict=False):
        inside = colour if taken else "white"
        axes.plot(x, y, marker, ms=8, color=colour, mfc=inside, alpha=0.8, label=name)
    axes.set_xlabel(AXES[path])
    axes.set_title(TRIED[path], loc="left")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right")


def grid_panels(figure: Any) -> None:
    """A heat map a task: a down, k across, each cell with its score, the best in bold."""
    tasks = grids()
    lines = ceil(len(tasks) / GRID_COLUMNS)
    panels = figure.subplots(lines, GRID_COLUMNS, squeeze=False).flat
    for axes in panels[len(tasks) :]:
        axes.set_visible(False)
    for axes, (task, cells) in zip(panels, tasks.items(), strict=False):
        axes.imshow(cells, cmap="Blues", aspect="auto", alpha=0.55)
        best = max(
            (score, row, column)
            for row, line in enumerate(cells)
            for column, score in enumerate(line)
        )
        for row, line in enumerate(cells):
            for column, score in enumerate(line):
                weight = "bold" if (row, column) == best[1:] else "normal"
                axes.text(
                    column, row, f"{score:.1f}", ha="center", va="center", size=7, weight=weight
                )
        axes.set_xticks(range(len(GRID_K)), map(str, GRID_K))
        axes.set_yticks(range(len(GRID_A)), [f"{a:g}" for a in GRID_A])
        axes.set_xlabel(AXES[GRID])
        axes.set_ylabel("a")
        axes.set_title(task, loc="left")


def panel(axes: Any, shown: list[Point], column: int) -> None:
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    for name, x, *quality in shown:
        marker, colour = next(look for part, look in LOOKS.items() if part in name)
        inside = "white" if FIRST_EDITION in name else colour
        label = name.replace("`", "")
        axes.plot(x, quality[column], marker, ms=8, color=colour, mfc=inside, label=label)
    axes.set_xscale("log")
    axes.margins(x=0.1, y=0.1)
    lows, highs = (pick(each[1] for each in shown) for pick in (min, max))
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if highs < 100 * lows else (1,)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter("")
    axes.set_title(PANELS[column], loc="left")
    axes.grid(alpha=0.25)
