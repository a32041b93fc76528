"""Draw the plots of the documentation: quality against speed, gains, the grid of a and k, and speed curves.

A plot stores a digest of its data in the SVG, so that checking it needs no matplotlib.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from math import ceil
from statistics import fmean
from typing import Any, NamedTuple

from paper_claims import COMPARED, gain_of, settings
from paper_tables import PAPER, grid_scores
from tables import ROOT, cost_rows, mean, quality_scores, read

from noppa.paper.tasks import CLASSIFICATION

IMAGES = ROOT / "docs" / "images"
COLOURS = ("#1f5fa8", "#7a3b9a", "#2a7a4b", "#b0582a", "#444444", "#c0392b")
MARKERS = "os^DPv"
#: Curve: label of the y axis, label of the x axis.
CURVES = {
    "length": ("milliseconds per text", "tokens per text"),
    "dimension": ("microseconds per sentence", "dimensions"),
    "batch": ("microseconds per sentence", "sentences per call"),
    "vocabulary": ("microseconds per sentence", "words"),
    "storage": ("microseconds per sentence", "storage of vectors"),
    "threads": ("sentences per second, one = 1", "threads or processes"),
}


# Quality against speed


def overview_data() -> list[tuple[str, float, float, float]]:
    """Return name, speed relative to model2vec, mean of eight and STS-B of each model that has all three."""
    scores = quality_scores()
    return [
        (name, row["cpu_ratio"], mean(scores[name]), fmean(scores[name]["STS-B"]))
        for name, row in cost_rows().items()
        if name in scores
    ]


def draw_overview(figure: Any) -> None:
    for axes, column, title in zip(
        figure.subplots(1, 2), (2, 3), ("mean of eight", "STS-B"), strict=True
    ):
        for point, marker, colour in zip(overview_data(), MARKERS, COLOURS, strict=False):
            label = point[0].replace("`", "")
            axes.plot(point[1], point[column], marker, ms=8, color=colour, label=label)
        axes.set_xscale("log")
        axes.set_xlabel("speed by CPU time, model2vec = 1 (logarithmic)")
        axes.set_title(title, loc="left")
        axes.margins(0.1)
        axes.grid(alpha=0.25)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=5)


# Gains of the paper's comparisons


def gains_data() -> dict[str, list[tuple[str, float, float]]]:
    """Return setting, gain and error of each comparison; the paper's gains have no error."""
    printed = {
        name: {task: [score] for task, score in zip(CLASSIFICATION, own, strict=True) if score}
        for name, own in PAPER.items()
    }
    found = {}
    for new, old, _ in COMPARED:
        gains = [(name, gain_of(scores, new, old)) for name, scores in settings().items()]
        points = [(name, gain.gain, gain.error) for name, gain in gains if gain]
        points.append(("the paper", mean(printed[new]) - mean(printed[old]), 0.0))
        found[f"{new} against {old}"] = points
    return found


def draw_gains(figure: Any) -> None:
    axes, data = figure.subplots(), gains_data()
    names = list(dict.fromkeys(name for points in data.values() for name, _, _ in points))
    for number, name in enumerate(names):
        offset = (number + 1) / (len(names) + 1) - 0.5
        own = [
            (line + offset, gain, error)
            for line, points in enumerate(data.values())
            for other, gain, error in points
            if other == name
        ]
        y, x, error = zip(*own, strict=True)
        paper = {"fmt": "D", "color": "black", "mfc": "white"}
        look = paper if name == "the paper" else {"fmt": "o"}
        axes.errorbar(x, y, xerr=error, ms=5, lw=1, label=name, **look)
    axes.axvline(0, color="black", lw=0.8)
    axes.set_yticks(range(len(data)), list(data))
    axes.invert_yaxis()
    axes.set_xlabel("gain in the mean of eight tasks, in points, with its standard error")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper")


# The grid of a and k


def grid_data() -> dict[str, list[tuple[float, int, float]]]:
    return {
        task: [(a, k, score) for (a, k), score in cells.items()]
        for task, cells in grid_scores().items()
    }


def draw_grid(figure: Any) -> None:
    tasks = grid_scores()
    panels = figure.subplots(ceil(len(tasks) / 4), 4, squeeze=False).flat
    for axes, (task, cells) in zip(panels, tasks.items(), strict=False):
        all_a, all_k = ([*dict.fromkeys(sorted(c[at] for c in cells))] for at in (0, 1))
        axes.imshow(
            [[cells[a, k] for k in all_k] for a in all_a], "Blues", aspect="auto", alpha=0.55
        )
        best = max(cells, key=cells.__getitem__)
        for (a, k), score in cells.items():
            weight = "bold" if (a, k) == best else "normal"
            place = {"ha": "center", "va": "center", "size": 7, "weight": weight}
            axes.text(all_k.index(k), all_a.index(a), f"{score:.1f}", **place)
        axes.set_xticks(range(len(all_k)), map(str, all_k))
        axes.set_yticks(range(len(all_a)), [f"{a:g}" for a in all_a])
        axes.set(xlabel="k", ylabel="a")
        axes.set_title(task, loc="left")
    for axes in panels:
        axes.set_visible(False)


# Speed curves


def curves_data() -> dict[str, dict[str, list[tuple[Any, float]]]]:
    """Return the points of each series of each curve, in the unit of its y axis."""
    found: dict[str, dict[str, list[tuple[Any, float]]]] = {curve: {} for curve in CURVES}
    for row in read("curves"):
        series = found[row["curve"]].setdefault(row["series"].replace("`", ""), [])
        y = row["microseconds"] / (1000 if row["curve"] == "length" else 1)
        series.append((row["x"], y))
    for series in found["threads"].values():
        series[:] = [(count, series[0][1] / y) for count, y in series]
    return found


def draw_curves(figure: Any) -> None:
    for axes, (curve, series) in zip(
        figure.subplots(2, 3).flat, curves_data().items(), strict=True
    ):
        for (name, points), marker, colour in zip(series.items(), MARKERS, COLOURS, strict=False):
            axes.plot(*zip(*points, strict=True), marker=marker, ms=4, color=colour, label=name)
        if curve in ("length", "batch", "vocabulary"):
            axes.set_xscale("log")
        if curve in ("length", "batch"):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        y, x = CURVES[curve]
        axes.set(xlabel=x, ylabel=y)
        axes.set_title(curve, loc="left")
        axes.grid(alpha=0.25)
        axes.legend(fontsize=6.5)


class Picture(NamedTuple):
    data: Callable[[], Any]
    draw: Callable[[Any], None]
    height: float


PICTURES = {
    "overview-speed.svg": Picture(overview_data, draw_overview, 4.2),
    "gains.svg": Picture(gains_data, draw_gains, 8),
    "grid.svg": Picture(grid_data, draw_grid, 12.6),
    "speed-curves.svg": Picture(curves_data, draw_curves, 8),
}


def digest(name: str) -> str:
    return hashlib.sha256(json.dumps(PICTURES[name].data()).encode()).hexdigest()


def stale() -> list[str]:
    """Return the plots that do not show the current results."""
    return [
        name
        for name in PICTURES
        if not (IMAGES / name).exists()
        or digest(name) not in (IMAGES / name).read_text(encoding="utf-8")
    ]


def draw(name: str) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    settings: Any = {"svg.hashsalt": "noppa", "svg.fonttype": "none", "font.size": 9}
    with rc_context(settings):
        figure = Figure(figsize=(10, PICTURES[name].height), layout="constrained")
        PICTURES[name].draw(figure)
        figure.savefig(IMAGES / name, metadata={"Date": None, "Description": digest(name)})
