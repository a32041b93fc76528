"""Print the size of the project and the number of functions behind common calls.

    python tools/measure_house.py [ROOT]

Counts the files that git tracks under ROOT (default: this repository), and traces calls of its `src/noppa`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()

#: Runs one call in a fresh process, and prints how many functions of noppa it called: distinct, and in total.
TRACE = """
import sys, threading
from collections import Counter
called = Counter()
def profile(frame, event, argument):
    code = frame.f_code
    if event == "call" and "/src/noppa" in code.co_filename and code.co_name != "<module>":
        called[code.co_filename, code.co_name, code.co_firstlineno] += 1
{setup}
threading.setprofile(profile)
sys.setprofile(profile)
try:
    {call}
finally:
    sys.setprofile(None)
    print(len(called), called.total(), file=sys.stderr)
"""
#: Call -> code before the trace starts, traced code.
CALLS = {
    "noppa encode t.csv, 20 rows": (
        "open('t.csv', 'w').write('text\\n' + 'a girl eats cake\\n' * 20)\n"
        "sys.argv = ['noppa', 'encode', 't.csv', '-c', 'text', '-o', 't.npy']",
        "from noppa.cli import main; main()",
    ),
    "Index.search": (
        "import noppa\nindex = noppa.Index()\nindex.add(['a girl eats', 'a boy sleeps', 'the cake'])",
        "index.search('who eats cake')",
    ),
    "noppa.load": ("import noppa", "noppa.load()"),
    "POST /v1/embeddings": (
        "from starlette.testclient import TestClient\nfrom noppa.serve.app import Application\n"
        "from noppa.serve.settings import Settings\n"
        "app = getattr(Application, 'load', Application)(Settings())\n"
        "client = TestClient(app, base_url='http://127.0.0.1')\n"
        "post = lambda: client.post('/v1/embeddings', json={'input': 'a girl'})\n"
        "assert post().status_code == 200",
        "post()",
    ),
}


def python_files(*folders: str) -> list[Path]:
    names = subprocess.check_output(["git", "ls-files", *folders], cwd=ROOT, text=True).splitlines()
    return [ROOT / name for name in names if name.endswith(".py") and (ROOT / name).is_file()]


def lines(*folders: str) -> int:
    return sum(path.read_bytes().count(b"\n") for path in python_files(*folders))


def rarely_imported() -> list[str]:
    """Return the modules that at most one other module imports, commands and integrations aside."""
    source = ROOT / "src"
    files = {
        ".".join(path.relative_to(source).with_suffix("").parts): path
        for path in python_files("src/noppa")
        if path.name not in ("__init__.py", "__main__.py")
    }
    importers: dict[str, set[Path]] = {name: set() for name in files}
    for path in python_files("src/noppa"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")]
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{name}" for name in names)]
            for name in set(names) & set(files):
                importers[name] |= {path} - {files[name]}
    aside = ("noppa.cli.", "noppa.integrations.")
    return [n for n, users in importers.items() if len(users) <= 1 and not n.startswith(aside)]


def walk(group: Any) -> Iterator[Any]:
    for command in group.commands.values():
        if not command.hidden:
            yield command
            yield from walk(command) if hasattr(command, "commands") else ()


def options(command: Any) -> int:
    return sum(p.param_type_name == "option" and not p.hidden for p in command.params)


def trace(setup: str, call: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", TRACE.format(setup=setup, call=call)]
        variables = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": folder}
        run = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    found = re.findall(r"^\d+ \d+$", run.stderr, re.MULTILINE)
    return found[0] if found else run.stderr


def main() -> None:
    sys.path.insert(0, str(ROOT / "src"))
    import typer

    from noppa.cli import program

    root: Any = typer.main.get_command(program())
    commands = list(walk(root))
    (serve,) = [command for command in commands if command.name == "serve"]
    top = sum(not command.hidden for command in root.commands.values())
    print("lines of Python in src/noppa:", lines("src/noppa"))
    print("files in src/noppa:", len(python_files("src/noppa")))
    print("modules imported by at most one other:", len(rarely_imported()))
    print("lines of Python in tests:", lines("tests"))
    print("lines of Python in bench, reliability, tools:", lines("bench", "reliability", "tools"))
    print(
        "commands / options / options of serve:", top, sum(map(options, commands)), options(serve)
    )
    for name, (setup, call) in CALLS.items():
        print(f"functions of noppa, distinct and calls, for {name}:", trace(setup, call))


if __name__ == "__main__":
    main()
