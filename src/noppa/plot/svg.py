"""Pictures as SVG inside a page: colours from the page's style sheet, a hover text for each mark, no address of anything."""

from __future__ import annotations

import html
import unicodedata
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noppa.plot.pictures import Bars, Float, Heatmap, Lines, Scatter, levels, short, shown

UNIT, LINE = 7.4, 24  # pixels of a narrow letter and of a line of text
UNKNOWN = " (not in the vocabulary)"

#: Outlines of marks around (0, 0), so that groups differ in more than colour.
SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
    "M-4.5-4.5h9v9h-9z",
    "M0-6l5.5 10h-11z",
    "M0-6.5l6.5 6.5l-6.5 6.5l-6.5-6.5z",
)
DASHES = ("none", "7 4", "2 3", "9 3 2 3")


def width_of(text: str) -> float:
    """About how many pixels a text takes; Chinese, Japanese and Korean letters take two places."""
    units = sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )
    return UNIT * units


def heatmap(picture: Heatmap) -> str:
    rows, columns = len(picture.rows), len(picture.columns)
    few = max(rows, columns) <= 12
    cell = 46 if few else 22
    left = max(map(width_of, [*map(short, picture.rows), picture.row_axis])) + 28
    slant = 0.71 * max(map(width_of, map(short, picture.columns)))
    top = slant + 34
    strength, body = levels(picture.values), []
    for at, (name, known) in enumerate(zip(picture.columns, picture.column_known, strict=True)):
        x = left + (at + 0.5) * cell
        place = f'transform="translate({x:.1f} {top - 8:.1f}) rotate(-45)"'
        body.append(_label(name, bool(known), place))
    for r, (name, known) in enumerate(zip(picture.rows, picture.row_known, strict=True)):
        y = top + r * cell
        place = f'x="{left - 8:.1f}" y="{y + cell / 2 + 4.5:.1f}" text-anchor="end"'
        body.append(_label(name, bool(known), place))
        for c, other in enumerate(picture.columns):
            value, level = picture.values[r, c], strength[r, c]
            kind = "minus" if value < 0 else ("plus" if (picture.values < 0).any() else "ink")
            x = left + c * cell
            caption = f"{name} → {other}: {shown(value, picture.percent)}"
            number = ""
            if few:
                text = f"{100 * value:.1f}" if picture.percent else f"{value:.3f}"
                over = " over" if level > 0.6 else ""
                number = f'<text class="n{over}" x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}">{text}</text>'
            body.append(
                f'<g class="m"><title>{html.escape(caption)}</title><rect class="cell" x="{x:.1f}" y="{y:.1f}" '
                f'width="{cell}" height="{cell}"/><rect class="{kind}" fill-opacity="{level:.3f}" x="{x:.1f}" '
                f'y="{y:.1f}" width="{cell}" height="{cell}"/>{number}</g>'
            )
    axes = f'<text class="faint" x="{left:.1f}" y="14">{html.escape(picture.column_axis)} →</text>'
    axes += f'<text class="faint" x="{left - 8:.1f}" y="{top - 8:.1f}" text-anchor="end">{html.escape(picture.row_axis)} ↓</text>'
    foot = top + rows * cell + 14
    width = max(left + columns * cell + slant + 12, left + 300)
    return _svg(width, foot + 44, columns, [axes, *body, _scale(picture, left, foot)])


def _scale(picture: Heatmap, left: float, top: float) -> str:
    """The legend: what strengths of colour mean."""
    most = float(np.abs(picture.values).max(initial=0))
    signed = bool((picture.values < 0).any())
    steps = np.linspace(-1 if signed else 0, 1, 9 if signed else 7)
    parts = []
    for at, step in enumerate(steps):
        kind = "minus" if step < 0 else ("plus" if signed else "ink")
        x = left + 22 * at
        parts.append(
            f'<rect class="cell" x="{x:.1f}" y="{top:.1f}" width="22" height="12"/><rect class="{kind}" '
            f'fill-opacity="{abs(step):.3f}" x="{x:.1f}" y="{top:.1f}" width="22" height="12"/>'
        )
    end = left + 22 * len(steps)
    low = shown(-most if signed else 0, picture.percent)
    parts.append(f'<text class="faint" x="{left:.1f}" y="{top + 28:.1f}">{low}</text>')
    parts.append(
        f'<text class="faint" x="{end:.1f}" y="{top + 28:.1f}" text-anchor="end">{shown(most, picture.percent)}</text>'
    )
    return "".join(parts)


