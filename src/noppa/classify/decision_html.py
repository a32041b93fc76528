"""A decision as a piece of HTML for a notebook: the text with its words coloured, and the strongest reasons."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

FOR, AGAINST = "0, 114, 178", "213, 94, 0"
REASONS = 12


def coloured(
    verdict: str,
    texts: Sequence[Sequence[tuple[str, float]]],
    reasons: Iterable[tuple[str, float]],
) -> str:
    """A heading, each text as its words with their shares, and a table of reasons with theirs."""
    most = max((abs(share) for text in texts for _, share in text), default=0.0) or 1.0
    lines = "".join(
        "<p>" + " ".join(_word(token, share, most) for token, share in text) + "</p>"
        for text in texts
    )
    rows = "".join(
        f"<tr><td style='text-align:left'>{html.escape(name)}</td><td>{share:+.3f}</td></tr>"
        for name, share in list(reasons)[:REASONS]
    )
    return (
        f"<div><p><b>{html.escape(verdict)}</b></p>{lines}"
        f"<table><tr><th style='text-align:left'>reason</th><th>share of the logit</th></tr>{rows}</table></div>"
    )


def _word(token: str, share: float, most: float) -> str:
    tint = f"rgba({FOR if share > 0 else AGAINST}, {0.6 * abs(share) / most:.2f})"
    return (
        f'<span style="background: {tint}; padding: 0 .15em; border-radius: .2em" title="{share:+.3f}">'
        f"{html.escape(token)}</span>"
    )
