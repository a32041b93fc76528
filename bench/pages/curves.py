"""The curves of docs/speed.md: a picture of six panels, and what one reads from it."""

from __future__ import annotations

from typing import Any

from pages.embedded import table
from pages.results import lines_of

PICTURE = "docs/images/speed-curves.svg"
#: What the axes of a panel are, upright and across.
PANELS = {
    "length": ("milliseconds a text", "tokens of a text"),
    "dimension": ("microseconds a sentence", "dimensions"),
    "batch": ("microseconds a sentence", "sentences in a call"),
    "vocabulary": ("microseconds a sentence", "words"),
    "storage": ("microseconds a sentence", "how vectors are stored"),
    "threads": ("sentences a second, one = 1", "threads or processes"),
}
#: Marker and colour of a series by a part of its name, the first that fits.
LOOKS = {
    "processes": ("D", "#b0582a"),
    "windows": ("^", "#2a7a4b"),
    "Average": ("s", "#7a3b9a"),
    "S3E": ("D", "#b0582a"),
    "NoPPA, one": ("o", "#1f5fa8"),
    "NoPPA, ": ("P", "#c0392b"),
    "NoPPA": ("o", "#1f5fa8"),
    "similarity": ("s", "#7a3b9a"),
    "load": ("v", "#2a7a4b"),
    "threads": ("o", "#1f5fa8"),
}


def shown() -> dict[str, dict[str, list[tuple[Any, float]]]]:
    """The points of each series of each curve, in the unit of its axis."""
    found: dict[str, dict[str, list[tuple[Any, float]]]] = {curve: {} for curve in PANELS}
    for line in lines_of("curves"):
        series = found[line["curve"]].setdefault(line["series"].replace("`", ""), [])
        y = line["microseconds"] / (1000 if line["curve"] == "length" else 1)
        series.append((line["x"], y))
    for series in found["threads"].values():
        first = series[0][1]
        series[:] = [(count, first / y) for count, y in series]
    return found


def draw(figure: Any) -> None:
    from matplotlib.ticker import StrMethodFormatter

    for axes, (curve, series) in zip(figure.subplots(2, 3).flat, shown().items(), strict=True):
        upright, across = PANELS[curve]
        for name, points in series.items():
            marker, colour = next(look for part, look in LOOKS.items() if part in name)
            axes.plot(*zip(*points, strict=True), marker=marker, ms=4, color=colour, label=name)
        if curve in ("length", "batch", "vocabulary"):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
        if curve in ("length", "batch"):
            axes.set_yscale("log")
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
            axes.yaxis.set_minor_formatter("")
        else:
            axes.set_ylim(bottom=0)
        axes.xaxis.set_minor_formatter("")
        if curve == "threads":
            axes.set_xticks(sorted({x for points in series.values() for x, _ in points}))
        axes.set(xlabel=across, ylabel=upright)
        axes.set_title(curve, loc="left")
        axes.grid(alpha=0.25)
        axes.legend(fontsize=6.5)


def measured() -> str:
    """The picture, where it comes from, and the long texts as a table."""
    lines = lines_of("curves")
    about = lines[0]
    lengths = shown()["length"]
    columns = sorted({x for points in lengths.values() for x, _ in points})
    rows = [
        [name, *(number(dict(points).get(length)) for length in columns)]
        for name, points in lengths.items()
    ]
    thin = any(line["thin"] for line in lines)
    how = "in part a thin run on a busy machine" if thin else "measured"
    return (
        f"![Curves of speed]({PICTURE.removeprefix('docs/')})\n\n"
        f"Made words of 300 dimensions, sentences of 4 to 16 words, from raw text; {how} on {about['processors']} processors "
        f"(set {about['set']}) by `python bench/curves.py`. Milliseconds a text, by its tokens:\n\n"
        + table(["method", *(f"{length:,}" for length in columns)], rows)
        + threads(lines)
        + single(lines)
    )


def single(lines: list[dict[str, Any]]) -> str:
    """What a call with one sentence takes."""
    said = [
        f"{line['series']} {line['microseconds']:.1f}"
        for line in lines
        if line["curve"] == "batch" and line["x"] == 1
    ]
    return f"\nMicroseconds of a call with one sentence of ten words or so: {', '.join(said)}.\n"


def instructions() -> str:
    """What `make bench-guard` compares with."""
    lines = lines_of("instructions")
    sets = list(dict.fromkeys(line["set"] for line in lines))
    counts = {(line["case"], line["set"]): f"{line['instructions']:,}" for line in lines}
    rows = [
        [case, *(counts.get((case, each), "") for each in sets)]
        for case in dict.fromkeys(line["case"] for line in lines)
    ]
    about = lines[0]
    made = f"GCC {about['compiler']}, Python {about['python']}, NumPy {about['numpy']}"
    return f"Instructions, counted by callgrind ({made}):\n\n" + table(["input", *sets], rows)


def number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}" if value < 100 else f"{value:,.0f}"


def threads(lines: list[dict[str, Any]]) -> str:
    """How much faster several threads are, beside as many processes."""
    rates = {
        (line["series"], line["x"]): 1 / line["microseconds"]
        for line in lines
        if line["curve"] == "threads"
    }
    most = max(count for _, count in rates)
    if most == 1:
        return ""
    gains = {
        series: rates[series, most] / rates[series, 1]
        for series in dict.fromkeys(s for s, _ in rates)
    }
    said = "; ".join(f"{most} {series}: {gain:.2f} times one" for series, gain in gains.items())
    return f"\n{said}.\n"
