"""The wheel: with a compiler it holds the native module, without one it installs and runs on the twin."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np

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


def test_without_a_compiler(tmp_path: Path) -> None:
    file = wheel(tmp_path, CXX="/nowhere/c++", CC="/nowhere/cc")
    assert file.name.endswith("py3-none-any.whl")
    with zipfile.ZipFile(file) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    environment.pop("NOPPA_BACKEND", None)
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
    )
    place, shape, *told = run.stdout.strip().split("|")
    assert place.startswith(str(tmp_path))
    assert shape == "(4,)"
    assert len(told) == 1
    assert "runs on its NumPy twin" in told[0]


def test_the_model_is_in_the_wheel(tmp_path: Path) -> None:
    file = wheel(tmp_path, CXX="/nowhere/c++", CC="/nowhere/cc")
    with zipfile.ZipFile(file) as archive:
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
    assert (tmp_path / "site" / "noppa" / "model" / "NOTICE.md").is_file()


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
