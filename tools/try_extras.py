"""Test the wheel alone, then each section of docs/integrations.md, in fresh environments.

The wheel alone is tested like in `tools/try_wheel.py`; a section installs its extra, runs its example, then its tests.

    python tools/try_extras.py [EXTRA ...] [--wheel FILE]

A section names its extra in its first `pip install 'noppa[EXTRA]'`; its tests are tests/integrations/test_EXTRA.py and the
examples in the docstrings of noppa.integrations.EXTRA. Further requirements of the tests are in their docstring:
`Also installs: REQUIREMENT ...`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from try_wheel import ROOT, Environment, try_alone

PAGE = ROOT / "docs" / "integrations.md"
TESTS = ROOT / "tests" / "integrations"
SOURCES = ROOT / "src" / "noppa" / "integrations"
# Keeps environments small; see the file.
CONSTRAINTS = TESTS / "constraints.txt"
AT_ONCE = 2
# No telemetry, no download of prices; some packages call programs of the system.
VARIABLES = {
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "PATH": os.environ["PATH"],
}
# Packages installed with --no-deps, and the dependencies they really need. This is BERTopic's own light installation: the
# full one brings UMAP and torch, 1.4 GB, and imports for most of a minute.
LIGHT = {
    "bertopic": ("bertopic>=0.16", "hdbscan", "pandas", "plotly", "pyyaml", "scikit-learn", "tqdm")
}

# Example and tests in one process: some packages take longer to import than to use.
PROGRAM = """
import os, runpy, sys
example, root, *tests = sys.argv[1:]
runpy.run_path(example, run_name="__main__")
os.chdir(root)
import pytest
sys.exit(pytest.main(tests))
"""


def sections(page: str) -> dict[str, str]:
    """Return the code of each section as one program, by extra."""
    programs = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        extra = re.search(r"pip install 'noppa\[(\w+)\]'", section)
        if extra is None:
            raise SystemExit(
                f"{PAGE.name}: the section {title!r} has no line pip install 'noppa[…]'"
            )
        if extra[1] in programs:
            raise SystemExit(f"{PAGE.name}: two sections install noppa[{extra[1]}]")
        blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        if not blocks:
            raise SystemExit(f"{PAGE.name}: the section {title!r} has no example")
        programs[extra[1]] = "\n".join(blocks)
    return programs


def also_installs(tests: Path) -> tuple[str, ...]:
    """Return the further requirements of the tests."""
    line = re.search(r"^Also installs: (.+)$", tests.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(line[1].split()) if line else ()


def fresh(folder: Path, **variables: str) -> Environment:
    """Create an environment without pip, which is faster: our pip installs into it."""
    folder.mkdir()
    environment = Environment(folder, **variables)
    environment.run(sys.executable, "-m", "venv", "--without-pip", folder / "env")
    return environment


def install(environment: Environment, *what: str | Path) -> None:
    # Bytecode is written at first import, because --no-compile leaves it out at installation.
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python")
    environment.run(*pip, environment.python, "install", "--quiet", "--no-compile", *what)


def try_extra(extra: str, program: str, wheel: Path, folder: Path) -> str:
    """Test one extra; return the error message, or an empty string."""
    begun = time.monotonic()
    try:
        environment = fresh(folder, **VARIABLES)
        constrained = ("-c", CONSTRAINTS)
        requirements = ("pytest>=8", *also_installs(TESTS / f"test_{extra}.py"))
        if extra in LIGHT:
            package, *needed = LIGHT[extra]
            install(environment, *constrained, "--no-deps", package)
            install(environment, *constrained, wheel, *requirements, *needed)
        else:
            install(environment, *constrained, f"{wheel}[{extra}]", *requirements)
        installed = time.monotonic()
        example = folder / "example.py"
        example.write_text(program, encoding="utf-8")
        tests = ("-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider")
        chosen: list[str | Path] = [TESTS / f"test_{extra}.py"]
        if (SOURCES / f"{extra}.py").is_file():
            chosen += ["--doctest-modules", "--pyargs", f"noppa.integrations.{extra}"]
        environment.run(environment.python, "-c", PROGRAM, example, ROOT, *tests, *chosen)
    except RuntimeError as error:
        return f"\nnoppa[{extra}] failed:\n{error}"
    ended = time.monotonic()
    print(
        f"noppa[{extra}]: installed in {installed - begun:.0f} s, ran in {ended - installed:.0f} s",
        flush=True,
    )
    return ""


def try_nothing_else(wheel: Path, folder: Path) -> str:
    """Test the wheel with its dependencies only; return the error message, or an empty string."""
    try:
        environment = fresh(folder)
        install(environment, wheel)
        try_alone(environment)
    except RuntimeError as error:
        return f"\nfailed in an environment with the wheel alone:\n{error}"
    print("the wheel alone: quick start, noppa info and examples/own_method.py ran", flush=True)
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="default: all of the page")
    parser.add_argument("--wheel", type=Path, help="default: built from this tree")
    options = parser.parse_args()
    programs = sections(PAGE.read_text(encoding="utf-8"))
    tested = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    if tested != set(programs):
        raise SystemExit(
            f"only tested or only on the page: {', '.join(sorted(tested ^ set(programs)))}"
        )
    if unknown := set(options.extras) - set(programs):
        raise SystemExit(f"no such section: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="noppa-extras-") as name:
        place = Path(name)
        wheel = (options.wheel or built(place)).resolve()

        def one(extra: str) -> str:
            return try_extra(extra, programs[extra], wheel, place / extra)

        errors = ""
        if not options.extras:
            errors = try_nothing_else(wheel, place / "alone")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            errors += "".join(pool.map(one, options.extras or programs))
    sys.exit(errors or 0)


def built(place: Path) -> Path:
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps")
    subprocess.run([*command, "-w", str(place), str(ROOT)], check=True)
    return next(place.glob("noppa-*.whl"))


if __name__ == "__main__":
    main()
