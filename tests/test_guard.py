"""Check the guard of instruction counts."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).parent.parent / "bench" / "guard.py"
HERE = {"compiler": "12", "python": "3.11", "numpy": "2", "machine": "x86_64"}


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("guard", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FIGURES", tmp_path / "figures.jsonl")
    monkeypatch.setattr(module, "versions", lambda: HERE)
    lines = [{"case": case, "set": "v3", "instructions": 1000, **HERE} for case in "ab"]
    module.FIGURES.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return module


@pytest.mark.parametrize(
    ("a", "b", "good"), [(1000, 1049, True), (1000, 1051, False), (949, 1000, False)]
)
def test_five_percent(guard: ModuleType, a: int, b: int, good: bool) -> None:
    now = [
        {"case": case, "set": "v3", "instructions": count, **HERE}
        for case, count in zip("ab", (a, b), strict=True)
    ]
    assert guard.compared(now) is good
    assert guard.compared(now[:1]) is False  # a case that is no longer counted


def test_other_versions_are_not_compared(
    guard: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guard, "versions", lambda: {**HERE, "compiler": "13"})
    assert guard.compared([]) is False
    assert "made with compiler 12" in capsys.readouterr().out


def test_a_missing_valgrind_is_reported(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, FILE], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 1
    assert "apt-get install valgrind" in done.stderr
