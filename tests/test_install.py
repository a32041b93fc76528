"""Build the wheel, and check its contents: the native module, the embedded model and the licences."""

from __future__ import annotations

import email
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import noppa
from tests.conftest import ROOT

LOADS = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
import noppa
print(noppa.load("similarity").encode(["the girl eats cakes"]).tobytes().hex())
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel, and return the folder of its files."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    variables = {**os.environ, "SKBUILD_BUILD_DIR": str(folder / "build")}
    subprocess.run([*command, "-w", folder, ROOT], check=True, capture_output=True, env=variables)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(site: Path, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment
    )


def test_the_wheel_encodes_with_its_embedded_model(site: Path) -> None:
    row = bytes.fromhex(run(site, LOADS).stdout)
    assert row == noppa.load("similarity").encode(["the girl eats cakes"]).tobytes()
    assert (site / "noppa" / "encoder" / "model" / "NOTICE.md").is_file()


def test_without_the_native_module_one_sentence_says_how_to_build_it(
    site: Path, tmp_path: Path
) -> None:
    shutil.copytree(site, tmp_path / "site", ignore=shutil.ignore_patterns("_native*"))
    result = run(tmp_path / "site", LOADS)
    assert result.returncode == 1
    assert "ImportError: noppa's native module is missing: build it" in result.stderr


def test_the_wheel_contains_the_licences_of_what_is_compiled_in(site: Path) -> None:
    (info,) = site.glob("*.dist-info")
    licenses = [path for path in (info / "licenses").rglob("*") if path.is_file()]
    texts = {path.relative_to(info / "licenses").as_posix(): path.read_text() for path in licenses}
    header = email.message_from_bytes((info / "METADATA").read_bytes())
    assert set(header.get_all("License-File", [])) == set(texts)
    assert header["License-Expression"] == "Apache-2.0 AND CC-BY-SA-4.0 AND BSD-3-Clause AND MIT"
    assert "Apache License" in texts["LICENSE"]
    assert "Wenzel Jakob" in texts["licenses/nanobind.txt"]
    assert "Thibaut Goetghebuer-Planchon" in texts["licenses/robin_map.txt"]
    assert "CC BY-SA 4.0" in texts["src/noppa/encoder/model/NOTICE.md"]


@pytest.mark.unsanitized
def test_the_native_module_is_hardened() -> None:
    from noppa import _native

    def shown(*options: str) -> str:
        command = ["readelf", "--wide", *options, _native.__file__]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert "BIND_NOW" in shown("--dynamic")
    segments = shown("--segments")
    assert "GNU_RELRO" in segments
    (stack,) = [line for line in segments.splitlines() if "GNU_STACK" in line]
    assert " RW " in stack
    symbols = shown("--dyn-syms")
    assert "__stack_chk_fail" in symbols
    assert "printf_chk" in symbols


def test_an_instruction_set_that_is_not_there() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import noppa"],
        capture_output=True,
        text=True,
        env={**os.environ, "NOPPA_ISA": "v9"},
    )
    assert result.returncode == 1
    assert "ImportError: NOPPA_ISA=v9 is not available here, only base" in result.stderr
