"""Each section of docs/integrations.md in a fresh environment: install its extra, run its example, then its tests.

    python tools/try_extras.py [EXTRA ...] [--wheel FILE]

A section names its extra in its first `pip install 'noppa[EXTRA]'`; its tests are tests/integrations/test_EXTRA.py and the
examples in the docstrings of noppa.integrations.EXTRA. What only those tests need stands in their own docstring:
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

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "integrations.md"
TESTS = ROOT / "tests" / "integrations"
SOURCES = ROOT / "src" / "noppa" / "integrations"
# Only what decides how large an environment becomes; see the file.
CONSTRAINTS = TESTS / "constraints.txt"
AT_ONCE = 2
# Nobody is told that we tested. What is imported is compiled once and kept, as none of it was at its installation.
ENVIRONMENT = {**os.environ, "HAYSTACK_TELEMETRY_ENABLED": "false"}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)
# Packages that are installed without what they depend on, and what they need of it. BERTopic's own light installation,
# because the other one imports UMAP and torch: an environment of 1.4 GB, and most of a minute for each import.
LIGHT = {
    "bertopic": ("bertopic>=0.16", "hdbscan", "pandas", "plotly", "pyyaml", "scikit-learn", "tqdm")
}

# The example, and then the tests, in one process: some packages take longer to import than to use.
PROGRAM = """
import os, runpy, sys
example, root, *tests = sys.argv[1:]
runpy.run_path(example, run_name="__main__")
os.chdir(root)
import pytest
sys.exit(pytest.main(tests))
"""


def sections(page: str) -> dict[str, str]:
    """The Python of each section of the page, as one program, by the extra it installs."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        extra = re.search(r"pip install 'noppa\[(\w+)\]'", section)
        if extra is None:
            raise SystemExit(
                f"{PAGE.name}: the section {title!r} has no line pip install 'noppa[…]'"
            )
        if extra[1] in found:
            raise SystemExit(f"{PAGE.name}: two sections install noppa[{extra[1]}]")
        blocks = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
        if not blocks:
            raise SystemExit(f"{PAGE.name}: the section {title!r} has no example")
        found[extra[1]] = "\n".join(blocks)
    return found


def also_installs(tests: Path) -> tuple[str, ...]:
    """What tests need beyond the extra."""
    found = re.search(r"^Also installs: (.+)$", tests.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(found[1].split()) if found else ()


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command in silence; its output is the error where it fails."""
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise RuntimeError(done.stdout.decode(errors="replace"))


def try_extra(extra: str, program: str, wheel: Path, folder: Path) -> str:
    """What went wrong with an extra, or nothing."""
    begun = time.monotonic()
    python = folder / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    try:
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        install = (*pip, "install", "--quiet", "--no-compile", "-c", CONSTRAINTS)
        wanted = ("pytest>=8", *also_installs(TESTS / f"test_{extra}.py"))
        if extra in LIGHT:
            package, *needed = LIGHT[extra]
            run(*install, "--no-deps", package, cwd=folder)
            run(*install, wheel, *wanted, *needed, cwd=folder)
        else:
            run(*install, f"{wheel}[{extra}]", *wanted, cwd=folder)
        installed = time.monotonic()
        example = folder / "example.py"
        example.write_text(program, encoding="utf-8")
        tests = ("-q", "-o", "filterwarnings=default", "-p", "no:cacheprovider")
        chosen: list[str | Path] = [TESTS / f"test_{extra}.py"]
        if (SOURCES / f"{extra}.py").is_file():
            chosen += ["--doctest-modules", "--pyargs", f"noppa.integrations.{extra}"]
        run(python, "-c", PROGRAM, example, ROOT, *tests, *chosen, cwd=folder)
    except RuntimeError as error:
        return f"\nnoppa[{extra}] failed:\n{error}"
    ended = time.monotonic()
    print(
        f"noppa[{extra}]: installed in {installed - begun:.0f} s, ran in {ended - installed:.0f} s",
        flush=True,
    )
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "extras", nargs="*", metavar="EXTRA", help="all of the page where none is named"
    )
    parser.add_argument(
        "--wheel", type=Path, help="the package; built from this tree where it is left out"
    )
    given = parser.parse_args()
    programs = sections(PAGE.read_text(encoding="utf-8"))
    tested = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    if tested != set(programs):
        raise SystemExit(
            f"only tested or only on the page: {', '.join(sorted(tested ^ set(programs)))}"
        )
    if unknown := set(given.extras) - set(programs):
        raise SystemExit(f"no such section: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="noppa-extras-") as name:
        place = Path(name)
        wheel = (given.wheel or built(place)).resolve()

        def one(extra: str) -> str:
            folder = place / extra
            folder.mkdir()
            return try_extra(extra, programs[extra], wheel, folder)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = "".join(pool.map(one, given.extras or programs))
    sys.exit(wrong or 0)


def built(place: Path) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place, ROOT, cwd=place)
    return next(place.glob("noppa-*.whl"))


if __name__ == "__main__":
    main()
