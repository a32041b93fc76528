"""The layer rule: what `import noppa` brings, and who may know whom."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import noppa

PACKAGE = Path(noppa.__file__).parent
CONSUMERS = {
    "cli",
    "distill",
    "evaluate",
    "export",
    "plot",
    "serve",
    "cluster",
    "integrations",
}
CORE = sorted(
    path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in CONSUMERS
)
ALLOWED = {*sys.stdlib_module_names, "numpy", "noppa"}


def modules_after(statement: str) -> set[str]:
    """The top names of all modules that a fresh interpreter holds after a statement."""
    program = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(run.stdout)}


def test_import_brings_numpy_and_nothing_else() -> None:
    """What an interpreter or NumPy loads by itself, such as Debian's sitecustomize, is not ours."""
    brought = modules_after("import noppa") - modules_after("import numpy")
    assert {name for name in brought - ALLOWED if not name.startswith("_editable")} == set()


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_knows_no_consumer(path: Path) -> None:
    """Also inside functions: a lazy import of an optional package is a consumer's affair, but for named exceptions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            parts = name.split(".")
            assert parts[0] != "noppa" or len(parts) < 2 or parts[1] not in CONSUMERS, name


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_the_core_imports_nothing_but_numpy_at_the_top(path: Path) -> None:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert {name.split(".")[0] for name in names} <= ALLOWED


def test_the_flow_is_one_way() -> None:
    """A stage imports only stages before it."""
    stages = [
        "errors",
        "characters",
        "tokens",
        "pieces",
        "reference",
        "backend",
        "texts",
        "frequencies",
        "lexicon",
        "matrix",
        "counting",
        "coverage",
        "word_folder",
        "words",
    ]
    stages += ["refine", "methods", "fitting", "encoder_folder", "encoder"]
    for later, stage in enumerate(stages):
        path = PACKAGE / f"{stage}.py"
        if not path.exists():
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = node.module if isinstance(node, ast.ImportFrom) else None
            if module and module.startswith("noppa."):
                other = module.split(".")[1]
                assert other not in stages[later + 1 :], f"{stage} imports {other}"
