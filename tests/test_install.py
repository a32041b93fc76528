"""The wheel: with a compiler it holds the native module, without one it installs and runs on the twin."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import noppa
from tests.conftest import ROOT

PROGRAM = """
import sys, warnings
# An editable install answers before PYTHONPATH does.
sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import noppa
    words = noppa.WordVectors(["a", "cake"], [[0.1, 0.2], [0.3, 0.4]], [0.9, 0.1])
    row = noppa.Encoder(words, noppa.NoPPA(k=0)).encode("a cake")
print(noppa.__file__, row.shape, *[str(one.message) for one in caught], sep="|")
"""


LOADS = """
import sys
sys.meta_path = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
import noppa
print(noppa.load("similarity").encode(["the girl eats cakes"]).tobytes().hex())
"""


def wheel(folder: Path, **variables: str) -> Path:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            folder,
            ROOT,
        ],
        check=True,
        capture_output=True,
        env={**os.environ, "SKBUILD_BUILD_DIR": str(folder / "build"), **variables},
    )
    (file,) = folder.glob("*.whl")
    return file


@pytest.fixture(scope="module")
def plain_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel that is built where no compiler is."""
    return wheel(tmp_path_factory.mktemp("wheel"), CXX="/nowhere/c++", CC="/nowhere/cc")


def test_without_a_compiler(plain_wheel: Path, tmp_path: Path) -> None:
    assert plain_wheel.name.endswith("py3-none-any.whl")
    with zipfile.ZipFile(plain_wheel) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    environment.pop("NOPPA_BACKEND", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    place, shape, *messages = run.stdout.strip().split("|")
    assert place.startswith(str(tmp_path))
    assert shape == "(4,)"
    assert len(messages) == 1
    assert "runs on its NumPy twin" in messages[0]


def test_the_model_is_in_the_wheel(plain_wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(plain_wheel) as archive:
        archive.extractall(tmp_path / "site")
    run = subprocess.run(
        [sys.executable, "-c", LOADS],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site"), "NOPPA_BACKEND": "numpy"},
    )
    row = np.frombuffer(bytes.fromhex(run.stdout), np.float32)
    wanted = noppa.load("similarity").encode("the girl eats cakes")
    assert np.allclose(row, wanted, atol=1e-5)
    assert (tmp_path / "site" / "noppa" / "encoder" / "model" / "NOTICE.md").is_file()


@pytest.mark.found(
    "outside review",
    "The wheel said Apache-2.0 alone and lacked the licences of what is compiled in.",
)
def test_the_wheel_says_under_which_licences_it_comes(plain_wheel: Path) -> None:
    with zipfile.ZipFile(plain_wheel) as archive:
        texts = {
            name.split("/licenses/")[1]: archive.read(name).decode()
            for name in archive.namelist()
            if ".dist-info/licenses/" in name
        }
        (metadata,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        header = email.message_from_bytes(archive.read(metadata))
    assert set(header.get_all("License-File", [])) == set(texts)
    assert header["License-Expression"] == "Apache-2.0 AND CC-BY-SA-4.0 AND BSD-3-Clause AND MIT"
    assert "Apache License" in texts["LICENSE"]
    assert "Wenzel Jakob" in texts["licenses/nanobind.txt"]
    assert "Thibaut Goetghebuer-Planchon" in texts["licenses/robin_map.txt"]
    assert "CC BY-SA 4.0" in texts["src/noppa/encoder/model/NOTICE.md"]


@pytest.mark.found(
    "outside review", "The native module was built without a stack protector or BIND_NOW."
)
@pytest.mark.unsanitized
def test_the_native_module_is_hardened() -> None:
    from noppa.kernels import _native

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


def test_asking_for_what_is_not_there(tmp_path: Path) -> None:
    for variable, message in {
        "NOPPA_BACKEND=gpu": "NOPPA_BACKEND must be native or numpy, not 'gpu'",
        "NOPPA_ISA=v9": "NOPPA_ISA=v9 is not available here, only base",
    }.items():
        name, value = variable.split("=")
        run = subprocess.run(
            [sys.executable, "-c", "import noppa"],
            capture_output=True,
            text=True,
            env={**os.environ, "NOPPA_BACKEND": "", name: value},
        )
        assert run.returncode == 1
        assert message in run.stderr
