"""Run the example notebooks; they are committed without outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client import KernelManager
from nbclient import NotebookClient

from tests.conftest import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KernelManager]:
    """Start one kernel for all notebooks: starting one takes longer than running a notebook."""
    manager = KernelManager(
        kernel_name="python3", transport="ipc", ip=str(tmp_path_factory.mktemp("k") / "k")
    )
    manager.start_kernel(cwd=str(tmp_path_factory.mktemp("work")))
    yield manager
    manager.shutdown_kernel(now=True)
    manager.cleanup_resources()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path: Path, kernel: KernelManager) -> None:
    notebook = nbformat.read(path, 4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    client = NotebookClient(notebook, km=kernel, timeout=600)
    try:
        client.execute()
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert [output for output in outputs if output.output_type == "stream"] == []  # no warnings
    shown = [output.data for output in outputs if "text/html" in output.get("data", {})]
    assert len(shown) >= 3
    assert all(data["text/plain"] for data in shown)
    if path.stem == "quick_start":
        assert any("encoding: 20,000 of 20,000" in data["text/html"] for data in shown)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_as_written(path: Path) -> None:
    """Outputs differ between versions; `jupyter nbconvert --clear-output --inplace` removes them."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert content["metadata"].keys() == {"kernelspec", "language_info"}
