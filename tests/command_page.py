"""docs/cli.md, made of the help texts of all commands.

python -m tests.command_page   # write it anew
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from noppa.cli import program
from noppa.cli.record_options import Reading

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cli.md"
#: Options of every command that reads files: they are listed once.
READING = {field.name for field in fields(Reading)}

HEAD = """# The command line

Made of the help texts by `python -m tests.command_page`; a test compares. `noppa COMMAND -h` shows the same in a terminal.

- `-` is standard input or output, one record in is one row out, and records are numbered from 1 on.
- Tables are drawn on a terminal and are tab-separated lines in a pipe; `--json` gives JSON: one object, or one a line.
- What a command says goes to standard error, in lines that begin with `noppa:`. [mistakes.md](mistakes.md) lists what it says to mistakes.
- Exit codes: 0 done, 1 failed, 2 wrong usage, 130 ended by Ctrl-C, 143 ended by SIGTERM.
- `noppa --install-completion` lets bash, zsh, fish and PowerShell complete commands and options.
- `NOPPA_THREADS` bounds the threads, `NOPPA_HOME` is the folder for downloads, `NOPPA_ISA` chooses
  an instruction set, and `NOPPA_IMPORT` names modules that register methods. `noppa doctor` says what is in use.
"""


def page() -> str:
    """docs/cli.md."""
    root = typer.main.get_command(program())
    entries = list(commands_of(root, "noppa"))
    lines = [
        HEAD,
        "## Reading files",
        "",
        "Every command that reads files of records takes these too:",
        "",
        *_described(dict(entries)["noppa encode"], READING, True),
    ]
    for name, command in entries:
        about, examples = help_of(command)
        more = " Files are read as above." if reads_files(command) else ""
        lines += ["", f"## {name}", "", f"{about}{more}", ""]
        lines += [f"    {example}" for example in examples]
        described = _described(command, READING if reads_files(command) else set(), False)
        lines += ["", *described] if len(described) > 2 else []
    return "\n".join(lines) + "\n"


def commands_of(group: Any, path: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if command.hidden:
            continue
        if hasattr(command, "commands"):
            if command.invoke_without_command:
                yield f"{path} {name}", command
            yield from commands_of(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def reads_files(command: Any) -> bool:
    return {parameter.name for parameter in command.params} >= READING


def help_of(command: Any) -> tuple[str, list[str]]:
    """What a command does, and its examples."""
    about, _, examples = " ".join(command.help.split()).partition("Example")
    found = [one.strip() for one in examples.removeprefix("s").lstrip(": ").split("noppa ")]
    found = [f"noppa {one}" for one in found if one]
    assert found, f"{command.name} has no example"
    return about.strip(), found


def _described(command: Any, names: set[str], chosen: bool) -> list[str]:
    """A table of the arguments and options, of those that have these names or of all others."""
    rows = ["| option | what it does |", "|---|---|"]
    for parameter in command.params:
        if parameter.name == "help" or (parameter.name in names) != chosen:
            continue
        options = [*parameter.opts, *parameter.secondary_opts]
        is_option = options[0].startswith("-")
        shown = ", ".join(f"`{one}`" for one in options) if is_option else f"`{options[0].upper()}`"
        rows.append(f"| {shown} | {explained(parameter)} |")
    return rows


def explained(parameter: Any) -> str:
    """The help of a parameter, with its default where that says something."""
    about = " ".join((parameter.help or "").split()).replace("|", "\\|")
    default = parameter.default
    if getattr(parameter, "show_default", False) is False or callable(default):
        return about
    is_plain = isinstance(default, (str, int, float)) and not isinstance(default, bool)
    return f"{about} Default: `{default}`." if is_plain and default != "" else about


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
