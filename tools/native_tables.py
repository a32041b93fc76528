"""Write the C++ headers of data that both languages need, with character tables of one version of Unicode.

`python tools/native_tables.py FOLDER` writes `character_tables.hpp`, `text_rules.hpp` and `kernel_constants.hpp`; the build does
that with any Python. `python tools/native_tables.py` writes `tools/character_data.json`, the source of the first header, and needs a
Python with this version of Unicode (3.11).
"""

from __future__ import annotations

import json
import math
import runpy
import sys
import textwrap
import unicodedata
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "noppa"
DATA = Path(__file__).with_name("character_data.json")


def values_of(path: Path) -> dict[str, Any]:
    """Return the constants of a module without importing noppa."""
    return {name: value for name, value in runpy.run_path(str(path)).items() if name.isupper()}


RULES = values_of(PACKAGE / "text" / "rules.py") | values_of(
    Path(__file__).with_name("scanner_rules.py")
)
CONSTANTS = values_of(PACKAGE / "constants.py")

UNICODE = "14.0.0"
CODES = 0x110000
PAGE = 256
KIND: dict[str, int] = RULES["KIND"]
SPACE, DROP, LETTER, DIGIT, IDEOGRAPH, SYMBOL = KIND.values()
NOTHING = 1 << 30

#: The characters of age 14.0, from Unicode's DerivedAge.txt.
NEW = """
61d 870-88e 890-891 898-89f 8b5 8c8-8d2 c3c c5d cdd 170d 1715 171f 180f 1ac1-1ace 1b4c 1b7d-1b7e
1dfa 20c0 2c2f 2c5f 2e53-2e5d 9ffd-9fff a7c0-a7c1 a7d0-a7d1 a7d3 a7d5-a7d9 a7f2-a7f4 fbc2 fd40-fd4f
fdcf fdfe-fdff 10570-1057a 1057c-1058a 1058c-10592 10594-10595 10597-105a1 105a3-105b1 105b3-105b9
105bb-105bc 10780-10785 10787-107b0 107b2-107ba 10f70-10f89 11070-11075 110c2 116b9 11740-11746
11ab0-11abf 12f90-12ff2 16a70-16abe 16ac0-16ac9 1aff0-1aff3 1aff5-1affb 1affd-1affe 1b11f-1b122
1cf00-1cf2d 1cf30-1cf46 1cf50-1cfc3 1d1e9-1d1ea 1df00-1df1e 1e290-1e2ae 1e7e0-1e7e6 1e7e8-1e7eb
1e7ed-1e7ee 1e7f0-1e7fe 1f6dd-1f6df 1f7f0 1f979 1f9cc 1fa7b-1fa7c 1faa9-1faac 1fab7-1faba
1fac3-1fac5 1fad7-1fad9 1fae0-1fae7 1faf0-1faf6 2a6de-2a6df 2b735-2b738
"""

#: Tables of characters. A form is stored as the distance of its code point; NOTHING stands for a dropped mark.
TABLES = {
    "kind": "one of KIND in src/noppa/text/rules.py",
    "lower": "the lower-case form",
    "plain": "the form without case and accents",
    "stable": "1 if it is in Unicode 13.0, which every Python since 3.10 knows, so that its NFC never changes",
}


def kind(character: str) -> int:
    code, category = ord(character), unicodedata.category(character)
    if character.isspace() or category[0] == "Z" or category == "Cc":
        return SPACE
    if category == "Cf" or 0xFE00 <= code <= 0xFE0F:
        return DROP
    if any(low <= code <= high for low, high in RULES["IDEOGRAPHS"]):
        return IDEOGRAPH
    if category == "Nd":
        return DIGIT
    if category[0] in "LM" or category in ("Nl", "No") or character == "_":
        return LETTER
    return SYMBOL


def lower(character: str) -> int:
    """Return the distance of the lower-case form, 0 if that is not one character."""
    small = character.lower()
    return ord(small) - ord(character) if len(small) == 1 else 0


