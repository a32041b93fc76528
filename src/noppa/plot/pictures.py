"""The four kinds of pictures: plain data that draws itself as SVG, with a hover text for each mark."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, ParameterError
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of
from noppa.plot.page import GROUPS, Drawing, page, png, svg, text_width

Float = NDArray[np.float64]
Known = NDArray[np.bool_]

#: Longer words are cut in a label, never in a hover text or a table.
LABEL = 24
#: Pixels of a bar with its gap.
ROW = 24
UNKNOWN = " (not in the vocabulary)"
#: Outlines of marks around (0, 0), so that groups differ in more than colour.
SHAPES = (
    "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0",
    "M-4.5-4.5h9v9h-9z",
    "M0-6l5.5 10h-11z",
    "M0-6.5l6.5 6.5l-6.5 6.5l-6.5-6.5z",
)
DASHES = ("none", "7 4", "2 3", "9 3 2 3")
EXTENSIONS = (".png", ".svg", ".html")


@dataclass(frozen=True, eq=False)
class Picture:
    """The base of all kinds: a title, a note on how to read the picture, and `save`."""

    title: str
    note: str

    @property
    def contents(self) -> str:
        """The size of the picture in words, such as "5 bars"."""
        raise NotImplementedError

    @property
    def alt_text(self) -> str:
        """The alt text."""
        return f"{self.title}: {self.contents}. {self.note}"

    def draw(self) -> Drawing:
        """Return the picture as SVG elements."""
        raise NotImplementedError

    def table(self) -> list[list[str]]:
        """Return all values as text, the header first."""
        raise NotImplementedError

    def save(self, path: str | PathLike[str], dark: bool = False) -> Path:
        """Write a .png, .svg or .html file; a page follows the reader's light or dark theme."""
        return save([self], path, dark)


def save(pictures: Sequence[Picture], path: str | PathLike[str], dark: bool = False) -> Path:
    """Write several pictures to one file, side by side or on one page."""
    target = checked_path(path)
    kind = target.suffix.lower()
    if kind == ".png":
        content = png(pictures, dark)
    else:
        content = (page(pictures) if kind == ".html" else svg(pictures, dark)).encode()
    with atomic_file(target) as new:
        new.write_bytes(content)
    return target


def checked_path(path: str | PathLike[str], more_extensions: Sequence[str] = ()) -> Path:
    """Return a path that a picture can be written to, or raise."""
    target, extensions = path_of(path), (*EXTENSIONS, *more_extensions)
    if target.suffix.lower() not in extensions:
        ending = f"ends in {target.suffix}" if target.suffix else "has no extension"
        raise ParameterError(f"{target} {ending}: give a name in {', '.join(extensions)}")
    if not target.parent.is_dir():
        raise FileError(f"{target} cannot be written: there is no folder {target.parent}")
    if target.is_dir():
        raise FileError(f"{target} is a folder: give the name of a file")
    return target


