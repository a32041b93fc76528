"""Builds the native module in another way and runs the tests that touch it: under sanitizers, and with another compiler.

python reliability/builds.py address            # AddressSanitizer and UndefinedBehaviorSanitizer
python reliability/builds.py thread --short     # ThreadSanitizer, the few tests that `make test` has time for
python reliability/builds.py clang              # Clang's release build against the twin, for every instruction set
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILDS = ROOT / "build" / "other"

#: Where native code runs: kernels, scanner, look-up, parser, trainer, and all that is built on them.
NATIVE = (
    "tests/test_binding.py tests/test_kernels.py tests/test_pooling.py tests/test_tokens.py tests/test_vector_text.py "
    "tests/test_pieces.py tests/test_words.py tests/test_training.py tests/test_threads.py tests/test_refine.py "
    "tests/test_methods.py tests/test_noppa.py tests/test_encoder.py tests/test_explain.py tests/test_golden.py "
    "tests/test_inputs.py tests/test_near_duplicates.py tests/test_fuzz.py"
).split()
QUICK = (
    "tests/test_binding.py tests/test_kernels.py tests/test_pooling.py tests/test_vector_text.py"
).split()
TWIN = "tests/test_kernels.py tests/test_pooling.py tests/test_tokens.py tests/test_vector_text.py".split()
FAULT = re.compile(r"ERROR: |runtime error: |WARNING: ThreadSanitizer|FATAL: ")
RACES = ["reliability/first_calls.py", "reliability/one_encoder.py"]


@dataclass(frozen=True)
class Build:
    """One way to build the module, and what runs on it."""

    what: str
    long: list[str]
    short: list[str]
    defines: dict[str, str] = field(default_factory=dict)
    compiler: str = ""
    preload: tuple[str, ...] = ()
    build_type: str = "RelWithDebInfo"


BUILDS_BY_NAME = {
    "address": Build(
        "AddressSanitizer and UndefinedBehaviorSanitizer",
        long=NATIVE,
        short=QUICK,
        defines={"NOPPA_SANITIZE": "address"},
        preload=("libasan.so", "libubsan.so", "libstdc++.so"),
    ),
    "thread": Build(
        "ThreadSanitizer",
        long=[
            *RACES,
            "tests/test_threads.py",
            "tests/test_encoder.py",
            "tests/test_vector_text.py",
        ],
        short=[*RACES, "tests/test_threads.py"],
        defines={"NOPPA_SANITIZE": "thread"},
        preload=("libtsan.so", "libstdc++.so"),
    ),
    "clang": Build(
        "Clang, release flags", long=NATIVE, short=TWIN, compiler="clang++", build_type="Release"
    ),
    "coverage": Build(
        "gcov, for reliability/measure_coverage.py",
        long=NATIVE,
        short=QUICK,
        defines={"NOPPA_SANITIZE": "coverage"},
    ),
}


def install(name: str, build: Build) -> Path:
    """The folder with noppa as this build makes it, for PYTHONPATH."""
    folder = BUILDS / name
    defines = {**build.defines}
    if build.compiler:
        defines["CMAKE_CXX_COMPILER"] = build.compiler
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
    ]
    command += ["--disable-pip-version-check", "--upgrade", "--target", str(folder), str(ROOT)]
    command += [f"-Cbuild-dir={BUILDS / 'cmake' / name}", f"-Ccmake.build-type={build.build_type}"]
    # With a compiler that fails, an install would quietly go on without the module.
    command += ["-Cwheel.cmake=true"]
    command += [f"-Ccmake.define.{key}={value}" for key, value in defines.items()]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(command, check=True, env={**os.environ, "PATH": tools}, cwd=ROOT)
    if not list(folder.glob("noppa/_native*.so")):
        sys.exit(f"{build.what}: the native module was not built")
    return folder


def library(name: str) -> str:
    asked = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True)
    return asked.stdout.strip()


def environment(folder: Path, build: Build, log: Path) -> dict[str, str]:
    """That of a Python which imports this build; each report of a sanitizer goes to a file that begins with `log`."""
    suppressions = ROOT / "reliability" / "thread_suppressions.txt"
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "LD_PRELOAD": " ".join(library(name) for name in build.preload),
        # What Python leaves unfreed at its exit is no leak of ours, and memory that is refused is tested for.
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={log}",
        "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={log}",
        "TSAN_OPTIONS": f"die_after_fork=0:suppressions={suppressions}:log_path={log}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }


def run(paths: list[str], around: dict[str, str]) -> tuple[int, int]:
    """Tests that passed, and the worst exit status, of test files and of scripts."""
    passed, worst = 0, 0
    scripts = [[sys.executable, path] for path in paths if not path.startswith("tests/")]
    tests = [path for path in paths if path.startswith("tests/") and (ROOT / path).exists()]
    deselected = ["-m", "not unsanitized"] if around["LD_PRELOAD"] else []
    commands = [
        *scripts,
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *deselected, *tests],
    ]
    # Some kernels place memory where a sanitizer has its own.
    fixed = ["setarch", "-R"] if around["LD_PRELOAD"] else []
    for command in commands:
        done = subprocess.run(
            [*fixed, *command], cwd=ROOT, env=around, capture_output=True, text=True
        )
        passed += sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout))
        worst = max(worst, abs(done.returncode))
        if done.returncode:
            print(done.stdout[-6000:], done.stderr[-6000:], sep="\n")
    return passed, worst


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("name", choices=BUILDS_BY_NAME)
    parser.add_argument("--short", action="store_true", help="what `make test` has time for")
    parser.add_argument("--results", type=Path, help="JSON lines to append the outcome to")
    given = parser.parse_args()
    build = BUILDS_BY_NAME[given.name]
    began = time.monotonic()
    folder = install(given.name, build)
    built = time.monotonic()
    log = BUILDS / f"report-{given.name}"
    for old in BUILDS.glob(f"{log.name}.*"):
        old.unlink()
    passed, status = run(
        build.short if given.short else build.long, environment(folder, build, log)
    )
    reports = [path.read_text(errors="replace") for path in sorted(BUILDS.glob(f"{log.name}.*"))]
    # Memory that was refused leaves a warning, which is no report.
    reports = [report for report in reports if FAULT.search(report)]
    for report in reports:
        print(*(line[:160] for line in report.splitlines()[:60]), sep="\n")
    ran = time.monotonic()
    print(
        f"{build.what}: {passed} tests passed, {len(reports)} reports; "
        f"built in {built - began:.0f} s, ran in {ran - built:.0f} s"
    )
    if given.results:
        record = {"build": given.name, "what": build.what, "short": given.short, "passed": passed}
        record |= {"reports": len(reports), "seconds": round(ran - built, 1)}
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    sys.exit(status or bool(reports))


if __name__ == "__main__":
    main()
