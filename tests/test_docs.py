"""Every Python block of the README, of CONTRIBUTING and of docs/ runs, in order, as a reader would run it."""

from __future__ import annotations

import importlib
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

#: Each section of the first runs in an environment of its own: tools/try_extras.py; the other needs a hub: tests/test_hub.py.
ELSEWHERE = {ROOT / "docs" / "integrations.md", ROOT / "docs" / "hub.md"}
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted({*(ROOT / "docs").glob("*.md")} - ELSEWHERE),
]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [
        body for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")) if kind == language
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    """The Python blocks as one program, then in the same folder each console line that starts with `$ `.

    What stands under such a line is what it prints.
    """
    program = "\n".join(blocks(page, "python"))
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
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


def test_functions_cite_their_equations() -> None:
    """The table at the end of docs/method.md holds, and no equation of the algorithm is missing from it."""
    page = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \((\d+)\) \| `([\w.]+)` \|$", page, re.MULTILINE)
    assert {int(number) for number, _ in rows} == set(range(9, 16))
    for number, name in rows:
        module, _, function = name.rpartition(".")
        told = getattr(importlib.import_module(module), function).__doc__
        assert re.search(rf"[Ee]quations?\b[^.:]*\b{number}\b", told), (
            f"{name} cites no equation {number}"
        )


def test_the_tree_names_every_module() -> None:
    """The picture of the tree in CONTRIBUTING holds: every folder and file of the top, and nothing that is gone."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for top in ("noppa", "native"):
        tree = page.split(f"    src/{top}/")[1].split("\n    ")[1:]
        own = itertools.takewhile(lambda line: line.startswith("  "), tree)
        named = {line.split()[0].rstrip("/") for line in own if not line.startswith("    ")}
        folder = ROOT / "src" / top
        there = {
            path.name if path.suffix == ".py" else path.stem
            for path in folder.iterdir()
            if path.name[:2] != "__" and path.suffix in ("", ".py", ".cpp")
        }
        assert named == there