@dataclass(frozen=True, eq=False)
class Heatmap(Picture):
    """A number for each row and column, values (rows, columns).

    Attributes:
        row_known, column_known: whether each name is in the vocabulary; None if all are.
        percent: show 0.048 as 4.80 %.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float
    row_axis: str
    column_axis: str
    row_known: Known | None = None
    column_known: Known | None = None
    percent: bool = False

    @property
    def contents(self) -> str:
        return f"{len(self.rows)} rows by {len(self.columns)} columns"

    def format(self, value: float) -> str:
        return f"{100 * value:.2f} %" if self.percent else f"{value:.4f}"

    def table(self) -> list[list[str]]:
        lines = zip(self.rows, self.values, strict=True)
        return [["", *self.columns], *([name, *map(self.format, line)] for name, line in lines)]

    def draw(self) -> Drawing:
        rows, columns = self.values.shape
        few = max(rows, columns) <= 12
        cell = 46 if few else 22
        left = max(map(text_width, [*map(_short, self.rows), self.row_axis])) + 28
        slant = 0.71 * max(map(text_width, map(_short, self.columns)))
        top = slant + 34
        levels = self._levels()
        body = [
            f'<text class="faint" x="{left:.1f}" y="14">{html.escape(self.column_axis)} →</text>',
            f'<text class="faint" x="{left - 8:.1f}" y="{top - 8:.1f}" text-anchor="end">{html.escape(self.row_axis)} ↓</text>',
        ]
        for c, (name, known) in enumerate(_with_known(self.columns, self.column_known)):
            x = left + (c + 0.5) * cell
            place = f'transform="translate({x:.1f} {top - 8:.1f}) rotate(-45)"'
            body.append(_label(name, known, place))
        for r, (name, known) in enumerate(_with_known(self.rows, self.row_known)):
            y = top + r * cell
            place = f'x="{left - 8:.1f}" y="{y + cell / 2 + 4.5:.1f}" text-anchor="end"'
            body.append(_label(name, known, place))
            for c, other in enumerate(self.columns):
                value, level = self.values[r, c], levels[r, c]
                x = left + c * cell
                number = ""
                if few:
                    text = f"{100 * value:.1f}" if self.percent else f"{value:.3f}"
                    over = " over" if level > 0.6 else ""
                    number = f'<text class="number{over}" x="{x + cell / 2:.1f}" y="{y + cell / 2 + 4:.1f}">{text}</text>'
                box = _cell(x, y, cell, cell, self._color(value), level)
                body.append(_mark(f"{name} → {other}: {self.format(value)}", box + number))
        foot = top + rows * cell + 14
        body.append(self._scale(left, foot))
        width = max(left + columns * cell + slant + 12, left + 300)
        return Drawing(width, foot + 44, columns, "\n".join(body))

    def _levels(self) -> Float:
        """Return strengths of colour between 0 and 1: roots, so that small numbers next to a large one show."""
        most = np.abs(self.values).max(initial=0)
        return np.sqrt(np.abs(self.values) / most) if most > 0 else np.zeros_like(self.values)

    def _color(self, value: float) -> str:
        return "minus" if value < 0 else ("plus" if (self.values < 0).any() else "ink")

    def _scale(self, left: float, top: float) -> str:
        """Return the legend for the strengths of colour."""
        most = float(np.abs(self.values).max(initial=0))
        low = -1 if (self.values < 0).any() else 0
        steps = np.linspace(low, 1, 9 if low else 7)
        end = left + 22 * len(steps)
        cells = [
            _cell(left + 22 * number, top, 22, 12, self._color(step), abs(step))
            for number, step in enumerate(steps)
        ]
        return (
            "".join(cells)
            + f'<text class="faint" x="{left:.1f}" y="{top + 28:.1f}">{self.format(low * most)}</text>'
            f'<text class="faint" x="{end:.1f}" y="{top + 28:.1f}" text-anchor="end">{self.format(most)}</text>'
        )


@dataclass(frozen=True, eq=False)
class Bars(Picture):
    """A number for each name, values (names,).

    Attributes:
        known: whether each name is in the vocabulary; None if all are.
        marks: numbers from elsewhere for the same names, drawn as ticks; `marks_name` is their source.
        start: where the axis begins; the label of the axis shows it if it is not 0.
    """

    names: tuple[str, ...]
    values: Float
    axis: str
    known: Known | None = None
    marks: Float | None = None
    marks_name: str = ""
    start: float = 0.0
    digits: int = 4

    @property
    def contents(self) -> str:
        return f"{len(self.names)} bars"

    def format(self, value: float) -> str:
        return f"{value:.{self.digits}f}"

    def table(self) -> list[list[str]]:
        rows = [["", self.axis]]
        names = _with_known(self.names, self.known)
        for (name, known), value in zip(names, self.values, strict=True):
            rows.append([name if known else name + UNKNOWN, self.format(value)])
        if self.marks is not None:
            marks = [self.marks_name, *map(self.format, self.marks)]
            rows = [[*row, mark] for row, mark in zip(rows, marks, strict=True)]
        return rows

    def draw(self) -> Drawing:
        left = max(map(text_width, map(_short, self.names))) + 28
        values = self.values if self.marks is None else np.concatenate([self.values, self.marks])
        low, high = min(self.start, float(values.min())), max(self.start, float(values.max()))
        scale = 420 / max(high - low, 1e-12)
        start = left + (60 if low < 0 else 0)
        zero = start - scale * low  # where 0 is, or would be
        root, body = zero + scale * self.start, []
        names = _with_known(self.names, self.known)
        for r, ((name, known), value) in enumerate(zip(names, self.values, strict=True)):
            y, end = r * ROW + 6, zero + scale * value
            caption = f"{name}: {self.format(value)}{'' if known else UNKNOWN}"
            x, tick = end - 6 if value < 0 else end + 6, ""
            if self.marks is not None:
                mark = float(self.marks[r])
                caption += f" ({self.marks_name}: {self.format(mark)})"
                tick = f'<path class="tick" d="M{zero + scale * mark:.1f} {y}v{ROW - 4}"/>'
                x = x if value < 0 else max(x, zero + scale * mark + 6)
            color, anchor = ("minus", "end") if value < 0 else ("plus", "start")
            bar = (
                f'<rect class="{color}" x="{min(root, end):.1f}" y="{y + 2}" width="{abs(end - root):.1f}" '
                f'height="{ROW - 8}"/>{tick}<text x="{x:.1f}" y="{y + 15}" text-anchor="{anchor}">{self.format(value)}</text>'
            )
            place = f'x="{left - 8:.1f}" y="{y + 15}" text-anchor="end"'
            body += [_label(name, known, place), _mark(caption, bar)]
        foot = len(self.names) * ROW + 10
        begin = f", from {self.start:g}" if self.start else ""
        ticks = "" if self.marks is None else f"; the ticks are those of {self.marks_name}"
        axis = html.escape(f"{self.axis}{begin}{ticks}")
        body.append(f'<path class="axis" d="M{root:.1f} 2V{foot}"/>')
        body.append(f'<text class="faint" x="{root:.1f}" y="{foot + 16}">{axis}</text>')
        return Drawing(start + 420 + 90, foot + 26, 1, "\n".join(body))


@dataclass(frozen=True, eq=False)
class Lines(Picture):
    """Curves over x (points,), on a logarithmic axis; `dots` are numbers from elsewhere for the same curves."""

    x: Float
    curves: Mapping[str, Float]
    x_axis: str
    y_axis: str
    dots: Mapping[str, Float] = field(default_factory=dict)
    dots_name: str = ""

    @property
    def contents(self) -> str:
        return f"{len(self.curves)} curves over {len(self.x)} values"

    def table(self) -> list[list[str]]:
        rows = [[self.x_axis, *self.curves, *(f"{name}, {self.dots_name}" for name in self.dots)]]
        columns = [*self.curves.values(), *self.dots.values()]
        for number, x in enumerate(self.x):
            rows.append([f"{x:g}", *(f"{column[number]:.6f}" for column in columns)])
        return rows

    def draw(self) -> Drawing:
        width, height, left, top = 520, 300, 64, 16
        logs = np.log10(self.x)
        most = max(1.0, *(float(y.max()) for y in (*self.curves.values(), *self.dots.values())))

        def place(x: float, y: float) -> tuple[float, float]:
            share = (np.log10(x) - logs.min()) / max(float(np.ptp(logs)), 1e-12)
            return left + width * float(share), top + height * (1 - y / most)

        body = []
        for power in range(int(np.ceil(logs.min())), int(np.floor(logs.max())) + 1):
            x, _ = place(10.0**power, 0)
            body.append(f'<path class="grid" d="M{x:.1f} {top}v{height}"/>')
            body.append(f'<text class="faint middle" x="{x:.1f}" y="{top + height + 18}">1e{power}</text>')  # fmt: skip
        for tick in np.linspace(0, most, 6):
            _, y = place(self.x[0], float(tick))
            body.append(f'<path class="grid" d="M{left} {y:.1f}h{width}"/>')
            body.append(f'<text class="faint" x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:.1f}</text>')  # fmt: skip
        legend = top + height - 20 * (len(self.curves) + bool(self.dots))
        for number, (name, curve) in enumerate(self.curves.items()):
            points = [place(float(x), float(y)) for x, y in zip(self.x, curve, strict=True)]
            path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
            dash, group = DASHES[number % len(DASHES)], f"g{number % GROUPS}"
            body.append(f'<path class="curve {group}" stroke-dasharray="{dash}" d="{path}"/>')
            dots = self.dots.get(name)
            for step, (x, y) in enumerate(points):
                caption = f"{name}, {self.x_axis} = {self.x[step]:g}: {curve[step]:.4f}"
                if dots is not None:
                    caption += f" ({self.dots_name}: {dots[step]:.4f})"
                    dot_x, dot_y = place(float(self.x[step]), float(dots[step]))
                    body.append(
                        f'<circle class="ring {group}" cx="{dot_x:.1f}" cy="{dot_y:.1f}" r="8"/>'
                    )
                body.append(_mark(caption, _shape(x, y, number)))
            y = legend + 20 * number
            body.append(_shape(left + width - 150, y - 4, number))
            body.append(f'<text x="{left + width - 138}" y="{y}">{html.escape(name)}</text>')
        if self.dots:
            y = top + height - 20
            body.append(f'<circle class="ring" cx="{left + width - 150}" cy="{y - 4}" r="8"/>')
            body.append(f'<text x="{left + width - 138}" y="{y}">{html.escape(self.dots_name)}</text>')  # fmt: skip
        body += _axis_names(self.x_axis, self.y_axis, left + width / 2, top + height + 38, 16, top + height / 2)  # fmt: skip
        return Drawing(left + width + 24, top + height + 48, len(self.x), "\n".join(body))


@dataclass(frozen=True, eq=False)
class Scatter(Picture):
    """Points (points, 2) with a text and a label each; points with the same label form a group."""

    points: Float
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    x_axis: str
    y_axis: str

    @property
    def groups(self) -> list[str]:
        """The labels in the order of their first point."""
        return list(dict.fromkeys(self.labels))

    @property
    def contents(self) -> str:
        return f"{len(self.texts)} points in {len(self.groups)} groups"

    def table(self) -> list[list[str]]:
        rows = zip(self.texts, self.labels, self.points, strict=True)
        body = [[text, label, f"{point[0]:.4f}", f"{point[1]:.4f}"] for text, label, point in rows]
        return [["text", "label", self.x_axis, self.y_axis], *body]

    def draw(self) -> Drawing:
        side, left, top = 560, 40, 16
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        # One scale for both axes, so that distances compare.
        span = float((high - low).max()) or 1.0
        low = low - (span - (high - low)) / 2
        groups = {label: number for number, label in enumerate(self.groups)}
        body = [f'<rect class="frame" x="{left}" y="{top}" width="{side}" height="{side}"/>']
        for point, text, label in zip(self.points, self.texts, self.labels, strict=True):
            x, y = (point - low) / span
            caption = f"{text}{f' [{label}]' if label else ''}: {point[0]:.4f}, {point[1]:.4f}"
            x, y = left + 14 + (side - 28) * float(x), top + 14 + (side - 28) * float(1 - y)
            body.append(_mark(caption, _shape(x, y, groups[label])))
        for label, number in groups.items() if any(groups) else ():
            y = top + 14 + 22 * number
            body.append(_shape(left + side + 20, y, number))
            body.append(f'<text x="{left + side + 34}" y="{y + 4}">{html.escape(_short(label))}</text>')  # fmt: skip
        body += _axis_names(self.x_axis, self.y_axis, left + side / 2, top + side + 22, 24, top + side / 2)  # fmt: skip
        legend = 40 + max(text_width(_short(label)) for label in groups)
        height = max(side, 22 * len(groups)) + 34
        return Drawing(left + side + legend, top + height, len(self.texts), "\n".join(body))


def _with_known(names: Sequence[str], known: Known | None) -> list[tuple[str, bool]]:
    flags = [True] * len(names) if known is None else known.tolist()
    return list(zip(names, flags, strict=True))


def _short(word: str) -> str:
    return word if len(word) <= LABEL else f"{word[: LABEL - 1]}…"


def _cell(x: float, y: float, width: float, height: float, color: str, level: float) -> str:
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width}" height="{height}"'
    return f'<rect class="cell" {box}/><rect class="{color}" fill-opacity="{level:.3f}" {box}/>'


def _shape(x: float, y: float, group: int) -> str:
    shape = SHAPES[(group + group // GROUPS) % len(SHAPES)]
    return (
        f'<path class="dot g{group % GROUPS}" transform="translate({x:.1f} {y:.1f})" d="{shape}"/>'
    )


def _mark(caption: str, body: str) -> str:
    """Return elements with a hover text, which the arrow keys reach."""
    return f'<g class="m"><title>{html.escape(caption)}</title>{body}</g>'


def _label(name: str, known: bool, place: str) -> str:
    caption = f"<title>{html.escape(name if known else name + UNKNOWN)}</title>"
    text = html.escape(_short(name) if known else f"({_short(name)})")
    return f'<text class="{"" if known else "unknown"}" {place}>{caption}{text}</text>'


def _axis_names(
    x_axis: str, y_axis: str, middle: float, bottom: float, left: float, center: float
) -> list[str]:
    return [
        f'<text class="middle" x="{middle}" y="{bottom}">{html.escape(x_axis)}</text>',
        f'<text class="middle" transform="translate({left} {center}) rotate(-90)">{html.escape(y_axis)}</text>',
    ]
