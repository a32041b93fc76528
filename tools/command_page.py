"""Write docs/cli.md from the help texts of all commands.

python -m tools.command_page
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from noppa.cli import program

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
#: Options of every command that reads files; the page lists them once.
READING = {"form", "on_error"}

HEAD = """# The command line

This page lists every command with its options. `noppa COMMAND -h` shows the same in a terminal.

- `-` is standard input or output. One record in is one row out; records are numbered from 1.
- Tables are drawn on a terminal and are tab-separated lines in a pipe; `--json` gives JSON.
- Messages go to standard error, in lines that begin with `noppa:`.
- Exit codes: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C, 143 ended by SIGTERM.
- `noppa --install-completion` sets up completion for bash, zsh, fish and PowerShell.
- `NOPPA_THREADS` limits the threads, `NOPPA_HOME` is the folder for downloads, `NOPPA_ISA` selects an instruction set.
"""


def page() -> str:
    """Return docs/cli.md."""
    commands = dict(walk(typer.main.get_command(program()), "noppa"))
    lines = [
        HEAD,
        "## Reading files",
        "",
        "Every command that reads files of records also takes:",
        "",
    ]
    lines += option_table(commands["noppa encode"], READING)
    for name, command in commands.items():
        about, examples = split_help(command)
        names = {parameter.name for parameter in command.params}
        own = names - READING if names >= READING else names
        more = " Reads files as described above." if names >= READING else ""
        lines += ["", f"## {name}", "", f"{about}{more}", ""]
        lines += [f"    {example}" for example in examples]
        table = option_table(command, own)
        lines += ["", *table] if len(table) > 2 else []
    return "\n".join(lines) + "\n"


def walk(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the name and the command of everything that can be run and is not hidden."""
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if not hasattr(command, "commands") or command.invoke_without_command:
            yield f"{path} {name}", command
        if hasattr(command, "commands"):
            yield from walk(command, f"{path} {name}")


def split_help(command: Any) -> tuple[str, list[str]]:
    """Return the description of a command and its examples."""
    about, _, examples = " ".join(command.help.split()).partition("Example")
    found = [part.strip() for part in examples.removeprefix("s").lstrip(": ").split("noppa ")]
    found = [f"noppa {part}" for part in found if part]
    assert found, f"{command.name} has no example"
    return about.strip(), found


def option_table(command: Any, names: set[str]) -> list[str]:
    """Return a table of the named arguments and options."""
    rows = ["| option | what it does |", "|---|---|"]
    for parameter in command.params:
        if parameter.name == "help" or parameter.name not in names:
            continue
        options = [*parameter.opts, *parameter.secondary_opts]
        if not options[0].startswith("-"):
            options = [options[0].upper()]
        rows.append(f"| {', '.join(f'`{option}`' for option in options)} | {describe(parameter)} |")
    return rows


def describe(parameter: Any) -> str:
    """Return the help of a parameter, with its default if it is a plain value."""
    about = " ".join((parameter.help or "").split()).replace("|", "\\|")
    default = parameter.default
    if getattr(parameter, "show_default", False) is False or callable(default):
        return about
    is_plain = isinstance(default, (str, int, float)) and not isinstance(default, bool)
    return f"{about} Default: `{default}`." if is_plain and default != "" else about


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
