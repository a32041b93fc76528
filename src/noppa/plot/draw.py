"""Pictures as .png and .svg files by matplotlib, without a display."""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noppa.extras import needs
from noppa.plot.colours import DARK, LIGHT, Theme
from noppa.plot.pictures import Bars, Heatmap, Lines, Scatter, levels, short, shown
from noppa.plot.svg import width_of

with needs("plot", "a .png or .svg", ", or write .html"):
    from matplotlib import rc_context
    from matplotlib.colors import FuncNorm, LinearSegmentedColormap
    from matplotlib.figure import Figure

    from noppa.plot.fonts import families_for

DPI = 150
#: What a file says of itself; without a date, so that the same picture gives the same bytes.
FACTS: dict[str, Any] = {
    "png": {"Software": "noppa"},
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
}
MARKERS = "os^DvPX*"
DASHES = ("-", "--", ":", "-.")


def draw(pictures: Sequence[Any], path: Path, form: str, dark: bool = False) -> None:
    """Write pictures side by side into one file, as `png`, `svg` or `pdf`."""
    theme = DARK if dark else LIGHT
    vector = form == "svg"
    settings: Any = {
        # Text in an .svg stays text, rendered with the reader's fonts.
        "font.family": families_for(_texts(pictures), warns=not vector),
        "font.size": 9,
        "text.color": theme.text,
        "axes.labelcolor": theme.text,
        "axes.edgecolor": theme.line,
        "axes.facecolor": theme.paper,
        "figure.facecolor": theme.paper,
        "xtick.color": theme.faint,
        "ytick.color": theme.faint,
        "text.parse_math": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "noppa",
    }
    sizes = [SIZES[type(picture)](picture) for picture in pictures]
    widths = [size[0] for size in sizes]
    with rc_context(settings), warnings.catch_warnings():
        # `families_for` has warned once.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        whole = Figure(figsize=(sum(widths), max(size[1] for size in sizes)), layout="constrained")
        parts: Any = whole.subfigures(1, len(pictures), width_ratios=widths, squeeze=False)
        for part, picture, width in zip(parts[0], pictures, widths, strict=True):
            part.set_facecolor(theme.paper)
            axes = part.add_subplot()
            part.suptitle(_wrapped(picture.title, width), fontsize=10, x=0.02, ha="left")
            DRAWERS[type(picture)](axes, picture, theme)
            part.supxlabel(_wrapped(picture.note, width), fontsize=8, color=theme.faint)
        whole.savefig(path, dpi=DPI, format=form, metadata=FACTS[form])


def _wrapped(text: str, inches: float) -> str:
    letters = max(20, int(inches * 14 * len(text) * 7.4 / max(width_of(text), 1)))
    return "\n".join(textwrap.wrap(text, letters, max_lines=6, placeholder=" …"))


def _texts(pictures: Sequence[Any]) -> Iterator[str]:
    """Every text that will be drawn."""
    for picture in pictures:
        yield from (picture.title, picture.note)
        for name in ("rows", "columns", "names", "labels"):
            yield from map(short, getattr(picture, name, ()))


def _cell(picture: Heatmap) -> float:
    return 0.5 if _few(picture) else 0.23


def _few(picture: Heatmap) -> bool:
    return bool(max(picture.values.shape) <= 12)


def _inches(names: Sequence[str]) -> float:
    return max(map(width_of, map(short, names))) / 88


def _heatmap_size(picture: Heatmap) -> tuple[float, float]:
    rows, columns = picture.values.shape
    labels = _inches(picture.rows), _inches(picture.columns)
    width = max(4.5, columns * _cell(picture) + labels[0] + 0.75 * labels[1] + 1.3)
    width += 0 if _few(picture) else 0.8  # the scale
    return width, max(2.1, rows * _cell(picture) + 0.75 * labels[1] + 1.4)


def _heatmap(axes: Any, picture: Heatmap, theme: Theme) -> None:
    strength = levels(picture.values)
    signed = bool((picture.values < 0).any())
    ends = [theme.minus, theme.paper, theme.plus] if signed else [theme.paper, theme.ink]
    most = float(np.abs(picture.values).max()) or 1.0
    root = FuncNorm(
        (lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * x**2),
        vmin=-most if signed else 0,
        vmax=most,
    )
    colours = LinearSegmentedColormap.from_list("noppa", ends)
    image = axes.imshow(picture.values, cmap=colours, norm=root, interpolation="nearest")
    if not _few(picture):
        bar = axes.figure.colorbar(image, ax=axes, shrink=0.5, aspect=25, pad=0.02)
        ticks = most * np.linspace(-1 if signed else 0, 1, 5 if signed else 4) ** (
            1 if signed else 2
        )
        bar.set_ticks(ticks, labels=[shown(tick, picture.percent) for tick in ticks])
        bar.outline.set_edgecolor(theme.line)
        bar.ax.tick_params(length=0, labelsize=8)
    rows, columns = picture.values.shape
    axes.set_xticks(range(columns), _labels(picture.columns, picture.column_known))
    axes.tick_params(axis="x", top=True, bottom=False, labeltop=True, labelbottom=False)
    for label in axes.get_xticklabels():
        label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")
    axes.set_yticks(range(rows), _labels(picture.rows, picture.row_known))
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=theme.line, linewidth=0.4)
    axes.tick_params(which="both", length=0)
    for labels, known in (
        (axes.get_xticklabels(), picture.column_known),
        (axes.get_yticklabels(), picture.row_known),
    ):
        _mark_unknown(labels, known, theme)
    axes.set_ylabel(picture.row_axis, fontsize=8)
    axes.set_xlabel(picture.column_axis, fontsize=8)
    axes.xaxis.set_label_position("top")
    for (row, column), value in np.ndenumerate(picture.values) if _few(picture) else ():
        text = f"{100 * value:.1f}" if picture.percent else f"{value:.3f}"
        colour = theme.paper if strength[row, column] > 0.6 else theme.text
        axes.text(column, row, text, ha="center", va="center", fontsize=7.5, color=colour)


