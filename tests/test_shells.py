"""Completion in real shells, and the man page: what `make test` installs bash's peers and mandoc for."""

from __future__ import annotations

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from noppa.cli import COMMANDS
from tests import man_page
from tests.command import run_command

LIMIT = 300
TYPED, COMPLETED = "noppa encode --keep-", "--keep-all"
CAPTURE = """
autoload -Uz compinit && compinit -u -D
source ./completion
show() { print -r -- "BUFFER=[$BUFFER]"; BUFFER= }
zle -N show
bindkey '^X' show
bindkey '^I' complete-word
print READY$((1 + 1))
"""


@pytest.fixture
def shell(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A shell that is there, with noppa first on the path and its completion script in the folder."""
    name = str(request.param)
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    program = tmp_path / "bin" / "noppa"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom noppa_command import main\nmain()\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as asking:
        asking.setenv("_NOPPA_COMPLETE", f"source_{name}")
        Path("completion").write_text(run_command("").output)
    return found


def lines_of(*command: str) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.parametrize("shell", ["bash"], indirect=True)
def test_bash(shell: str) -> None:
    words = f"COMP_WORDS=({TYPED}); COMP_CWORD={len(TYPED.split()) - 1}"
    ask = (
        f'source ./completion; {words}; _noppa_completion noppa; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    assert lines_of(shell, "-c", ask) == [COMPLETED]


@pytest.mark.parametrize("shell", ["fish"], indirect=True)
def test_fish(shell: str) -> None:
    found = lines_of(shell, "--no-config", "-c", f"source ./completion; complete -C '{TYPED}'")
    assert [line.split("\t")[0] for line in found] == [COMPLETED]


@pytest.mark.parametrize("shell", ["zsh"], indirect=True)
def test_zsh(shell: str) -> None:
    """zsh completes only what is typed on a terminal."""
    master, slave = pty.openpty()
    with subprocess.Popen(
        [shell, "-f", "-i"], stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    ) as process:
        os.close(slave)
        try:
            Path("start").write_text(CAPTURE)
            os.write(master, b"source ./start\n")
            read_until(master, "READY2")
            os.write(master, f"{TYPED}\t\x18".encode())
            read_until(master, f"BUFFER=[{TYPED.rpartition(' ')[0]} {COMPLETED} ]")
        finally:
            process.kill()
            os.close(master)


def read_until(terminal: int, wanted: str) -> None:
    """Read from a terminal until something stands in it."""
    shown, end = "", time.monotonic() + LIMIT
    while wanted not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0, end - time.monotonic()))
        assert ready, f"{wanted} never came: {shown}"
        shown += os.read(terminal, 65536).decode(errors="replace")


# The man page


def test_the_man_page_has_every_command_and_option() -> None:
    text = man_page.FILE.read_text(encoding="utf-8")
    assert text == man_page.page(), "run make man"
    for command in (name for names in COMMANDS.values() for name in names):
        assert f"\n.SS noppa {command}" in text or command == "clusters", command
    assert "\\-\\-keep\\-all" in text


@pytest.mark.parametrize("checker", ["mandoc", "man"])
def test_the_man_page_is_well_formed(checker: str) -> None:
    if shutil.which(checker) is None:
        pytest.skip(f"no {checker} here")
    if checker == "mandoc":
        told = subprocess.run(
            [checker, "-Tlint", "-Wwarning", str(man_page.FILE)], capture_output=True, text=True
        )
        lines = told.stdout.splitlines()
        assert len(lines) == 1
        assert "missing date" in lines[0]  # the page is of no day
        return
    shown = subprocess.run(
        [checker, "--warnings", "-E", "UTF-8", "-l", str(man_page.FILE)],
        capture_output=True,
        text=True,
        env={**os.environ, "MANWIDTH": "100", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"},
    )
    assert shown.returncode == 0
    assert shown.stderr == ""
    assert "noppa encode" in shown.stdout
