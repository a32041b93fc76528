"""What a picture shows, as plain data: four kinds, which `draw` and `page` know how to render."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, ParameterError
from noppa.io.atomic import atomic_file
from noppa.parameters import path_of

Float = NDArray[np.float64]

#: Longer words are cut in a label, never in a hover text or a table.
LABEL = 24

#: Writes pictures into a new file, in light or dark colours.
Writer = Callable[[Sequence["Picture"], Path, bool], None]
#: The writer of each file name extension; `noppa.plot.writers` fills it, since writers know every kind of picture.
WRITERS: dict[str, Writer] = {}


@dataclass(frozen=True, eq=False)
class Picture:
    """What every kind has: a title, a sentence about how to read it, and `save`."""

    title: str
    note: str

    def save(self, path: str | PathLike[str], dark: bool = False) -> Path:
        """Write a .png, .svg or .html file; the page follows the reader's own choice of light or dark."""
        return save([self], path, dark)


@dataclass(frozen=True, eq=False)
class Heatmap(Picture):
    """A number for each row and column, values (rows, columns); `percent` shows 0.048 as 4.80 %."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Float
    row_axis: str
    column_axis: str
    row_known: NDArray[np.bool_]
    column_known: NDArray[np.bool_]
    percent: bool = False


@dataclass(frozen=True, eq=False)
class Bars(Picture):
    """A number for each name, values (names,); `marks` are somebody else's numbers for the same names.

    start: where the axis begins, which it says where that is not 0. digits: behind the point.
    """

    names: tuple[str, ...]
    values: Float
    axis: str
    known: NDArray[np.bool_]
    marks: Float | None = None
    marks_name: str = ""
    start: float = 0.0
    digits: int = 4

    def shown(self, value: float) -> str:
        return f"{value:.{self.digits}f}"

    @property
    def legend(self) -> str:
        """What stands under the axis."""
        ticks = "" if self.marks is None else f"; the ticks are those of {self.marks_name}"
        return self.axis + (f", from {self.start:g}" if self.start else "") + ticks


@dataclass(frozen=True, eq=False)
class Lines(Picture):
    """Curves over x (points,), on a logarithmic axis; `dots` are somebody else's numbers for the same curves."""

    x: Float
    curves: Mapping[str, Float]
    x_axis: str
    y_axis: str
    dots: Mapping[str, Float] = field(default_factory=dict)
    dots_name: str = ""


@dataclass(frozen=True, eq=False)
class Scatter(Picture):
    """Points (points, 2) with a text and a group each; `groups` are in the order of their first point."""

    points: Float
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    x_axis: str
    y_axis: str

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(self.labels))


def shown(value: float, percent: bool = False) -> str:
    """A number as labels, hover texts and tables show it."""
    return f"{100 * value:.2f} %" if percent else f"{value:.4f}"


def short(word: str) -> str:
    """A word as a label."""
    return word if len(word) <= LABEL else f"{word[: LABEL - 1]}…"


def levels(values: Float) -> Float:
    """Between 0 and 1, how strongly to colour: the root of the size, so that small numbers beside a large one show."""
    most = np.abs(values).max(initial=0)
    return np.sqrt(np.abs(values) / most) if most > 0 else np.zeros_like(values)


def checked(path: str | PathLike[str], more_extensions: Sequence[str] = ()) -> Path:
    """A path that a picture can be written to, or an error that says why not."""
    target, extensions = path_of(path), (*WRITERS, *more_extensions)
    if target.suffix.lower() not in extensions:
        ending = f"ends in {target.suffix}" if target.suffix else "has no extension"
        raise ParameterError(f"{target} {ending}: give a name in {', '.join(extensions)}")
    if not target.parent.is_dir():
        raise FileError(f"{target} cannot be written: there is no folder {target.parent}")
    if target.is_dir():
        raise FileError(f"{target} is a folder: give the name of a file")
    return target


def save(pictures: Sequence[Picture], path: str | PathLike[str], dark: bool = False) -> Path:
    """Several pictures in one file, side by side or on one page."""
    target = checked(path)
    with atomic_file(target) as new:
        WRITERS[target.suffix.lower()](pictures, new, dark)
    return target


def to_dict(picture: Any) -> str:
    """The picture in one sentence, for who cannot see it."""
    sizes = {
        Heatmap: lambda p: f"{len(p.rows)} rows by {len(p.columns)} columns",
        Bars: lambda p: f"{len(p.names)} bars",
        Lines: lambda p: f"{len(p.curves)} curves over {len(p.x)} values",
        Scatter: lambda p: f"{len(p.texts)} points in {len(p.groups)} groups",
    }
    return f"{picture.title}: {sizes[type(picture)](picture)}. {picture.note}"