def plain(character: str) -> int:
    """Return the distance of the form without case and accents.

    Hangul syllables are decomposed by arithmetic; the 43 other characters that decompose into several stay whole.
    """
    apart = unicodedata.normalize("NFD", character.lower())
    form = "".join(part for part in apart if unicodedata.category(part) != "Mn")
    first, last = RULES["SYLLABLES"]
    if first <= ord(character) <= last:
        return 0
    if len(form) > 1:
        return lower(character)
    return ord(form) - ord(character) if form else NOTHING


def new() -> set[int]:
    ends = [[int(end, 16) for end in run.split("-")] for run in NEW.split()]
    return {code for run in ends for code in range(run[0], run[-1] + 1)}


def runs(table: list[int]) -> str:
    """Return a table as runs in hexadecimal: `n:v` stands for n times the value v, `n` for n zeros."""
    counted = [(value, len(list(same))) for value, same in groupby(table)]
    return " ".join(f"{count:x}:{value:x}" if value else f"{count:x}" for value, count in counted)


@cache
def values(name: str) -> list[int]:
    """Return a committed table, one value per code point."""
    table: list[int] = []
    for run in " ".join(json.loads(DATA.read_text())[name]).split():
        count, _, value = run.partition(":")
        table += [int(value or "0", 16)] * int(count, 16)
    return table


def data() -> str:
    """Return the content of `character_data.json`, from this interpreter's Unicode data."""
    if unicodedata.unidata_version != UNICODE:
        raise SystemExit(f"this Python has Unicode {unicodedata.unidata_version}, not {UNICODE}")
    fresh = new()
    characters = [chr(code) for code in range(CODES)]
    tables = {
        "kind": [kind(c) for c in characters],
        "lower": [lower(c) for c in characters],
        "plain": [plain(c) for c in characters],
        "stable": [
            int(unicodedata.category(c) != "Cn" and ord(c) not in fresh) for c in characters
        ],
    }
    lines = {name: textwrap.wrap(runs(table), 100) for name, table in tables.items()}
    return json.dumps({"unicode": UNICODE, **lines}, indent=0) + "\n"


def two_stages(values: list[int]) -> tuple[list[int], list[int]]:
    """Return a two-stage table: 4,352 page numbers, and pages of 256 entries."""
    pages: dict[tuple[int, ...], int] = {}
    index = [
        pages.setdefault(tuple(values[at : at + PAGE]), len(pages)) for at in range(0, CODES, PAGE)
    ]
    if len(pages) > 256:
        raise ValueError(f"{len(pages)} pages do not fit the 8-bit page numbers of the tables")
    return index, [value for page in pages for value in page]


def array(kind: str, name: str, values: list[int]) -> str:
    rows = [", ".join(map(str, values[at : at + 32])) for at in range(0, len(values), 32)]
    return f"static const {kind} {name}[{len(values)}] = {{\n" + ",\n".join(rows) + "};\n"


def replaced_characters() -> list[int]:
    """Return the replacement of each character, as a distance."""
    table = [0] * CODES
    first, last = RULES["SURROGATES"]
    replaced = RULES["REPLACED"] | {
        chr(code): RULES["REPLACEMENT"] for code in range(first, last + 1)
    }
    for character, other in replaced.items():
        table[ord(character)] = ord(other) - ord(character)
    return table


def breaks(kinds: list[int]) -> list[int]:
    """Return the role of each character in the segmentation of scripts without spaces, as bits."""
    table = [0] * CODES
    bits = {
        "SEGMENTED": RULES["BREAKS_SEGMENTED"],
        "NO_BREAK_BEFORE": RULES["BREAKS_NOT_BEFORE"],
        "NO_BREAK_AFTER": RULES["BREAKS_NOT_AFTER"],
    }
    for name, bit in bits.items():
        for low, high in RULES[name]:
            for code in range(low, high + 1):
                if name != "SEGMENTED" or kinds[code] in (LETTER, IDEOGRAPH):
                    table[code] |= bit
    return table


def character_tables() -> str:
    """Return the C++ header of the character tables."""
    tables = {name: values(name) for name in TABLES}
    tables["replaced"] = replaced_characters()
    tables["breaks"] = breaks(tables["kind"])
    text = ""
    for name, table in tables.items():
        index, pages = two_stages(table)
        wide = "uint8_t" if name in ("kind", "stable", "breaks") else "int32_t"
        text += array("uint8_t", f"{name.upper()}_INDEX", index)
        text += array(wide, f"{name.upper()}_PAGES", pages)
    return text + f"static const int32_t PLAIN_NOTHING = {NOTHING};\n"


