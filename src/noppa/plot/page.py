"""One self-contained HTML page for any pictures: no address of anything outside, light or dark as the reader likes."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

from noppa.plot.colours import DARK, LIGHT, Theme
from noppa.plot.pictures import Bars, Heatmap, Lines, Scatter, shown, to_dict
from noppa.plot.svg import RENDERERS, UNKNOWN

STYLE = """
:root { color-scheme: light dark; %(light)s }
@media (prefers-color-scheme: dark) { :root { %(dark)s } }
body { font: 15px/1.5 system-ui, "Noto Sans", sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  color: var(--text); background: var(--paper) }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; overflow-wrap: anywhere; margin-bottom: .2rem }
figure { margin: 0 0 2.5rem } .scroll { overflow-x: auto }
svg { font-size: 13px; fill: var(--text) } svg:focus-visible { outline: 2px solid var(--plus); outline-offset: 2px }
output { display: block; min-height: 1.5em; font-variant-numeric: tabular-nums; overflow-wrap: anywhere }
.note, .faint, output { color: var(--faint); fill: var(--faint) }
.cell { fill: var(--paper); stroke: var(--line); stroke-width: .5 }
.ink { fill: var(--ink) } .plus { fill: var(--plus) } .minus { fill: var(--minus) }
.n { font-size: 11.5px } .n, .c { text-anchor: middle } .n.over { fill: var(--paper) }
.unknown { fill: var(--faint); font-style: italic }
.axis, .tick { stroke: var(--text); stroke-width: 1 } .tick { stroke-width: 3; stroke-opacity: .75 }
.grid { stroke: var(--line) } .frame { fill: none; stroke: var(--line) }
.curve { fill: none; stroke: var(--group); stroke-width: 2 } .dot { fill: var(--group); stroke: var(--paper) }
.ring { fill: none; stroke: var(--group, var(--faint)); stroke-width: 1.5 } .m.on rect, .m.on path { stroke: var(--text); stroke-width: 2 }
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


def page(pictures: Sequence[Any], title: str | None = None, body: str = "") -> str:
    """A whole page; `body` is HTML that comes before the pictures."""
    name = html.escape(title or pictures[0].title)
    heading = f"<h1>{name}</h1>\n" if title else ""
    figures = "\n".join(map(figure, pictures))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{style()}</style></head>\n<body>\n{heading}{body}{figures}\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def figure(picture: Any) -> str:
    """One picture with its heading, a line that tells of the mark in focus, and all values as a table."""
    svg = RENDERERS[type(picture)](picture)
    svg = svg.replace("<svg ", f'<svg aria-label="{html.escape(to_dict(picture))}" ', 1)
    return (
        f"<figure>\n<h2>{html.escape(picture.title)}</h2>\n"
        f'<p class="note">{html.escape(picture.note)}</p>\n'
        '<output aria-live="polite">Point at a mark, or press Tab and the arrow keys, to read its value.</output>\n'
        f'<div class="scroll">{svg}</div>\n'
        f'<details><summary>All values as a table</summary><div class="scroll">{table(TABLES[type(picture)](picture))}'
        "</div></details>\n</figure>"
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """An HTML table; the first row is its head, the first column names the others."""
    head, *lines = rows
    cells = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in head)
    body = "\n".join(
        f'<tr><th scope="row">{html.escape(line[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in line[1:])
        + "</tr>"
        for line in lines
    )
    return f"<table><thead><tr>{cells}</tr></thead>\n<tbody>{body}</tbody></table>"


def style() -> str:
    groups = "\n".join(f".g{at} {{ --group: var(--group{at}) }}" for at in range(len(LIGHT.groups)))
    return STYLE % {"light": _variables(LIGHT), "dark": _variables(DARK)} + groups


def _variables(theme: Theme) -> str:
    plain = [f"--{f.name}: {getattr(theme, f.name)}" for f in fields(theme) if f.name != "groups"]
    return "; ".join([*plain, *(f"--group{at}: {one}" for at, one in enumerate(theme.groups))])


def _heatmap_table(picture: Heatmap) -> list[list[str]]:
    rows = [
        [name, *(shown(value, picture.percent) for value in line)]
        for name, line in zip(picture.rows, picture.values, strict=True)
    ]
    return [["", *picture.columns], *rows]


def _bars_table(picture: Bars) -> list[list[str]]:
    rows = [["", picture.axis]]
    for at, (name, value, known) in enumerate(
        zip(picture.names, picture.values, picture.known, strict=True)
    ):
        rows.append([name if known else name + UNKNOWN, picture.shown(value)])
        if picture.marks is not None:
            rows[-1].append(picture.shown(float(picture.marks[at])))
    if picture.marks is not None:
        rows[0].append(picture.marks_name)
    return rows


def _lines_table(picture: Lines) -> list[list[str]]:
    rows = [[picture.x_axis, *picture.curves, *(f"{n}, {picture.dots_name}" for n in picture.dots)]]
    for at, x in enumerate(picture.x):
        values = [curve[at] for curve in (*picture.curves.values(), *picture.dots.values())]
        rows.append([f"{x:g}", *(f"{value:.6f}" for value in values)])
    return rows


def _scatter_table(picture: Scatter) -> list[list[str]]:
    rows = zip(picture.texts, picture.labels, picture.points, strict=True)
    body = [[text, label, f"{point[0]:.4f}", f"{point[1]:.4f}"] for text, label, point in rows]
    return [["text", "label", picture.x_axis, picture.y_axis], *body]


TABLES: dict[type[Any], Callable[[Any], list[list[str]]]] = {
    Heatmap: _heatmap_table,
    Bars: _bars_table,
    Lines: _lines_table,
    Scatter: _scatter_table,
}
