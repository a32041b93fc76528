"""How a picture becomes a file, by the extension of its name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from noppa.plot.pictures import WRITERS, Picture


def write_page(pictures: Sequence[Picture], path: Path, dark: bool) -> None:
    """A page follows the reader's own choice of light or dark."""
    from noppa.plot.page import page

    path.write_text(page(pictures), encoding="utf-8")


def write_drawing(form: str, pictures: Sequence[Picture], path: Path, dark: bool) -> None:
    # Imported lazily: needs matplotlib, which is optional.
    from noppa.plot.draw import draw

    draw(pictures, path, form, dark)


WRITERS.update(
    {
        ".png": partial(write_drawing, "png"),
        ".svg": partial(write_drawing, "svg"),
        ".pdf": partial(write_drawing, "pdf"),
        ".html": write_page,
    }
)