def bars(picture: Bars) -> str:
    left = max(map(width_of, map(short, picture.names))) + 28
    everything = [picture.values] + ([] if picture.marks is None else [picture.marks])
    low = min(picture.start, *(float(part.min()) for part in everything))
    high = max(picture.start, *(float(part.max()) for part in everything))
    scale = 420 / max(high - low, 1e-12)
    start = left + (60 if low < 0 else 0)
    zero, body = start - scale * low, []  # where 0 is, or would be
    root = zero + scale * picture.start
    for at, (name, value, known) in enumerate(
        zip(picture.names, picture.values, picture.known, strict=True)
    ):
        y, x = at * LINE + 6, min(root, zero + scale * value)
        place = f'x="{left - 8:.1f}" y="{y + 15}" text-anchor="end"'
        caption = f"{name}: {picture.shown(value)}{'' if known else UNKNOWN}"
        mark = ""
        if picture.marks is not None:
            caption += f" ({picture.marks_name}: {picture.shown(float(picture.marks[at]))})"
            tick = zero + scale * picture.marks[at]
            mark = f'<path class="tick" d="M{tick:.1f} {y}v{LINE - 4}"/>'
        end = zero + scale * value
        anchor = "end" if value < 0 else "start"
        number = end - 6 if value < 0 else end + 6
        if picture.marks is not None and value >= 0:
            number = max(number, zero + scale * float(picture.marks[at]) + 6)
        body.append(
            _label(name, bool(known), place)
            + f'<g class="m"><title>{html.escape(caption)}</title><rect class="{"minus" if value < 0 else "plus"}" '
            f'x="{x:.1f}" y="{y + 2}" width="{abs(scale * value - scale * picture.start):.1f}" height="{LINE - 8}"/>{mark}'
            f'<text x="{number:.1f}" y="{y + 15}" text-anchor="{anchor}">{picture.shown(value)}</text></g>'
        )
    foot = len(picture.names) * LINE + 10
    body.append(f'<path class="axis" d="M{root:.1f} 2V{foot}"/>')
    body.append(
        f'<text class="faint" x="{root:.1f}" y="{foot + 16}">{html.escape(picture.legend)}</text>'
    )
    return _svg(start + 420 + 90, foot + 26, 1, body)


def lines(picture: Lines) -> str:
    wide, high, left, top = 520, 300, 64, 16
    logs = np.log10(picture.x)
    everything = np.concatenate([*picture.curves.values(), *picture.dots.values()])
    most = max(1.0, float(everything.max()))

    def at(x: float, y: float) -> tuple[float, float]:
        share = (np.log10(x) - logs.min()) / max(float(np.ptp(logs)), 1e-12)
        return left + wide * float(share), top + high * (1 - y / most)

    body = []
    for power in range(int(np.ceil(logs.min())), int(np.floor(logs.max())) + 1):
        x, _ = at(10.0**power, 0)
        body.append(f'<path class="grid" d="M{x:.1f} {top}v{high}"/>')
        body.append(f'<text class="faint c" x="{x:.1f}" y="{top + high + 18}">1e{power}</text>')
    for tick in np.linspace(0, most, 6):
        _, y = at(picture.x[0], float(tick))
        body.append(f'<path class="grid" d="M{left} {y:.1f}h{wide}"/>')
        body.append(
            f'<text class="faint" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.1f}</text>'
        )
    for number, (name, curve) in enumerate(picture.curves.items()):
        places = [at(float(x), float(y)) for x, y in zip(picture.x, curve, strict=True)]
        path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
        dash, colour = DASHES[number % len(DASHES)], f"g{number % 8}"
        body.append(f'<path class="curve {colour}" stroke-dasharray="{dash}" d="{path}"/>')
        dots: Sequence[float] | Float = picture.dots.get(name, [])
        for x, y in zip(picture.x, dots, strict=False):
            px, py = at(float(x), float(y))
            body.append(f'<circle class="ring {colour}" cx="{px:.1f}" cy="{py:.1f}" r="8"/>')
        for step, (px, py) in enumerate(places):
            caption = f"{name}, {picture.x_axis} = {picture.x[step]:g}: {shown(float(curve[step]))}"
            if len(dots):
                caption += f" ({picture.dots_name}: {shown(float(dots[step]))})"
            body.append(_mark(px, py, number, caption))
        y = top + high - 20 * (len(picture.curves) - number) - (20 if picture.dots else 0)
        body.append(_shape(left + wide - 150, y - 4, number))
        body.append(f'<text x="{left + wide - 138}" y="{y}">{html.escape(name)}</text>')
    if picture.dots:
        y = top + high - 20
        body.append(f'<circle class="ring faint" cx="{left + wide - 150}" cy="{y - 4}" r="8"/>')
        body.append(
            f'<text x="{left + wide - 138}" y="{y}">{html.escape(picture.dots_name)}</text>'
        )
    middle = left + wide / 2
    body.append(
        f'<text class="c" x="{middle}" y="{top + high + 38}">{html.escape(picture.x_axis)}</text>'
        f'<text class="c" transform="translate(16 {top + high / 2}) rotate(-90)">{html.escape(picture.y_axis)}</text>'
    )
    return _svg(left + wide + 24, top + high + 48, len(picture.x), body)


