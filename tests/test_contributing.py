"""Compile the kernel of CONTRIBUTING.md in a copy of the tree, and compare it with the method there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT
from tests.test_docs import blocks

PROGRAM = """
import numpy as np
from noppa import _native as kernels
from noppa.methods.method import NumpyPooler

assert "largest" in kernels.POOLINGS
random = np.random.default_rng(0)
for dim in (1, 7, 50, 97):
    words = noppa.WordVectors([f"w{row}" for row in range(40)], random.normal(size=(40, dim)))
    ids = random.integers(-1, 41, 300).astype(np.int32)
    offsets = np.append(0, np.sort(random.integers(0, 300, 30))).astype(np.int64)
    offsets = np.append(offsets, 300)
    method = Largest(scale=3.0)
    pool, twin = method.pooler(words, {}), NumpyPooler(method, words, {})
    assert isinstance(pool, kernels.Pooling)
    rows, known = pool(ids, offsets, kernels.Steps([]), 2)
    expected, counts = twin(ids, offsets, kernels.Steps([]), 1)
    assert np.array_equal(known, counts)
    assert np.allclose(rows, expected, rtol=1e-6)
"""


def test_the_kernel_compiles_and_is_the_twin(tmp_path: Path) -> None:
    page = ROOT / "CONTRIBUTING.md"
    (kernel,) = blocks(page, "cpp")
    tree, build = tmp_path / "tree", tmp_path / "build"
    for folder in ("src", "tools"):
        left_out = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / folder, tree / folder, ignore=left_out)
    shutil.copy(ROOT / "CMakeLists.txt", tree)
    place = kernel.partition(":")[0].removeprefix("// ")
    (tree / place).write_text(kernel, encoding="utf-8")
    # one instruction set is enough here, and takes a third of the time
    options = ["-DHAS_V3=OFF", "-DHAS_V4=OFF", f"-DPython_EXECUTABLE={sys.executable}"]
    tools = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (
        ["cmake", "-S", tree, "-B", build, "-G", "Ninja", *options],
        ["cmake", "--build", build],
    ):
        made = subprocess.run(command, capture_output=True, text=True, env=tools)
        assert made.returncode == 0, made.stdout + made.stderr
    (module,) = build.glob("_native*")
    shutil.copy(module, tree / "src" / "noppa")
    method = next(block for block in blocks(page, "python") if "class Largest" in block)
    run = subprocess.run(
        [sys.executable, "-c", method + PROGRAM],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={
            **os.environ,
            "PYTHONPATH": str(tree / "src"),
            "NOPPA_ISA": "",
        },
    )
    assert run.returncode == 0, run.stderr
