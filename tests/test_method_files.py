"""The C++ files that are compiled once per instruction set leave nothing for the linker to choose between.

A weak symbol, as an inline function or template of the standard library makes, has one copy per set; the linker keeps any
one of them for the whole module, perhaps one with instructions that this processor lacks.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from .test_characters import TOOL, tool

NATIVE = TOOL.parent.parent / "src" / "native"
FILES = [*sorted((NATIVE / "methods").glob("*.cpp")), NATIVE / "refine" / "steps.cpp"]


def weak_symbols(file: Path, folder: Path) -> list[str]:
    """Names of an unoptimized build, in which nothing is inlined away."""
    for name, text in tool().headers().items():
        (folder / name).write_text(text)
    flags = f"-std=c++17 -O0 -c -I{NATIVE} -I{folder} -DNOPPA_SET=base".split()
    compiler, output = os.environ.get("CXX", "c++"), folder / "file.o"
    name = f"-DNOPPA_METHOD_NAME={file.stem}"
    subprocess.run([compiler, *flags, name, file, "-o", output], check=True)
    symbols = subprocess.run(
        ["nm", "-C", "--defined-only", output], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    split = (line.split(maxsplit=2) for line in symbols)
    return [
        name for _, kind, name in split if kind in "WVu" and not name.startswith("DW.ref.__gxx")
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_no_symbol_is_shared_between_instruction_sets(file: Path, tmp_path: Path) -> None:
    assert weak_symbols(file, tmp_path) == []
