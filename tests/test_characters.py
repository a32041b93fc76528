"""Characters have the same properties with every Python version, at run time and at build time."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import unicodedata
from pathlib import Path
from types import ModuleType

import pytest

from noppa import _native
from noppa.text import characters
from tests import oracle
from tests.oracle import text as plain
from tools import native_tables

TOOL = Path(__file__).resolve().parent.parent / "tools" / "native_tables.py"
CODES = range(0x110000)

#: The tokens of all code points in order.
TOKENS = "6771ba78378e38b6"

#: A mark of Unicode 14.0 (Python 3.10 does not know it) and one of 16.0 (Python 3.13 does not).
MARK_14, MARK_16 = "\u0899", "\u0897"


def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("native_tables", TOOL)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_native_equals_the_oracle_on_every_code_point() -> None:
    """Also compare with a digest that holds for every Python version; every wheel runs this test."""
    digest = hashlib.sha256()
    for low in range(0, len(CODES), 0x8000):
        text = "".join(map(chr, CODES[low : low + 0x8000]))
        assert _native.tokenize(text) == oracle.tokenize(text), hex(low)
        digest.update("\n".join(_native.tokenize(text)).encode("utf-8", "surrogatepass"))
        for fold in (0, 1):
            assert _native.lower(text, fold) == plain.lower(text, fold), hex(low)
    assert digest.hexdigest()[:16] == TOKENS


def test_the_properties_of_characters_equal_the_oracle() -> None:
    for character in map(chr, (*range(0x20000), *range(0x20000, len(CODES), 97))):
        assert _native.character_kind(character) == plain.character_kind(character)
        assert _native.is_segmented(character) == plain.is_segmented(character)
        assert _native.is_mark(character) == (plain.plain(character) == "")
    with pytest.raises(ValueError, match="one character"):
        _native.character_kind("ab")


def test_letters_and_digits_are_the_same_with_every_python() -> None:
    classes = bytes(
        characters.is_letter(c)
        | characters.is_word_character(c) << 1
        | characters.has_digit(c) << 2
        for c in map(chr, range(0x20000))
    )
    assert hashlib.sha256(classes).hexdigest()[:16] == "5191f1bf740ba23c"
    assert [*map(characters.is_letter, "aß世ー_1½Ⅳ٣\u0301–")] == [True] * 4 + [False] * 7
    assert [*map(characters.is_word_character, "a1½Ⅳ٣_\u0301–")] == [True] * 5 + [False] * 3


def test_the_tables_are_those_of_the_pinned_version() -> None:
    assert {name: len(native_tables.values(name)) for name in native_tables.TABLES} == {
        "kind": len(CODES), "lower": len(CODES), "plain": len(CODES), "stable": len(CODES)
    }  # fmt: skip
    if unicodedata.unidata_version != native_tables.UNICODE:
        return  # only the Python of that version can tell
    source = tool()
    for name in ("kind", "lower", "plain"):
        table, value_of = native_tables.values(name), getattr(source, name)
        for code in (*range(0x20000), *range(0x20000, len(CODES), 97)):
            assert table[code] == value_of(chr(code)), (name, hex(code))


def test_the_native_tables_need_no_unicode_data(tmp_path: Path) -> None:
    """The build writes the same header with an interpreter of any Unicode version."""
    code = (
        "import runpy, sys, unicodedata\n"
        "for name in ('category', 'normalize', 'unidata_version'): setattr(unicodedata, name, None)\n"
        f"sys.argv = ['', {str(tmp_path)!r}]\n"
        f"runpy.run_path({str(TOOL)!r}, run_name='__main__')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == tool().headers()


@pytest.mark.parametrize("mark", [MARK_14, MARK_16])
def test_characters_that_not_every_python_knows_stay_where_they_are(mark: str) -> None:
    text = f"e\u0301 x{mark}\u0301 e{mark}\u0301"
    assert _native.tokenize(text, (3, 0, 0, 0)) == ["é", f"x{mark}\u0301", f"e{mark}\u0301"]
    assert _native.tokenize(text) == oracle.tokenize(text)


def test_normalization_passes_only_stable_characters_on(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: list[str] = []
    monkeypatch.setattr(unicodedata, "normalize", lambda form, text: passed.append(text) or text)
    _native.tokenize("".join(map(chr, CODES)))
    stable = native_tables.values("stable")
    assert {stable[ord(character)] for character in "".join(passed)} == {1}
    # Unicode 13.0 has 143,859 characters, 65 controls, 2,048 surrogates and 137,468 for private use.
    assert len("".join(passed)) == sum(stable) == 143_859 + 65 + 2_048 + 137_468
