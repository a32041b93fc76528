"""Test a wheel as a user gets it: in a fresh environment of the running Python, without a compiler.

    python3.13 tools/try_wheel.py DIST [--numpy VERSION] [--core] [--results FILE] [--note TEXT]

pip selects a wheel from DIST, a folder or the address of an index. Then the quick start of the README, examples/own_method.py and
`noppa info` run; with --core also the tests of `make check`. Prints a line of JSON with the installed versions and checksums: those of
the tokens must be equal for all wheels, those of the vectors for all wheels of one processor.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cl")

# Checks the files that examples/own_method.py writes.
ALONE = """
import csv, numpy as np, noppa, own_method
texts = [row["text"] for row in csv.DictReader(open("rows.csv"))]
encoder = noppa.Encoder(noppa.load().words, own_method.PowerMean())
assert np.load("rows.npy").tobytes() == encoder.encode(texts).tobytes()
assert noppa.load("power").fitted_on == len(texts)
"""

# Every code point alone, between letters, and after a letter that it may combine with.
DIGESTS = """
import hashlib, json, platform, sysconfig, importlib.metadata
import numpy as np, noppa
from noppa import _native
def digest(data): return hashlib.sha256(data).hexdigest()[:16]
texts = [f"{chr(code)} a{chr(code)}b e{chr(code)}" for code in range(0x110000)]
tokens = hashlib.sha256()
for text in texts:
    tokens.update("\\n".join(_native.tokenize(text)).encode("utf-8", "surrogatepass"))
rows = noppa.load("similarity").encode([f"the girl eats {n} cakes, isn't she" for n in range(97)])
_, tag = [line for line in importlib.metadata.distribution("noppa").read_text("WHEEL").splitlines() if line[:4] == "Tag:"][0].split()
print(json.dumps({
    "wheel": tag, "python": platform.python_version(),
    "gil": not sysconfig.get_config_var("Py_GIL_DISABLED"),
    "machine": platform.machine(), "libc": "-".join(platform.libc_ver()) or "other", "numpy": np.__version__,
    "tokens": tokens.hexdigest()[:16], "vectors": digest(rows.tobytes()),
}))
"""


class Environment:
    """A virtual environment in `folder`, whose PATH contains only its own programs."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.binaries = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        self.python = self.binaries / "python"
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        self.variables = {**kept, "PATH": str(self.binaries), **variables}

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """Return the output of a command; a failure raises RuntimeError with all of it."""
        done = subprocess.run(
            command, cwd=cwd or self.folder, env=self.variables, capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
        return done.stdout

    def install(self, *what: str) -> None:
        self.run(self.python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", *what)


def quick_start() -> str:
    """Return the first Python block under this heading of the README."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"^## Quick start\n.*?^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    if block is None:
        raise SystemExit("README.md has no Python block under the heading Quick start")
    return block[1]


def try_alone(environment: Environment) -> None:
    """Check what the wheel must do without any extra."""
    python, noppa = environment.python, environment.binaries / "noppa"
    environment.run(python, "-c", quick_start())
    shutil.copy(ROOT / "examples" / "own_method.py", environment.folder)
    environment.run(python, "own_method.py")
    environment.run(python, "-c", ALONE)
    facts = json.loads(environment.run(noppa, "info", "--json"))
    if environment.run(noppa, "--version").strip() != facts["noppa"]:
        raise RuntimeError("noppa --version and noppa info disagree")


def try_wheel(dist: str, numpy: str | None, core: bool, folder: Path) -> dict[str, object]:
    """Install and test a wheel; return facts about the installation."""
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
    environment = Environment(folder)
    if found := [name for name in COMPILERS if shutil.which(name, path=environment.binaries)]:
        raise RuntimeError(f"there is a compiler: {found}")
    where = "--index-url" if dist.startswith("http") else "--find-links"
    alone = () if dist.startswith("http") else ("--no-index",)
    environment.install("--no-deps", *alone, where, dist, "noppa")
    # Its dependencies, from the usual index.
    pinned = [f"numpy=={numpy}"] if numpy else []
    environment.install("noppa", *pinned)
    try_alone(environment)
    facts: dict[str, object] = json.loads(environment.run(environment.python, "-c", DIGESTS))
    if core:
        environment.install("noppa[test-core]", *pinned)
        environment.run(
            environment.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not linux",
            "@tests/core.txt",
            cwd=ROOT,
        )  # fmt: skip
        facts["core tests"] = True
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("dist", help="a folder of wheels, or the address of an index")
    parser.add_argument("--numpy", metavar="VERSION", help="instead of the newest")
    parser.add_argument("--core", action="store_true", help="also run the tests of the core")
    parser.add_argument("--results", type=Path, help="JSON lines to append the outcome to")
    parser.add_argument("--note", default="", help="a note for the record, such as an emulator")
    given = parser.parse_args()
    dist = given.dist if given.dist.startswith("http") else str(Path(given.dist).resolve())
    with tempfile.TemporaryDirectory(prefix="noppa-wheel-") as name:
        try:
            facts = try_wheel(dist, given.numpy, given.core, Path(name))
        except RuntimeError as error:
            sys.exit(f"{sys.executable}: {error}")
    line = json.dumps({**facts, **({"note": given.note} if given.note else {})})
    print(line)
    if given.results:
        with given.results.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
