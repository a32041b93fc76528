"""docs/noppa.1, the man page, made of the help texts of all commands.

python -m tests.man_page   # write it anew: `make man`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from noppa.cli import program
from tests.command_page import HEAD, READING, commands_of, explained, help_of, reads_files

FILE = Path(__file__).resolve().parent.parent / "docs" / "noppa.1"
#: The sections of the same facts that open docs/cli.md.
FACTS = [line.split("\n## ")[0] for line in HEAD.split("\n- ")[1:]]


def page() -> str:
    """The man page."""
    root = typer.main.get_command(program())
    entries = list(commands_of(root, "noppa"))
    lines = [
        '.TH NOPPA 1 "" noppa "User Commands"',
        ".SH NAME",
        f"noppa \\- {_escaped(str(root.help).rstrip('.').lower())}",
        ".SH SYNOPSIS",
        ".B noppa",
        r"\fICOMMAND\fR [\fIARGUMENT\fR ...] [\fIOPTION\fR ...]",
        ".SH DESCRIPTION",
        *(line for fact in FACTS for line in (".IP \\(bu 3", _escaped(fact))),
        ".SH OPTIONS",
        *_options(root, set(), False),
        ".SH READING FILES",
        "Every command that reads files of records takes these too.",
        *_options(dict(entries)["noppa encode"], READING, True),
        ".SH COMMANDS",
    ]
    for name, command in entries:
        about, examples = help_of(command)
        more = " Files are read as above." if reads_files(command) else ""
        lines += [f".SS {_escaped(name)}", _escaped(about + more), ".PP", ".nf"]
        lines += [f"    {_escaped(example)}" for example in examples]
        lines += [".fi", *_options(command, READING if more else set(), False)]
    return "\n".join(lines) + "\n"


def _options(command: Any, names: set[str], chosen: bool) -> Iterator[str]:
    for parameter in command.params:
        if parameter.name == "help" or (parameter.name in names) != chosen:
            continue
        options = [*parameter.opts, *parameter.secondary_opts]
        if not options[0].startswith("-"):
            options = [options[0].upper()]
        shown = ", ".join(f"\\fB{_escaped(one)}\\fR" for one in options)
        yield from (".TP", shown, _escaped(explained(parameter)) or "\\&")


def _escaped(markdown: str) -> str:
    """Text of the help as roff: one line, names in backticks bold, links as their words."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(markdown.split()))
    text = text.replace("\\|", "|").replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"`([^`]*)`", r"\\fB\1\\fR", text)
    return f"\\&{text}" if text[:1] in (".", "'") else text


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
