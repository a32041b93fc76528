"""Fonts for any script: DejaVu Sans first, other installed fonts for what it lacks, a warning for what none has."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from matplotlib import font_manager, ft2font

from noppa.errors import warn

FIRST = "DejaVu Sans"  # comes with matplotlib
SHARED = {"CJK": "CJK", "HIRAGANA": "CJK", "KATAKANA": "CJK", "HANGUL": "CJK", "BOPOMOFO": "CJK"}


def families_for(texts: Iterable[str], warns: bool = True) -> list[str]:
    """Families that together have every letter of the texts; `warns` of letters that no font has."""
    letters = {letter for text in texts for letter in text if _needs_glyph(letter)}
    families = [FIRST]
    missing = letters - letters_of(font_manager.findfont(FIRST))
    if missing:
        for family, path in _candidates(frozenset(map(script_of, missing))):
            covered = missing & letters_of(path)
            if covered:
                families.append(family)
                missing -= covered
            if not missing:
                break
    if missing and warns:
        scripts = ", ".join(sorted({script_of(letter) for letter in missing}))
        sample = "".join(sorted(missing)[:8])
        warn(
            f"no installed font has {len(missing)} of the letters ({sample}), script {scripts}, which become boxes: "
            f"install a font such as Noto Sans {scripts.split(', ')[0]}, or write .html, which uses the reader's fonts"
        )
    if warns and not hasattr(ft2font, "__libraqm_version__"):
        turned = {letter for letter in letters if unicodedata.bidirectional(letter) in ("R", "AL")}
        if turned:
            warn(
                "this matplotlib does not join or turn right-to-left letters: install matplotlib 3.11 or later, "
                "or write .html"
            )
    return families


def script_of(letter: str) -> str:
    """The script of a letter as fonts name it, for example CJK, Arabic or Devanagari."""
    word = unicodedata.name(letter, "other").split()[0]
    return SHARED.get(word, word.capitalize())


@cache
def letters_of(path: str) -> frozenset[str]:
    """Every letter that a font file has."""
    return frozenset(map(chr, ft2font.FT2Font(path).get_charmap()))


@cache
def _candidates(scripts: frozenset[str]) -> list[tuple[str, str]]:
    """Installed families with a file of each, those named after one of the scripts first."""
    manager = font_manager.fontManager
    known = {entry.fname for entry in manager.ttflist}
    for path in font_manager.findSystemFonts():  # also those installed since matplotlib last looked
        if path not in known:
            try:
                manager.addfont(path)
            except (OSError, RuntimeError):
                continue
    files = {}
    for entry in manager.ttflist:
        plain = (entry.style, str(entry.weight)) in (("normal", "400"), ("normal", "normal"))
        if plain or entry.name not in files:
            files[entry.name] = entry.fname

    def order(item: tuple[str, str]) -> tuple[bool, bool, bool, str]:
        name = item[0]
        named = any(script in name for script in scripts)
        return (not named, not name.startswith("Noto"), "Sans" not in name, name)

    return sorted(files.items(), key=order)


def _needs_glyph(letter: str) -> bool:
    return unicodedata.category(letter)[0] not in "CZ" and not unicodedata.combining(letter)
