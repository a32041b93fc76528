"""The build generates its headers from Python modules, so shared data is written once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noppa import _native, constants
from noppa.text import rules
from tools import scanner_rules

from .test_characters import TOOL, tool

ROOT = TOOL.parent.parent
HEADERS = {"text_rules.hpp": "RULES", "kernel_constants.hpp": "CONSTANTS"}
NAMES = [(file, name) for file, values in HEADERS.items() for name in getattr(tool(), values)]


def changed(value: Any) -> Any:
    if isinstance(value, dict):
        *rest, (key, last) = value.items()
        return dict(rest) | {
            f"{key}x" if isinstance(last, int) else key: last if isinstance(last, int) else "x"
        }
    if isinstance(value, tuple):
        return (*value[:-1], changed(value[-1]))
    return value + ("x" if isinstance(value, str) else 1)


@pytest.mark.parametrize(("file", "name"), NAMES, ids=[name for _, name in NAMES])
def test_every_constant_reaches_its_header(
    file: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tool()
    values = getattr(source, HEADERS[file])
    before = source.headers()[file]
    assert f" {name} " in before or f" {name}[" in before or f" {name}_NAMES[" in before
    monkeypatch.setitem(values, name, changed(values[name]))
    assert source.constants(values) != before


def test_the_compiled_module_has_these_numbers() -> None:
    assert _native.POSITION_UNIT == constants.POSITION_UNIT
    for abbreviation in rules.ABBREVIATIONS:
        assert _native.tokenize(f"{abbreviation}. x") == [f"{abbreviation}.", "x"]
    for domain in rules.DOMAINS:
        assert _native.tokenize(f"a.{domain}/b") == [f"a.{domain}/b"]


def test_the_modules_are_plain_values() -> None:
    """The build reads them before anything is installed."""
    for module in (rules, scanner_rules, constants):
        assert "import" not in Path(module.__file__).read_text().split('"""', 2)[2]


def test_the_pieces_of_the_log_kernel_are_log2() -> None:
    """In float64, to 1.2e-6 of the value wherever a difference may fall, and exactly 0 at 0."""
    width, pieces = constants.LOG2_PIECE_WIDTH, constants.LOG2_PIECES
    cubics = np.reshape(tool().log2_cubics(), (4, pieces))
    assert cubics[0, 0] == 0
    differences = np.linspace(1e-6, (pieces - 0.5) * width, 100_001)[:-1]
    factors = cubics[:, np.rint(differences / width).astype(int)]
    squares = differences**2
    found = ((factors[3] * squares + factors[2]) * squares + factors[1]) * squares + factors[0]
    expected = np.log1p(squares) / np.log(2)
    assert (np.abs(found - expected) <= 1.2e-6 * expected).all()
