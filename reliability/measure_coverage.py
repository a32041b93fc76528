"""Line and branch coverage of src/noppa and src/native by the whole suite, processes that tests start included.

python reliability/measure_coverage.py                       # all tests
python reliability/measure_coverage.py tests/test_words.py   # some of them

The summary goes to results/coverage.json if --results is given; every uncovered line and branch, as `path:line` with its
text, to results/uncovered.txt, which is not committed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))

from reliability import builds  # noqa: E402

DATA = ROOT / "build" / "coverage"
UNCOVERED = HERE / "results" / "uncovered.txt"
#: Of one file: statements, those that ran, branches, those that were taken.
Counts = tuple[int, int, int, int]


def run_tests(folder: Path, tests: list[str]) -> int:
    # An absolute path: tests start processes in folders of their own.
    environment = {**os.environ, "PYTHONPATH": str(folder), "COVERAGE_FILE": str(DATA / "data")}
    run = [sys.executable, "-m", "coverage", "run", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ours = ["-m", "not unsanitized"]  # this build is none of a release
    return subprocess.run([*run, *ours, *tests], cwd=ROOT, env=environment).returncode


def python_counts(missing: list[str]) -> dict[str, Counts]:
    """Counts of each Python file; what did not run is appended to `missing`."""
    report = DATA / "python.json"
    tool = [sys.executable, "-m", "coverage"]
    subprocess.run([*tool, "combine", "--quiet"], cwd=ROOT, check=True)
    subprocess.run([*tool, "json", "--quiet", "-o", str(report)], cwd=ROOT, check=True)
    counts = {}
    for path, file in sorted(json.loads(report.read_text())["files"].items()):
        if not path.startswith("src/"):  # a copy that a test installed somewhere
            continue
        summary = file["summary"]
        counts[path] = (
            summary["num_statements"],
            summary["covered_lines"],
            summary["num_branches"],
            summary["covered_branches"],
        )
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        missing += [f"{path}:{line}: {lines[line - 1].strip()}" for line in file["missing_lines"]]
        for start, end in file["missing_branches"]:
            missing.append(f"{path}:{start} -> {end}: {lines[start - 1].strip()}")
    return counts


def native_lines() -> dict[str, dict[int, dict[str, Any]]]:
    """By path and line: how often it ran, and how often each of its branches was taken, in any instruction set."""
    folder = builds.BUILDS / "cmake" / "coverage"
    merged: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for data in sorted(folder.rglob("*.gcda")):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)]
        printed = subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout
        for document in printed.splitlines():
            for file in json.loads(document)["files"]:
                path = (folder / file["file"]).resolve()
                if ROOT / "src" / "native" in path.parents:
                    merge(merged[str(path.relative_to(ROOT))], file["lines"])
    return merged


def merge(lines: dict[int, dict[str, Any]], more: list[dict[str, Any]]) -> None:
    for line in more:
        # An exception out of every call is a branch to the compiler, and none to a reader.
        taken = [branch["count"] for branch in line["branches"] if not branch["throw"]]
        known = lines.setdefault(line["line_number"], {"count": 0, "branches": taken})
        known["count"] += line["count"]
        if len(known["branches"]) == len(taken):
            known["branches"] = [a + b for a, b in zip(known["branches"], taken, strict=True)]


def native_counts(missing: list[str]) -> dict[str, Counts]:
    counts = {}
    for path, lines in sorted(native_lines().items()):
        text = (ROOT / path).read_text(encoding="utf-8").splitlines()
        branches = [taken for line in lines.values() for taken in line["branches"]]
        ran = sum(line["count"] > 0 for line in lines.values())
        counts[path] = (len(lines), ran, len(branches), sum(taken > 0 for taken in branches))
        for number, line in sorted(lines.items()):
            if not line["count"]:
                missing.append(f"{path}:{number}: {text[number - 1].strip()}")
            elif 0 in line["branches"]:
                missing.append(f"{path}:{number} -> one way only: {text[number - 1].strip()}")
    return counts


def folder_of(path: str) -> str:
    """The folder that a file is summed up with: its own below src/noppa, one level deep."""
    parts = Path(path).parts
    return "/".join(parts[: 3 if len(parts) > 3 else 2])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--results", type=Path, help="JSON file to write the summary to")
    parser.add_argument("tests", nargs="*", help="all if none is named")
    given = parser.parse_args()
    folder = builds.install("coverage", builds.BUILDS_BY_NAME["coverage"])
    DATA.mkdir(parents=True, exist_ok=True)
    for old in [*DATA.glob("data*"), *(builds.BUILDS / "cmake" / "coverage").rglob("*.gcda")]:
        old.unlink()
    status = run_tests(folder, given.tests)
    missing: list[str] = []
    totals: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path, counts in {**python_counts(missing), **native_counts(missing)}.items():
        for at, count in enumerate(counts):
            totals[folder_of(path)][at] += count
    names = ("lines", "covered_lines", "branches", "covered_branches")
    summary = {
        name: dict(zip(names, counts, strict=True)) for name, counts in sorted(totals.items())
    }
    UNCOVERED.write_text("".join(f"{line}\n" for line in missing), encoding="utf-8")
    for name, each in summary.items():
        print(f"{name}: {each['covered_lines']} of {each['lines']} lines, "
              f"{each['covered_branches']} of {each['branches']} branches")  # fmt: skip
    if given.results:
        given.results.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    sys.exit(status)


if __name__ == "__main__":
    main()
