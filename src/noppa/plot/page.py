"""Pictures as files: one self-contained HTML page that follows the reader's light or dark theme, or one .svg or .png."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noppa.errors import FileError
from noppa.extras import needs

#: Pixels of a narrow letter at the font size of pictures.
LETTER = 7.4
#: Pixels of a line of text above a picture, and between pictures.
LINE, GAP = 20, 16
#: Pixels of a .png for each pixel of an .svg.
ZOOM = 2


#: Colours of the two themes, distinguishable with any colour vision (Okabe and Ito's): background, text, notes, grids,
#: amounts, positive and negative amounts, and categories.
_NAMES = "paper text faint line ink plus minus " + " ".join(f"group{n}" for n in range(8))
LIGHT, DARK = (
    dict(zip(_NAMES.split(), colors.split(), strict=True))
    for colors in (
        "#ffffff #1b1f24 #6a737d #d0d7de #0b3c6f #0072b2 #d55e00 "
        "#0072b2 #e69f00 #009e73 #cc79a7 #56b4e9 #d55e00 #8c7a00 #000000",
        "#14181d #e6edf3 #9aa4af #3a424c #a8d8ff #56b4e9 #f0a04b "
        "#56b4e9 #e69f00 #2ec4a0 #e79bc8 #f0e442 #f07b3f #a3b8ff #ffffff",
    )
)
GROUPS = 8

#: Characters that XML forbids.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _file(name: str) -> str:
    return "\n" + Path(__file__).with_name(name).read_text(encoding="utf-8")


#: The style of drawings, for pages and for files.
DRAWING_STYLE = _file("drawing.css") + "\n".join(
    f".dot.g{n} {{ fill: %(group{n})s }} .curve.g{n}, .ring.g{n} {{ stroke: %(group{n})s }}"
    for n in range(GROUPS)
)
PAGE_STYLE, SCRIPT = _file("page.css"), _file("page.js")


@dataclass(frozen=True)
class Drawing:
    """SVG elements of a size in pixels; the arrow keys walk through its marks, `columns` in a row."""

    width: float
    height: float
    columns: int
    body: str


def text_width(text: str) -> float:
    """Return about how many pixels a text takes; Chinese, Japanese and Korean letters count twice."""
    units = sum(
        0 if unicodedata.combining(letter) else 1 + (unicodedata.east_asian_width(letter) in "WF")
        for letter in text
    )
    return LETTER * units


def page(pictures: Sequence[Any], title: str | None = None, body: str = "") -> str:
    """Return a whole page; `body` is HTML that comes before the pictures."""
    name = html.escape(title or pictures[0].title)
    heading = f"<h1>{name}</h1>\n" if title else ""
    figures = "\n".join(map(figure, pictures))
    light, dark = (
        "; ".join(f"--{name}: {color}" for name, color in theme.items()) for theme in (LIGHT, DARK)
    )
    variables = {name: f"var(--{name})" for name in LIGHT}
    style = PAGE_STYLE % {"light": light, "dark": dark} + DRAWING_STYLE % variables
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style}</style></head>\n<body>\n{heading}{body}{figures}\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def figure(picture: Any) -> str:
    """Return one picture with its heading, a line that shows the mark in focus, and all values as a table."""
    drawing = picture.draw()
    width, height = f"{drawing.width:.0f}", f"{drawing.height:.0f}"
    return (
        f"<figure>\n<h2>{html.escape(picture.title)}</h2>\n"
        f'<p class="note">{html.escape(picture.note)}</p>\n'
        '<output aria-live="polite">Point at a mark, or press Tab and the arrow keys, to read its value.</output>\n'
        f'<div class="scroll"><svg aria-label="{html.escape(picture.alt_text)}" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" tabindex="0" role="img" data-columns="{drawing.columns}">{drawing.body}</svg></div>\n'
        f'<details><summary>All values as a table</summary><div class="scroll">{table(picture.table())}'
        "</div></details>\n</figure>"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; the first row is its head, the first column names the others."""
    head, *lines = rows
    cells = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(line[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
        + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{cells}</tr></thead>\n<tbody>{body}</tbody></table>"


def svg(pictures: Sequence[Any], dark: bool = False) -> str:
    """Return one SVG file with the pictures side by side, each under its title and note."""
    parts, left, height = [], GAP, 0.0
    for picture in pictures:
        drawing = picture.draw()
        title = _wrap(picture.title, drawing.width, 15 / 13)
        note = _wrap(picture.note, drawing.width)
        for number, line in enumerate([*title, *note], 1):
            kind = "title" if number <= len(title) else "faint"
            parts.append(
                f'<text class="{kind}" x="{left:.0f}" y="{number * LINE}">{html.escape(line)}</text>'
            )
        top = (len(title) + len(note)) * LINE + GAP
        parts.append(f'<g transform="translate({left:.0f} {top})">{drawing.body}</g>')
        left += drawing.width + GAP
        height = max(height, top + drawing.height)
    theme = DARK if dark else LIGHT
    names = html.escape("; ".join(picture.alt_text for picture in pictures))
    size = f'width="{left:.0f}" height="{height:.0f}"'
    style = html.escape(DRAWING_STYLE % theme, quote=False)
    return _NOT_XML.sub(
        "\ufffd",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{names}" {size} '
        f'viewBox="0 0 {left:.0f} {height:.0f}">\n<style>{style}</style>\n'
        f'<rect {size} fill="{theme["paper"]}"/>\n' + "\n".join(parts) + "\n</svg>\n",
    )


def _wrap(text: str, width: float, scale: float = 1.0) -> list[str]:
    """Split a text into lines of about `width` pixels."""
    letters = int(len(text) * width / max(text_width(text) * scale, 1))
    return textwrap.wrap(text, max(20, letters), max_lines=6, placeholder=" …")


def png(pictures: Sequence[Any], dark: bool = False) -> bytes:
    """Return one PNG file with the pictures side by side; letters are drawn with the installed fonts."""
    with needs("plot", "a .png", ", or write .svg or .html"):
        from resvg_py import svg_to_bytes
    empty, letter = (
        svg_to_bytes(svg_string=f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">{text}</svg>')
        for text in ("", '<text y="9">x</text>')
    )  # fmt: skip
    if empty == letter:
        raise FileError(
            "a .png needs a font, and none is installed: install one, such as DejaVu Sans, or write .svg or .html"
        )
    return bytes(svg_to_bytes(svg_string=svg(pictures, dark), zoom=ZOOM))
