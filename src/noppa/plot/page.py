"""Pictures as files: one self-contained HTML page that follows the reader's light or dark theme, or one .svg or .png."""

from __future__ import annotations

import html
import re
import textwrap
import unicodedata
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from noppa.errors import FileError
from noppa.extras import needs

#: Pixels of a narrow letter at the font size of pictures.
LETTER = 7.4
#: Pixels of a line of text above a picture, and between pictures.
LINE, GAP = 20, 16
#: Pixels of a .png for each pixel of an .svg.
ZOOM = 2


@dataclass(frozen=True)
class Theme:
    """Colours that readers with any colour vision can distinguish (Okabe and Ito's).

    Attributes:
        paper, text, faint, line: of the background, the text, notes, and grids.
        ink: of amounts.
        plus, minus: of amounts with a sign.
        groups: of categories.
    """

    paper: str
    text: str
    faint: str
    line: str
    ink: str
    plus: str
    minus: str
    groups: tuple[str, ...]

    def colors(self) -> dict[str, str]:
        """Return all colours by name; categories are group0, group1 and so on."""
        colors = asdict(self)
        groups = colors.pop("groups")
        return colors | {f"group{number}": color for number, color in enumerate(groups)}


LIGHT = Theme(
    paper="#ffffff",
    text="#1b1f24",
    faint="#6a737d",
    line="#d0d7de",
    ink="#0b3c6f",
    plus="#0072b2",
    minus="#d55e00",
    groups=("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c7a00", "#000000"),
)
DARK = Theme(
    paper="#14181d",
    text="#e6edf3",
    faint="#9aa4af",
    line="#3a424c",
    ink="#a8d8ff",
    plus="#56b4e9",
    minus="#f0a04b",
    groups=("#56b4e9", "#e69f00", "#2ec4a0", "#e79bc8", "#f0e442", "#f07b3f", "#a3b8ff", "#ffffff"),
)
GROUPS = len(LIGHT.groups)

#: Characters that XML forbids.
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

#: The style of drawings, for pages and for files.
DRAWING_STYLE = """
svg { font-family: system-ui, "DejaVu Sans", "Noto Sans", sans-serif; font-size: 13px; fill: %(text)s }
.faint { fill: %(faint)s }
.cell { fill: %(paper)s; stroke: %(line)s; stroke-width: .5 }
.ink { fill: %(ink)s } .plus { fill: %(plus)s } .minus { fill: %(minus)s }
.number { font-size: 11.5px; text-anchor: middle } .middle { text-anchor: middle } .over { fill: %(paper)s }
.unknown { fill: %(faint)s; font-style: italic }
.axis { stroke: %(text)s; stroke-width: 1 } .tick { stroke: %(text)s; stroke-width: 3; stroke-opacity: .75 }
.grid { stroke: %(line)s } .frame { fill: none; stroke: %(line)s }
.curve { fill: none; stroke-width: 2 } .dot { stroke: %(paper)s }
.ring { fill: none; stroke: %(faint)s; stroke-width: 1.5 }
.title { font-size: 15px }
""" + "\n".join(
    f".dot.g{n} {{ fill: %(group{n})s }} .curve.g{n}, .ring.g{n} {{ stroke: %(group{n})s }}"
    for n in range(GROUPS)
)

PAGE_STYLE = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { :root { %(dark)s } }
body { font: 15px/1.5 system-ui, "Noto Sans", sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  color: var(--text); background: var(--paper) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; overflow-wrap: anywhere; margin-bottom: .2rem }
figure { margin: 0 0 2.5rem } .scroll { overflow-x: auto }
svg:focus-visible { outline: 2px solid var(--plus); outline-offset: 2px }
output { display: block; min-height: 1.5em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.note, output { color: var(--faint) }
.m.on rect, .m.on path { stroke: var(--text); stroke-width: 2 }
details { margin-top: .5rem } summary { cursor: pointer }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
td, th { padding: .15rem .6rem; border-bottom: 1px solid var(--line); text-align: right; font-weight: normal }
th { color: var(--faint) } th:first-child { text-align: start } th[scope=row] { color: var(--text) }
.texts td, .texts th { text-align: start; vertical-align: top } .texts th[scope=row] { min-width: 14rem }
"""

SCRIPT = """
for (const svg of document.querySelectorAll("svg[data-columns]")) {
  const marks = [...svg.querySelectorAll(".m")], wide = +svg.dataset.columns
  const output = svg.closest("figure").querySelector("output")
  let at = -1
  const show = to => {
    if (!marks[to]) return
    if (marks[at]) marks[at].classList.remove("on")
    at = to
    marks[at].classList.add("on")
    output.textContent = marks[at].querySelector("title").textContent
  }
  svg.addEventListener("pointerover", event => show(marks.indexOf(event.target.closest(".m"))))
  svg.addEventListener("keydown", event => {
    const step = {ArrowLeft: -1, ArrowRight: 1, ArrowUp: -wide, ArrowDown: wide}[event.key]
    if (step === undefined) return
    event.preventDefault()
    show(at < 0 ? 0 : at + step)
    marks[at].scrollIntoView({block: "nearest", inline: "nearest"})
  })
}
"""


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
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_page_style()}</style></head>\n<body>\n{heading}{body}{figures}\n<script>{SCRIPT}</script>\n</body></html>\n"
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


def _page_style() -> str:
    light, dark = (
        "; ".join(f"--{name}: {color}" for name, color in theme.colors().items())
        for theme in (LIGHT, DARK)
    )
    variables = {name: f"var(--{name})" for name in LIGHT.colors()}
    return PAGE_STYLE % {"light": light, "dark": dark} + DRAWING_STYLE % variables


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
    style = html.escape(DRAWING_STYLE % theme.colors(), quote=False)
    return _NOT_XML.sub(
        "\ufffd",
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{names}" {size} '
        f'viewBox="0 0 {left:.0f} {height:.0f}">\n<style>{style}</style>\n'
        f'<rect {size} fill="{theme.paper}"/>\n' + "\n".join(parts) + "\n</svg>\n",
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
