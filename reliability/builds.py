"""Build the native module under sanitizers or with Clang, and run the tests that use it.

python reliability/builds.py address            # AddressSanitizer and UndefinedBehaviorSanitizer
python reliability/builds.py thread --short     # ThreadSanitizer, only the tests that `make test` has time for
python reliability/builds.py clang              # Clang's release build
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = ROOT / "build" / "other"
#: Tests that run native code, and the quick ones among them.
NATIVE = tuple(
    (
        "test_binding test_kernels test_pooling test_tokens test_vector_text test_pieces test_words test_training test_threads test_refine "
        "test_methods test_noppa test_encoder test_explain test_golden test_inputs test_near_duplicates test_fuzz"
    ).split()
)
QUICK = ("test_binding", "test_kernels", "test_pooling", "test_vector_text")
REPORT = re.compile(r"ERROR: |runtime error: |WARNING: ThreadSanitizer|FATAL: ")


@dataclass(frozen=True)
class Build:
    """A way to build the module, and the tests to run on it."""

    what: str
    tests: tuple[str, ...] = NATIVE
    short: tuple[str, ...] = QUICK
    sanitizer: str = ""
    compiler: str = ""
    preload: tuple[str, ...] = ()
    races: bool = False


KINDS = {
    "address": Build(
        "AddressSanitizer and UndefinedBehaviorSanitizer",
        sanitizer="address",
        preload=("libasan.so", "libubsan.so", "libstdc++.so"),
    ),
    "thread": Build(
        "ThreadSanitizer",
        tests=("test_threads", "test_encoder", "test_vector_text"),
        short=("test_threads",),
        sanitizer="thread",
        preload=("libtsan.so", "libstdc++.so"),
        races=True,
    ),
    "clang": Build("Clang, release flags", compiler="clang++"),
    "coverage": Build("gcov", sanitizer="coverage"),
}


def install(name: str, build: Build) -> Path:
    """Build noppa into a folder for PYTHONPATH."""
    folder = BUILDS / name
    build_type = "RelWithDebInfo" if build.sanitizer else "Release"
    settings = {"build-dir": BUILDS / "cmake" / name, "cmake.build-type": build_type}
    if build.sanitizer:
        settings["cmake.define.NOPPA_SANITIZE"] = build.sanitizer
    if build.compiler:
        settings["cmake.define.CMAKE_CXX_COMPILER"] = build.compiler
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--upgrade", "--target", str(folder)]
    command += [f"-C{key}={value}" for key, value in settings.items()]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run([*command, str(ROOT)], check=True, env={**os.environ, "PATH": tools}, cwd=ROOT)
    return folder


def library(name: str) -> str:
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def environment(folder: Path, build: Build, log: Path) -> dict[str, str]:
    """Return the environment of a Python that imports this build; sanitizers write reports to files named `log`.*."""
    suppressions = ROOT / "reliability" / "thread_suppressions.txt"
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "LD_PRELOAD": " ".join(map(library, build.preload)),
        # Python frees not everything at exit, and tests check that refused memory is handled.
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
        "TSAN_OPTIONS": f"die_after_fork=0:suppressions={suppressions}:log_path={log}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def run(build: Build, tests: list[str], variables: dict[str, str]) -> tuple[int, int]:
    """Return how many tests passed, and the worst exit status."""
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"]
    pytest += ["-m", "not unsanitized and not system"] if build.preload else []
    commands = [
        [
            *pytest,
            *(f"tests/{name}.py" for name in tests if (ROOT / "tests" / f"{name}.py").exists()),
        ]
    ]
    if build.races:
        commands.append(["reliability/races.py"])
    # Some kernels place memory where a sanitizer needs it.
    prefix = ["setarch", "-R"] if build.preload else []
    passed, worst = 0, 0
    for command in commands:
        line = [*prefix, sys.executable, *command]
        done = subprocess.run(line, cwd=ROOT, env=variables, capture_output=True, text=True)
        passed += sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout))
        worst = max(worst, abs(done.returncode))
        if done.returncode:
            print(done.stdout[-6000:], done.stderr[-6000:], sep="\n")
    return passed, worst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", choices=KINDS)
    parser.add_argument("--short", action="store_true", help="only the quick tests")
    parser.add_argument("--build-only", action="store_true")
    parser.add_argument("--results", type=Path, help="JSON lines to append to")
    options = parser.parse_args()
    build = KINDS[options.name]
    folder = install(options.name, build)
    if options.build_only:
        return
    began = time.monotonic()
    log = BUILDS / f"report-{options.name}"
    for old in BUILDS.glob(f"{log.name}.*"):
        old.unlink()
    tests = list(build.short if options.short else build.tests)
    passed, status = run(build, tests, environment(folder, build, log))
    reports = [path.read_text(errors="replace") for path in sorted(BUILDS.glob(f"{log.name}.*"))]
    # A warning about refused memory is not a report.
    reports = [report for report in reports if REPORT.search(report)]
    for report in reports:
        print(*(line[:160] for line in report.splitlines()[:60]), sep="\n")
    seconds = round(time.monotonic() - began, 1)
    record = {
        "build": options.name,
        "what": build.what,
        "passed": passed,
        "reports": len(reports),
        "seconds": seconds,
    }
    print(json.dumps(record))
    if options.results:
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    sys.exit(status or bool(reports))


if __name__ == "__main__":
    main()