def constant(name: str, value: Any) -> str:
    """Return a Python constant in C++; a dict of numbers becomes an enum (`KIND_SPACE`) and an array of names (`KIND_NAMES`)."""
    if isinstance(value, dict) and all(isinstance(number, int) for number in value.values()):
        numbers = {f"{name}_{key}".upper().replace("-", "_"): value[key] for key in value}
        listed = ", ".join(f"{key} = {number}" for key, number in numbers.items())
        if list(value.values()) != [*range(len(value))]:
            raise ValueError(f"{name} must be numbered 0, 1, … to have an array of names")
        return f"enum : int64_t {{ {listed} }};\n" + constant(f"{name}_NAMES", tuple(value))
    if isinstance(value, dict):
        pairs = tuple((ord(key), ord(other)) for key, other in value.items())
        return constant(name, pairs)
    if isinstance(value, tuple):
        kind, text = literal(value[0])
        axes = f"[{len(value)}]" + "[2]" * isinstance(value[0], tuple)
        return f"constexpr {kind} {name}{axes} = {{{', '.join(literal(item)[1] for item in value)}}};\n"
    kind, text = literal(value)
    return f"constexpr {kind} {name} = {text};\n"


def literal(value: Any) -> tuple[str, str]:
    """Return the C++ type and text of a value."""
    if isinstance(value, tuple):
        return "int64_t", f"{{{', '.join(map(str, value))}}}"
    if isinstance(value, str):
        # JSON escapes ASCII text like C++; other text is written as code points.
        return (
            ("const char*", json.dumps(value))
            if value.isascii()
            else ("const char32_t*", wide(value))
        )
    if isinstance(value, float):
        return "double", repr(value)
    return ("int64_t", str(value)) if value < 1 << 63 else ("uint64_t", f"{value}u")


def wide(text: str) -> str:
    return 'U"' + "".join(f"\\U{ord(character):08x}" for character in text) + '"'


def header(text: str) -> str:
    opening = "// Generated by tools/native_tables.py.\n#pragma once\n#include <cstdint>\nnamespace noppa {\n"
    return f"{opening}{text}}}  // namespace noppa\n"


def constants(values: dict[str, Any]) -> str:
    """Return the C++ header of a module of constants."""
    return header("".join(constant(name, value) for name, value in values.items()))


def log2_cubics() -> tuple[float, ...]:
    """Return log2(1 + d²) near each multiple of the piece width as a cubic in t = d²: constants, then factors of t, t² and t³.

    Newton's interpolation at the Chebyshev nodes of each piece; the first piece is 0 at 0.
    """
    width, count = CONSTANTS["LOG2_PIECE_WIDTH"], CONSTANTS["LOG2_PIECES"]
    cubics = []
    for piece in range(count):
        low, high = (max(0.0, (piece + side) * width) ** 2 for side in (-0.5, 0.5))
        nodes = [
            (low + high) / 2 - (high - low) / 2 * math.cos(math.pi * (2 * node + 1) / 8)
            for node in range(4)
        ]
        nodes[0] *= piece > 0
        slopes = [math.log1p(node) / math.log(2) for node in nodes]
        for order in range(1, 4):
            for at in range(3, order - 1, -1):
                slopes[at] = (slopes[at] - slopes[at - 1]) / (nodes[at] - nodes[at - order])
        cubic = [slopes[3]]
        for node, slope in zip(nodes[2::-1], slopes[2::-1], strict=True):
            cubic = [
                above - node * here
                for above, here in zip([0.0, *cubic], [*cubic, 0.0], strict=True)
            ]
            cubic[0] += slope
        cubics.append(cubic)
    return tuple(cubic[power] for power in range(4) for cubic in cubics)


def headers() -> dict[str, str]:
    return {
        "character_tables.hpp": header(character_tables()),
        "text_rules.hpp": constants(RULES),
        "kernel_constants.hpp": constants(CONSTANTS | {"LOG2_CUBICS": log2_cubics()}),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for file, text in headers().items():
            (Path(sys.argv[1]) / file).write_text(text)
    else:
        DATA.write_text(data())
