"""The native module for 64-bit ARM (NEON through the compiler's vectors): cross-compiled, and tested against its twin.

    apt-get install g++-aarch64-linux-gnu qemu-user debootstrap
    python reliability/arm.py [--results reliability/results/builds.jsonl] [TEST …]

No ARM machine is needed: Python, NumPy and the tests are those of ARM and run under qemu-user, an emulator. What it computes is what
such a processor does; how long it takes says nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from builds import ROOT

FOLDER = ROOT / "build" / "arm"
ROOT_OF_ARM, SITE, OBJECTS = FOLDER / "root", FOLDER / "site", FOLDER / "cmake"
#: What is called, and the package of Debian that has it.
TOOLS = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "qemu-aarch64": "qemu-user",
    "debootstrap": "debootstrap",
}
#: Debian 12 has Python 3.11, so that the headers and the wheels are those.
SUITE, PYTHON = "bookworm", "3.11"
PACKAGES = ["numpy", "pytest", "hypothesis"]
#: Every kernel against its twin; an emulator takes some fifteen times as long as the machine that it runs on.
TESTS = ["tests/test_pooling.py", "tests/test_kernels.py"]


def make_root() -> None:
    """Python of ARM and its headers, unpacked and not installed: nothing of it runs but under the emulator."""
    included = f"python{PYTHON},libpython{PYTHON}-dev"
    command = ["debootstrap", "--foreign", "--arch=arm64", "--variant=minbase"]
    subprocess.run([*command, f"--include={included}", SUITE, str(ROOT_OF_ARM)], check=True)
    for package in sorted((ROOT_OF_ARM / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(ROOT_OF_ARM)], check=True)


def install_packages() -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    platforms = ["--platform", "manylinux_2_28_aarch64", "--platform", "manylinux2014_aarch64"]
    only = ["--only-binary=:all:", "--python-version", PYTHON, "--target", str(SITE)]
    subprocess.run([*command, *platforms, *only, *PACKAGES], check=True)


def build() -> None:
    """noppa with its module for ARM, beside the packages."""
    tools = Path(sys.executable).parent
    include = ROOT_OF_ARM / "usr/include"
    defines = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_MAKE_PROGRAM": tools / "ninja",
        "CMAKE_SYSTEM_NAME": "Linux",
        "CMAKE_SYSTEM_PROCESSOR": "aarch64",
        "CMAKE_CXX_COMPILER": "aarch64-linux-gnu-g++",
        "CMAKE_CXX_FLAGS": f"-I{include}",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": include / f"python{PYTHON}",
    }
    options = [f"-D{name}={value}" for name, value in defines.items()]
    cmake = str(tools / "cmake")
    subprocess.run([cmake, "-S", ROOT, "-B", OBJECTS, "-G", "Ninja", *options], check=True)
    subprocess.run([cmake, "--build", OBJECTS], check=True)
    shutil.rmtree(SITE / "noppa", ignore_errors=True)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "src/noppa", SITE / "noppa", ignore=ignored)
    (module,) = OBJECTS.glob("_native*.so")  # named for the Python that ran CMake
    shutil.copy(module, SITE / "noppa/_native.so")


def run(tests: list[str]) -> tuple[int, int]:
    """Tests that passed, and the exit status."""
    around = {"PYTHONPATH": SITE, "PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
    # What is not found in ARM's root is asked of this machine: the tests lie here.
    emulator = ["qemu-aarch64", "-L", ROOT_OF_ARM]
    for name, value in around.items():
        emulator += ["-E", f"{name}={value}"]
    python = [*emulator, ROOT_OF_ARM / f"usr/bin/python{PYTHON}"]
    done = subprocess.run(
        [*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout[-6000:])
    return sum(int(count) for count in re.findall(r"(\d+) passed", done.stdout)), done.returncode


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tests", nargs="*", metavar="TEST", help="test files", default=TESTS)
    parser.add_argument("--results", type=Path, help="JSON lines to append the outcome to")
    given = parser.parse_args()
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if missing:
        sys.exit(f"install {' '.join(missing)}, on Debian and Ubuntu with apt-get")
    if sysconfig.get_python_version() != PYTHON:
        sys.exit(f"the headers are those of Python {PYTHON}: run this with it")
    if not (ROOT_OF_ARM / f"usr/bin/python{PYTHON}").exists():
        make_root()
    if not (SITE / "numpy").exists():
        install_packages()
    build()
    began = time.monotonic()
    passed, status = run(given.tests)
    seconds = round(time.monotonic() - began, 1)
    what = "GCC for 64-bit ARM (NEON), under the emulator qemu-user"
    print(f"{what}: {passed} tests passed in {seconds:.0f} s")
    if given.results and not status:
        record = {"build": "arm", "what": what, "short": False, "passed": passed, "reports": 0}
        with given.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**record, "seconds": seconds}) + "\n")
    sys.exit(status)


if __name__ == "__main__":
    main()
