"""The drivers of reliability/ themselves: one that never says no would let every fault through."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CHAOS_RUN = ROOT / "reliability" / "chaos" / "run.py"


def placed(tmp_path: Path, run: Path, name: str, content: str) -> Path:
    """A copy of a driver in a tree that holds nothing but one file of its own."""
    folder = tmp_path / run.parent.relative_to(ROOT)
    folder.mkdir(parents=True)
    (folder / name).write_text(content)
    return Path(shutil.copy(run, folder))


@pytest.mark.parametrize(("left", "status"), [("old", 0), ("half", 1)])
def test_the_chaos_driver_reports_a_state_that_is_neither_old_nor_new(
    tmp_path: Path, left: str, status: int
) -> None:
    scenario = (
        "def scenario_kill(folder, rounds):\n"
        f"    assert {left!r} in ('old', 'new'), 'half a file is left'\n"
        "    return {'old': rounds}\n"
    )
    run = placed(tmp_path, CHAOS_RUN, "write.py", scenario)
    results = tmp_path / "results.jsonl"
    command = [sys.executable, run, "--rounds=7", f"--results={results}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    (record,) = map(json.loads, results.read_text().splitlines())
    assert (record["command"], record["scenario"], record["rounds"]) == ("write", "kill", 7)
    if status:
        assert "half a file is left" in record["error"]
    else:
        assert record["outcomes"] == {"old": 7}


@pytest.mark.parametrize(
    ("healths", "status", "attempts", "within"),
    [
        ([0.3], 200, 1, True),
        ([3.0, 0.9, 0.3], 200, 3, True),  # a busy machine
        ([3.0] * 9, 200, 3, False),  # whatever it is, it stays
        ([0.3] * 9, 500, 1, False),  # a wrong answer is no matter of load
    ],
)
def test_ceilings_are_measured_again_before_they_are_called_broken(
    healths: list[float], status: int, attempts: int, within: bool
) -> None:
    from reliability import ceilings

    case = ceilings.Case("/embed", "some", lambda: b"", 100, 10, health_seconds=0.5)
    seen = iter(healths)
    measured, tried = ceilings.least(
        case, lambda case: ceilings.Measured([status], 50.0, 1.0, next(seen))
    )
    assert tried == attempts
    assert ceilings.record(case, measured, tried)["within"] == within
