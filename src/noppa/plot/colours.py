"""Colours that readers with any colour vision tell apart (Okabe and Ito's), for light and for dark paper."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Theme:
    """paper and text; ink for amounts; plus and minus for amounts with a sign; groups for categories."""

    paper: str
    text: str
    faint: str
    line: str
    ink: str
    plus: str
    minus: str
    groups: tuple[str, ...]


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
