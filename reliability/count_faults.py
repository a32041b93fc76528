"""Runs the tests that inject faults and counts how many calls of each kind were made to fail.

python reliability/count_faults.py --results reliability/results/faults.jsonl
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from reliability import faults  # noqa: E402

EACH_FAULT = faults.each_fault


class Counts:
    """A plugin of pytest: counts per test and kind of call."""

    def __init__(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.test = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        items[:] = [item for item in items if "each_fault" in inspect.getsource(item.function)]

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self.test = item.nodeid.partition("[")[0]

    def each_fault(self, *arguments: Any, **options: Any) -> Iterator[tuple[str, Exception | None]]:
        for call, error in EACH_FAULT(*arguments, **options):
            self.counts.setdefault(self.test, Counter())[call.partition(" ")[0]] += 1
            yield call, error


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, help="JSON lines to write the counts to")
    given = parser.parse_args()
    counts = Counts()
    faults.each_fault = counts.each_fault  # before the tests import it
    files = sorted(ROOT.glob("tests/test_*.py"))
    files = [path for path in files if "reliability.faults" in path.read_text(encoding="utf-8")]
    status = pytest.main(["-q", *map(str, files)], plugins=[counts])
    lines = [{"test": test, "faults": dict(kinds)} for test, kinds in sorted(counts.counts.items())]
    for line in lines:
        print(json.dumps(line))
    if given.results:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        given.results.write_text(text, encoding="utf-8")
    sys.exit(status)


if __name__ == "__main__":
    main()
