"""The example notebooks run from top to bottom, show what they promise, and are committed without outputs."""

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
    """One for all notebooks, which it forgets in between: starting one takes longer than a notebook."""
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
    outputs = [one for cell in notebook.cells for one in cell.get("outputs", ())]
    assert [one for one in outputs if one.output_type == "stream"] == []  # no warning either
    shown = [one.data for one in outputs if "text/html" in one.get("data", {})]
    assert len(shown) >= 5
    assert all(data["text/plain"] for data in shown)
    if path.stem == "quick_start":
        assert any("encoding: 20,000 of 20,000" in data["text/html"] for data in shown)


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["classify", "quick_start", "search_and_deduplicate"]  # fmt: skip


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_as_written(path: Path) -> None:
    """No outputs, which differ from version to version; `jupyter nbconvert --clear-output --inplace` takes them out."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    for cell in content["cells"]:
        assert cell["metadata"] == {}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
    assert content["metadata"].keys() == {"kernelspec", "language_info"}
    linked = [
        part.split(")")[0]
        for cell in content["cells"]
        for part in "".join(cell["source"]).split("](")[1:]
    ]
    assert all((path.parent / link).is_file() for link in linked)
