"""The wheel alone, then each section of docs/integrations.md, in a fresh environment each.

The wheel alone runs examples/own_method.py; a section installs its extra, runs its example, then its tests.

    python tools/try_extras.py [EXTRA ...] [--wheel FILE]

A section names its extra in its first `pip install 'noppa[EXTRA]'`; its tests are tests/integrations/test_EXTRA.py and the
examples in the docstrings of noppa.integrations.EXTRA. What only those tests need is in their docstring:
`Also installs: REQUIREMENT ...`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
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
# Keeps environments small; see the file.
CONSTRAINTS = TESTS / "constraints.txt"
AT_ONCE = 2
# No telemetry, no download of prices. Bytecode is written at first import, because --no-compile leaves it out at installation.
ENVIRONMENT = {
    **os.environ,
    "HAYSTACK_TELEMETRY_ENABLED": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}
ENVIRONMENT.pop("PYTHONDONTWRITEBYTECODE", None)
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


# What examples/own_method.py leaves behind; its rows are those of the method itself.
ALONE = """
import csv, numpy as np, noppa, own_method
texts = [row["text"] for row in csv.DictReader(open("rows.csv"))]
encoder = noppa.Encoder(noppa.load().words, own_method.PowerMean())
assert np.load("rows.npy").tobytes() == encoder.encode(texts).tobytes()
assert noppa.load("power").fitted_on == len(texts)
"""


def sections(page: str) -> dict[str, str]:
    """The Python of each section of the page, as one program, by the extra it installs."""
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
    """What tests need beyond the extra."""
    line = re.search(r"^Also installs: (.+)$", tests.read_text(encoding="utf-8"), re.MULTILINE)
    return tuple(line[1].split()) if line else ()


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command without output; a failure raises with what it printed."""
    done = subprocess.run(
        command, cwd=cwd, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise RuntimeError(done.stdout.decode(errors="replace"))


def try_extra(extra: str, program: str, wheel: Path, folder: Path) -> str:
    """Try one extra; the error message, or an empty string."""
    begun = time.monotonic()
    python = folder / "env" / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    try:
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        install = (*pip, "install", "--quiet", "--no-compile", "-c", CONSTRAINTS)
        requirements = ("pytest>=8", *also_installs(TESTS / f"test_{extra}.py"))
        if extra in LIGHT:
            package, *needed = LIGHT[extra]
            run(*install, "--no-deps", package, cwd=folder)
            run(*install, wheel, *requirements, *needed, cwd=folder)
        else:
            run(*install, f"{wheel}[{extra}]", *requirements, cwd=folder)
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


def try_alone(wheel: Path, folder: Path) -> str:
    """A method of one's own where nothing but the wheel is installed; the error message, or an empty string."""
    binaries = folder / "env" / "bin"
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--disable-pip-version-check",
        "--python",
        binaries / "python",
    )
    path = f"{binaries}{os.pathsep}{ENVIRONMENT['PATH']}"
    try:
        run(sys.executable, "-m", "venv", "--without-pip", folder / "env", cwd=folder)
        run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=folder)
        shutil.copy(ROOT / "examples" / "own_method.py", folder)
        run("env", f"PATH={path}", binaries / "python", "own_method.py", cwd=folder)
        run(binaries / "python", "-c", ALONE, cwd=folder)
    except RuntimeError as error:
        return f"\nexamples/own_method.py failed in an environment with the wheel alone:\n{error}"
    print("the wheel alone: examples/own_method.py ran", flush=True)
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
            folder = place / extra
            folder.mkdir()
            return try_extra(extra, programs[extra], wheel, folder)

        errors = ""
        if not options.extras:
            (place / "alone").mkdir()
            errors = try_alone(wheel, place / "alone")
        with ThreadPoolExecutor(AT_ONCE) as pool:
            errors += "".join(pool.map(one, options.extras or programs))
    sys.exit(errors or 0)


def built(place: Path) -> Path:
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", place, ROOT, cwd=place)
    return next(place.glob("noppa-*.whl"))


if __name__ == "__main__":
    main()