def _mark_unknown(labels: Sequence[Any], known: Any, theme: Theme) -> None:
    for label, one in zip(labels, known, strict=True):
        label.set_color(theme.text if one else theme.faint)
        if not one:
            label.set_style("italic")


def _labels(names: Sequence[str], known: Any) -> list[str]:
    """Words as labels, those outside the vocabulary in parentheses."""
    pairs = zip(map(short, names), known, strict=True)
    return [name if one else f"({name})" for name, one in pairs]


def _bars_size(picture: Bars) -> tuple[float, float]:
    return 3.6 + _inches(picture.names), max(1.8, 0.24 * len(picture.names) + 1.3)


def _bars(axes: Any, picture: Bars, theme: Theme) -> None:
    places = np.arange(len(picture.names))
    colours = [theme.minus if value < 0 else theme.plus for value in picture.values]
    lengths = picture.values - picture.start
    axes.barh(places, lengths, height=0.7, left=picture.start, color=colours)
    axes.set_yticks(places, _labels(picture.names, picture.known))
    axes.invert_yaxis()
    axes.set_ylim(len(picture.names) - 0.4, -0.6)
    _mark_unknown(axes.get_yticklabels(), picture.known, theme)
    axes.axvline(picture.start, color=theme.text, linewidth=0.8)
    marks = picture.values if picture.marks is None else picture.marks
    for place, value, mark in zip(places, picture.values, marks, strict=True):
        at = min(value, mark) if value < 0 else max(value, mark)
        axes.annotate(
            picture.shown(value),
            (at, place),
            (-4 if value < 0 else 4, 0),
            textcoords="offset points",
            ha="right" if value < 0 else "left",
            va="center",
            fontsize=8,
        )
    if picture.marks is not None:
        axes.plot(
            picture.marks, places, "|", color=theme.text, markersize=11, markeredgewidth=2,
            linestyle="none",
        )  # fmt: skip
    low, high = axes.get_xlim()
    room = 0.22 * (high - low)  # for the numbers
    axes.set_xlim(low - (room if (picture.values < 0).any() else 0), high + room)
    axes.set_xlabel(picture.legend, fontsize=8)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _lines(axes: Any, picture: Lines, theme: Theme) -> None:
    for at, (name, curve) in enumerate(picture.curves.items()):
        colour = theme.groups[at % len(theme.groups)]
        axes.plot(
            picture.x, curve, DASHES[at % 4], marker=MARKERS[at % 8], color=colour, label=name
        )
        if name in picture.dots:
            axes.plot(
                picture.x, picture.dots[name], "o", markersize=11, markerfacecolor="none", color=colour,
                label=f"{name}, {picture.dots_name}",
            )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set(xlabel=picture.x_axis, ylabel=picture.y_axis)
    axes.grid(color=theme.line, linewidth=0.5)
    axes.legend(frameon=False)


def _scatter(axes: Any, picture: Scatter, theme: Theme) -> None:
    groups = picture.groups
    for at, group in enumerate(groups):
        chosen = np.array([label == group for label in picture.labels])
        x, y = picture.points[chosen].T
        axes.scatter(
            x, y, s=34, marker=MARKERS[(at + at // 8) % 8], color=theme.groups[at % len(theme.groups)],
            edgecolors=theme.paper, linewidths=0.5, label=short(group) or None,
        )  # fmt: skip
    axes.set(xlabel=picture.x_axis, ylabel=picture.y_axis)
    axes.set_aspect("equal", adjustable="datalim")
    if any(groups):
        axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))


SIZES: dict[type[Any], Callable[[Any], tuple[float, float]]] = {
    Heatmap: _heatmap_size,
    Bars: _bars_size,
    Lines: lambda picture: (6.0, 4.2),
    Scatter: lambda picture: (7.0, 5.4),
}
DRAWERS: dict[type[Any], Callable[[Any, Any, Theme], None]] = {
    Heatmap: _heatmap,
    Bars: _bars,
    Lines: _lines,
    Scatter: _scatter,
}
