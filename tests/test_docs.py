"""Run the code blocks of the documentation, and check its generated tables and verdicts."""

from __future__ import annotations

import importlib
import itertools
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: tools/try_extras.py runs each section of the first in its own environment; tests/test_hub.py runs the second.
ELSEWHERE = {ROOT / "docs" / "integrations.md", ROOT / "docs" / "hub.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted({*(ROOT / "docs").glob("*.md")} - ELSEWHERE),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: A block, and the expected output in a `text` block after it.
OUTPUT = re.compile(BLOCK.pattern + r"(?:\n+^```text\n(.*?)^```)?", BLOCK.flags)
END = "\x1e"


def blocks(page: Path, language: str) -> list[str]:
    return [
        body for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    """Run the Python blocks of a page as one program, then its console lines, and compare their outputs."""
    program, shown = program_of(page)
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    for block, printed in zip(shown, run.stdout.split(END), strict=False):
        assert block is None or same(printed, block), printed
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for entry in re.split(r"^\$ ", "\n".join(blocks(page, "console")), flags=re.MULTILINE)[1:]:
        command, _, wanted = entry.partition("\n")
        run = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path},
        )
        assert run.returncode == 0, f"{command}: {run.stderr}"
        if wanted.strip():
            assert run.stdout.split() == wanted.split(), command


def test_no_block_escapes() -> None:
    """Check that every fenced block has a language that runs and is on a page that runs."""
    for page in {*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")}:
        text = page.read_text(encoding="utf-8")
        kinds = [kind for kind, *_ in OUTPUT.findall(text)]
        assert {*kinds} <= {"python", "console", "cpp"}, page
        assert not kinds or page in {*PAGES, *ELSEWHERE}, page
        assert len(re.findall("^```", text, re.MULTILINE)) == 2 * len(BLOCK.findall(text)), page


def program_of(page: Path) -> tuple[str, list[str | None]]:
    """Return the Python blocks as one program that prints END after each, and the output expected of each block."""
    program, shown = "", []
    for kind, body, under in OUTPUT.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            program += f"{body}\nprint({END!r}, end='')\n"
            shown.append(under or None)
    return program, shown


def same(printed: str, block: str) -> bool:
    """Compare word by word; numbers may differ in the last digits, as instruction sets do."""
    pairs = [*itertools.zip_longest(printed.split(), block.split(), fillvalue="")]
    return all(left == right or close(left, right) for left, right in pairs)


def close(left: str, right: str) -> bool:
    try:
        return math.isclose(*(float(text.strip("[],()+")) for text in (left, right)), abs_tol=2e-3)
    except ValueError:
        return False


def test_functions_cite_their_equations() -> None:
    """Check the table of equations at the end of docs/method.md against the docstrings."""
    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \((\d+)\) \| `([\w.]+)` \|$", page, re.MULTILINE)
    assert {int(number) for number, _ in rows} == set(range(9, 16))
    for number, name in rows:
        module, _, function = name.rpartition(".")
        docstring = getattr(importlib.import_module(module), function).__doc__
        assert re.search(rf"[Ee]quations?\b[^.:]*\b{number}\b", docstring), (
            f"{name} cites no equation {number}"
        )


def test_the_tree_names_every_module() -> None:
    """Check that the tree in CONTRIBUTING lists the top-level modules, and nothing else."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for top in ("noppa", "native"):
        tree = page.split(f"    src/{top}/")[1].split("\n    ")[1:]
        lines = itertools.takewhile(lambda line: line.startswith("  "), tree)
        named = {line.split()[0].rstrip("/") for line in lines if not line.startswith("    ")}
        folder = ROOT / "src" / top
        there = {
            path.name
            for path in folder.iterdir()
            if path.name[:2] != "__" and path.suffix in ("", ".py", ".cpp")
        }
        assert named == there


def test_generated_tables_are_current() -> None:
    command = [sys.executable, str(ROOT / "bench" / "document.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
