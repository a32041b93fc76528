"""Runs the chaos scenarios: every `scenario_*` function of the files in this folder.

python reliability/chaos/run.py                       # all, 3 rounds each
python reliability/chaos/run.py --rounds 50 encode    # those of one command, for longer

A scenario gets an empty folder and a number of rounds, and returns how often each outcome came about. It raises
AssertionError where a command left neither the old state, nor the new one, nor one to resume from.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
Scenario = Callable[[Path, int], dict[str, int]]


def scenarios(names: list[str]) -> list[tuple[str, str, Scenario]]:
    """Command, name and function of every scenario, those of `names` alone if any are given."""
    sys.path.insert(0, str(ROOT))
    known = sorted(path.stem for path in HERE.glob("*.py"))
    known = [name for name in known if name != "run" and not name.startswith("_")]
    if unknown := set(names) - set(known):
        sys.exit(f"no scenarios for {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    chosen = []
    for command in names or known:
        module = importlib.import_module(f"reliability.chaos.{command}")
        for name, value in vars(module).items():
            if name.startswith("scenario_"):
                chosen.append((command, name.removeprefix("scenario_"), value))
    return chosen


def play(command: str, name: str, scenario: Scenario, rounds: int) -> dict[str, Any]:
    """The record of one scenario: its outcomes, or the error that it ended with."""
    record: dict[str, Any] = {"command": command, "scenario": name, "rounds": rounds}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="noppa-chaos-") as folder:
        try:
            record["outcomes"] = scenario(Path(folder), rounds)
        except Exception as error:
            traceback.print_exc()
            record["error"] = f"{type(error).__name__}: {error}"[:500]
    return {**record, "seconds": round(time.monotonic() - began, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="commands; all if none is named")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path, help="JSON lines to write the outcomes to")
    given = parser.parse_args()
    records = []
    for command, name, scenario in scenarios(given.names):
        records.append(play(command, name, scenario, given.rounds))
        outcome = records[-1].get("error") or records[-1]["outcomes"]
        print(f"{command} {name}: {outcome} in {records[-1]['seconds']} s", flush=True)
    if given.results:
        lines = "".join(json.dumps(record) + "\n" for record in records)
        given.results.write_text(lines, encoding="utf-8")
    sys.exit(any("error" in record for record in records))


if __name__ == "__main__":
    main()
