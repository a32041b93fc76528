"""Check imports: the order of the folders, no cycles, and only NumPy for `import noppa`.

Imports are read from the source, also those inside functions and under TYPE_CHECKING.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import noppa

PACKAGE = Path(noppa.__file__).parent
ROOT = "noppa"
#: Each may import from itself and from those before it. The public face, noppa/__init__.py, stands between the core and
#: its consumers, so only those can use `from noppa import Encoder`.
CORE = (
    "errors", "_native", "constants", "extras", "parameters", "threads", "processes", "display", "progress_bar",
    "text", "io", "words", "refine", "methods", "explain", "encoder", "classify", "search", "dedupe", "topics",
)  # fmt: skip
CONSUMERS = (
    "files", "plot", "paper", "distill", "export", "serve", "integrations", "cli",
)  # fmt: skip
LAYERS = (*CORE, ROOT, *CONSUMERS)
#: The standard library does not list all of its own.
ALLOWED = {*sys.stdlib_module_names, "_interpreters", "_xxsubinterpreters", "numpy", "noppa"}

#: The modules that each module imports, all by their full names.
Graph = dict[str, set[str]]


def modules_of(package: Path) -> dict[str, Path]:
    """Return the full names of all modules of a package; a compiled one has a stub."""
    modules = {}
    for path in sorted(package.rglob("*.py*")):
        if path.suffix in (".py", ".pyi"):
            parts = path.relative_to(package).with_suffix("").parts
            modules[".".join((ROOT, *(part for part in parts if part != "__init__")))] = path
    return modules


def is_typing_block(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported_names(path: Path, module: str, typing: bool) -> Iterator[str]:
    """Yield what each import statement of a file names, as `package.module.name`; `typing`: under TYPE_CHECKING, too."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    if not typing:
        tree.body = [node for node in tree.body if not is_typing_block(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = [*(start if node.level else []), *([node.module] if node.module else [])]
            yield from (".".join((*base, alias.name)) for alias in node.names)


def imports_of(package: Path, typing: bool = True) -> Graph:
    """Return the import graph, without parent packages, which are always imported first."""
    modules = modules_of(package)
    graph: Graph = {}
    for module, path in modules.items():
        graph[module] = set()
        for name in imported_names(path, module, typing):
            if name.split(".")[0] != ROOT:
                continue
            target = name if name in modules else name.rpartition(".")[0]
            graph[module].add(target if target in modules else name)
            # Importing a.b.c runs a/__init__.py and a/b/__init__.py too.
            while target := target.rpartition(".")[0]:
                if not f"{module}.".startswith(f"{target}."):
                    graph[module].add(target)
        graph[module].discard(module)
    return graph


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else ROOT


def upward_imports(graph: Graph) -> list[str]:
    """Return imports of a later layer, and modules without a layer."""
    order = {layer: at for at, layer in enumerate(LAYERS)}
    unknown = {layer_of(module) for module in graph} - order.keys()
    return sorted(f"{layer} is in no layer" for layer in unknown) + [
        f"{module} imports {target}"
        for module, targets in sorted(graph.items())
        for target in sorted(targets)
        if order.get(layer_of(target), -1) > order.get(layer_of(module), len(order))
    ]


def cycle_in(graph: Graph) -> list[str]:
    """Return the modules of one import cycle, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


GRAPH = imports_of(PACKAGE)


def test_a_layer_imports_only_earlier_ones() -> None:
    assert upward_imports(GRAPH) == []
    assert {layer_of(module) for module in GRAPH} == set(LAYERS)


def test_only_its_command_imports_the_paper() -> None:
    importers = {module for module, targets in GRAPH.items() if any(map(is_paper, targets))}
    assert {module for module in importers if not is_paper(module)} == {"noppa.cli.paper"}


def is_paper(module: str) -> bool:
    return layer_of(module) == "paper"


def test_no_import_cycles() -> None:
    assert cycle_in(imports_of(PACKAGE, typing=False)) == []


def test_every_import_of_ours_is_seen() -> None:
    """The graph knows no module that does not exist, and has the edges that are hardest to see."""
    assert set().union(*GRAPH.values()) <= GRAPH.keys()
    assert "noppa._native" in GRAPH["noppa.words.lexicon"]
    assert "noppa.words.formats" in GRAPH["noppa.words.word_vectors"], "inside a function"
    assert "noppa.refine" in GRAPH["noppa.encoder.encoder"], "from noppa import refine"


def modules_after(statement: str) -> set[str]:
    """Return the top-level modules of a fresh interpreter after a statement."""
    program = f"import sys, json; {statement}; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in json.loads(run.stdout)}


def test_import_brings_numpy_and_nothing_else() -> None:
    """What an interpreter or NumPy loads by itself, such as Debian's sitecustomize, is not ours."""
    brought = modules_after("import noppa") - modules_after("import numpy")
    assert {name for name in brought - ALLOWED if not name.startswith("_editable")} == set()


@pytest.mark.parametrize("module", [name for name in GRAPH if layer_of(name) in (*CORE, ROOT)])
def test_the_core_imports_nothing_but_numpy_at_the_top(module: str) -> None:
    for node in ast.parse(modules_of(PACKAGE)[module].read_text(encoding="utf-8")).body:
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        assert {name.split(".")[0] for name in names} <= ALLOWED
