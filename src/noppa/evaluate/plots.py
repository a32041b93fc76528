"""Plots as SVG text, to stand inside a page."""

from __future__ import annotations

import html
from collections.abc import Mapping

WIDTH, LINE, NAMES, VALUES = 720, 22, 260, 60


def bars(title: str, values: Mapping[str, float]) -> str:
    """Horizontal bars with names and values; the axis starts a little below the smallest, and says so."""
    low, high = min(values.values()), max(values.values())
    start = max(0.0, low - 0.25 * max(high - low, 1))
    scale = (WIDTH - NAMES - VALUES) / max(high - start, 1e-9)
    height = LINE * (len(values) + 2)
    lines = [
        f'<svg viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" role="img" '
        f'xmlns="http://www.w3.org/2000/svg" font-family="system-ui, sans-serif" font-size="13">',
        f'<text x="{NAMES}" y="15" font-weight="bold">{html.escape(title)}</text>',
    ]
    for at, (name, value) in enumerate(values.items(), 1):
        y, width = at * LINE, scale * (value - start)
        lines += [
            f'<text x="{NAMES - 8}" y="{y + 15}" text-anchor="end">{html.escape(name)}</text>',
            f'<rect x="{NAMES}" y="{y + 3}" width="{width:.1f}" height="{LINE - 6}" fill="#4477aa"/>',
            f'<text x="{NAMES + width + 5:.1f}" y="{y + 15}">{value:.2f}</text>',
        ]
    foot = (len(values) + 1) * LINE + 15
    lines.append(f'<text x="{NAMES}" y="{foot}" fill="#777">axis from {start:.1f}</text></svg>\n')
    return "\n".join(lines)
