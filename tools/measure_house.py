"""Print the size of the project and the number of functions behind common calls.

    python tools/measure_house.py [ROOT]

Counts the tree under ROOT (default: this repository) and traces the calls of its `src/noppa`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
SOURCE = ROOT / "src" / "noppa"

#: Runs one call in a fresh process and prints how many noppa functions it entered, distinct and total.
TRACE = """
import sys
from collections import Counter
called = Counter()
def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/src/noppa" in code.co_filename and code.co_name[0] != "<":
        called[code.co_filename, code.co_qualname if hasattr(code, "co_qualname") else (code.co_name, code.co_firstlineno)] += 1
import threading
{setup}
threading.setprofile(profile)
sys.setprofile(profile)
try:
    {call}
finally:
    sys.setprofile(None)
    print(len(called), called.total(), file=sys.stderr)
"""

#: For each call: what runs before the trace starts, and the traced call.
CALLS = {
    "noppa encode t.csv, 20 rows": (
        "open('t.csv', 'w').write('id,text\\n' + ''.join(f'{n},a girl eats cake {n}\\n' for n in range(20)))\n"
        "sys.argv = ['noppa', 'encode', 't.csv', '-c', 'text', '-o', 't.npy']",
        "from noppa.cli import main; main()",
    ),
    "Index.search": (
        "import noppa\nindex = noppa.Index()\nindex.add(['a girl eats', 'a boy sleeps', 'the cake'])",
        "index.search('who eats cake')",
    ),
    "noppa.load": ("import noppa", "noppa.load()"),
    "POST /v1/embeddings": (
        "from starlette.testclient import TestClient\n"
        "import noppa.serve.app as module\n"
        "app = module.create_app() if hasattr(module, 'create_app') else module.app_of()\n"
        "client = TestClient(app)\nclient.__enter__()",
        "client.post('/v1/embeddings', json={'model': 'noppa-similarity', 'input': 'a girl'})",
    ),
}


def python_files(*folders: str) -> list[Path]:
    """Return the Python files that git tracks in some folders."""
    names = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True).split("\n")
    return [ROOT / name for name in names if name.endswith(".py") and (ROOT / name).is_file()]


def lines(*folders: str) -> int:
    return sum(path.read_bytes().count(b"\n") for path in python_files(*folders))


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """Return the noppa modules that a file imports, submodules instead of their packages."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names & modules


def rarely_imported() -> list[str]:
    """Return the modules that at most one other module imports, commands and integrations aside."""
    files = {
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
        for path in python_files("src/noppa")
        if path.name not in ("__init__.py", "__main__.py")
    }
    paths = [*python_files("src/noppa")]
    importers: dict[str, set[Path]] = {name: set() for name in files}
    for path in paths:
        for name in imported_modules(path, set(files)):
            if files[name] != path:
                importers[name].add(path)
    aside = ("noppa.cli.", "noppa.integrations.")
    return [n for n, users in importers.items() if len(users) <= 1 and not n.startswith(aside)]


def commands(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        if not command.hidden:
            yield command
            yield from commands(command) if hasattr(command, "commands") else ()


def option_count(command: Any) -> int:
    return sum(
        p.param_type_name == "option" and not getattr(p, "hidden", False) for p in command.params
    )


def traced(setup: str, call: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        program = TRACE.format(setup=setup, call=call)
        command = [sys.executable, "-c", program]
        environment = {"PYTHONPATH": str(SOURCE.parent), "PATH": "/usr/bin:/bin", "HOME": folder}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return run.stderr.strip().splitlines()[-1]


def main() -> None:
    sys.path.insert(0, str(SOURCE.parent))
    import typer

    from noppa.cli import program

    root: Any = typer.main.get_command(program())
    every = list(commands(root))
    serve = next(command for command in every if command.name == "serve")
    print("lines of Python in src/noppa", lines("src/noppa"))
    print("files in src/noppa", len(python_files("src/noppa")))
    print("modules imported by at most one other", len(rarely_imported()))
    print("lines of Python in tests", lines("tests"))
    print("lines of Python in bench, reliability, tools", lines("bench", "reliability", "tools"))
    print(
        "commands, groups included / top level",
        len(every),
        sum(not c.hidden for c in root.commands.values()),
    )
    print(
        "options on all help pages / of serve", sum(map(option_count, every)), option_count(serve)
    )
    for name, (setup, call) in CALLS.items():
        print(f"functions of noppa, distinct and calls: {name}", traced(setup, call))


if __name__ == "__main__":
    main()