def scatter(picture: Scatter) -> str:
    side, left, top = 560, 40, 16
    low, high = picture.points.min(axis=0), picture.points.max(axis=0)
    span = float((high - low).max()) or 1.0  # one scale for both axes: distances mean something
    low = low - (span - (high - low)) / 2
    groups = picture.groups
    body = [f'<rect class="frame" x="{left}" y="{top}" width="{side}" height="{side}"/>']
    for point, text, label in zip(picture.points, picture.texts, picture.labels, strict=True):
        x, y = (point - low) / span
        caption = f"{text}{f' [{label}]' if label else ''}: {point[0]:.4f}, {point[1]:.4f}"
        px, py = left + 14 + (side - 28) * x, top + 14 + (side - 28) * (1 - y)
        body.append(_mark(float(px), float(py), groups.index(label), caption))
    for number, label in enumerate(groups if any(groups) else []):
        y = top + 14 + 22 * number
        body.append(_shape(left + side + 20, y, number))
        body.append(f'<text x="{left + side + 34}" y="{y + 4}">{html.escape(short(label))}</text>')
    body.append(
        f'<text class="c" x="{left + side / 2}" y="{top + side + 22}">{html.escape(picture.x_axis)}</text>'
        f'<text class="c" transform="translate(24 {top + side / 2}) rotate(-90)">{html.escape(picture.y_axis)}</text>'
    )
    legend = 40 + max(width_of(short(label)) for label in groups)
    height = max(side, 22 * len(groups)) + 34
    return _svg(left + side + legend, top + height, len(picture.texts), body)


RENDERERS: dict[type[Any], Callable[[Any], str]] = {
    Heatmap: heatmap,
    Bars: bars,
    Lines: lines,
    Scatter: scatter,
}


def _shape(x: float, y: float, group: int) -> str:
    shape = SHAPES[(group + group // 8) % len(SHAPES)]
    return f'<path class="g{group % 8} dot" transform="translate({x:.1f} {y:.1f})" d="{shape}"/>'


def _mark(x: float, y: float, group: int, caption: str) -> str:
    return f'<g class="m"><title>{html.escape(caption)}</title>{_shape(x, y, group)}</g>'


def _label(name: str, known: bool, place: str) -> str:
    caption = f"<title>{html.escape(name + ('' if known else UNKNOWN))}</title>"
    return f'<text class="{"" if known else "unknown"}" {place}>{caption}{html.escape(short(name) if known else f"({short(name)})")}</text>'


def _svg(width: float, height: float, columns: int, body: Sequence[str]) -> str:
    """Marks can be walked through with the arrow keys, `columns` of them in a row."""
    inner = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'tabindex="0" role="img" data-columns="{columns}">{inner}</svg>'
    )
