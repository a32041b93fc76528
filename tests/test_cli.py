"""The command line as a whole: its commands, its version, what a mistake gets."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import noppa
from noppa.cli import COMMANDS, program
from noppa.cli.encoder_options import method_of
from noppa.errors import ParameterError
from noppa.methods import registry


def names(app):
    return list(typer.main.get_command(app).commands)


@pytest.mark.parametrize("module", COMMANDS)
def test_the_table_names_what_a_module_has(module):
    app = typer.Typer()
    app.callback()(lambda: None)
    import_module(f"noppa.cli.{module}").register(app)
    assert tuple(names(app)) == COMMANDS[module]


@pytest.mark.parametrize("command", [name for commands in COMMANDS.values() for name in commands])
def test_a_command_is_the_same_alone_and_among_all(command):
    alone, among = (
        CliRunner().invoke(app, [command, "--help"]) for app in (program(command), program())
    )
    assert alone.exit_code == 0
    assert alone.output == among.output
    assert command in alone.output


def test_version():
    told = CliRunner().invoke(program(), ["--version"])
    assert (told.exit_code, told.output) == (0, noppa.__version__ + "\n")


def test_no_command_is_help_and_a_wrong_one_is_a_suggestion():
    commands = typer.main.get_command(program()).commands
    shown = [name for name, command in commands.items() if not command.hidden]
    assert all(name in CliRunner().invoke(program(), []).output for name in shown)
    assert set(commands) - set(shown) == {"clusters"}  # which says what else may be meant
    told = CliRunner().invoke(program("encod"), ["encod"])
    assert told.exit_code == 2
    assert "Did you mean 'encode'" in told.output


def test_a_command_loads_no_other():
    code = (
        "import sys; from noppa.cli import COMMANDS, program; program('info');"
        "print([name for name in COMMANDS if f'noppa.cli.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"['info']\n"


def test_two_texts_are_compared_without_typer(tmp_path):
    texts = ["a girl eats \u202e", "the girl is eating"]
    (tmp_path / "typer.py").write_text("raise ImportError('typer was imported')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-c", "from noppa_command import main; main()", "similarity", *texts]
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    quick = run(command, env={**os.environ, "PYTHONPATH": path})
    assert (quick.returncode, quick.stderr) == (0, "")
    assert quick.stdout == CliRunner().invoke(program(), ["similarity", *texts]).output
    other = run([*command, "--json"], env={**os.environ, "PYTHONPATH": path})
    assert (other.returncode, other.stderr) == (1, "noppa: typer was imported\n")


@pytest.mark.found(
    "outside review", "fit -p attend_self=false saved an encoder that could not encode"
)
def test_parameters_of_the_command_line_have_the_type_of_their_field() -> None:
    pairs = [
        "attend_self=false",
        "unknown_takes_position=True",
        "a=none",
        "k=0",
        "parts=context, dct2",
        "kernel=abs",
        "max_tokens=7",
        "pair_columns=(2, 5)",
    ]
    assert method_of("noppa", pairs) == noppa.NoPPA(
        a=None, k=0, kernel="abs", parts=("context", "dct2"), attend_self=False, unknown_takes_position=True, max_tokens=7,
        pair_columns=(2, 5),
    )  # fmt: skip
    assert method_of("noppa", ["parts=['word', 'max']", "a=1e-3"]) == noppa.NoPPA(
        a=1e-3, parts=("word", "max")
    )
    for pair, told in {
        "attend_self=maybe": "attend_self must be True or False, not 'maybe'",
        "parts=dct99999999999": "parts must be some of context",
        "pair_columns=5": "pair_columns must be .start, stop.",
        "k=1e3": "k must be a whole number from 0 on, not '1e3'",
        "a=" + "9" * 5000: "a .* must be a number",
        "b": "give name=value with a name from a, k",
    }.items():
        with pytest.raises(ParameterError, match=told):
            method_of("noppa", [pair])
    with pytest.raises(ParameterError, match="the method has no parameter"):
        method_of("average", ["k=1"])


def test_a_method_of_the_user_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its parameters have the types of their annotations, or of their defaults."""
    (tmp_path / "users_module.py").write_text(
        "class Power:\n"
        "    def __init__(self, exponent: float = 1, times=2):\n"
        "        self.exponent, self.times = exponent, times\n"
        "    def pool(self, vectors, weights):\n"
        "        return self.times * (vectors**self.exponent).mean(axis=0)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    monkeypatch.setattr(registry, "METHODS", dict(registry.METHODS))
    method = method_of("users_module:Power", ["exponent=2", "times=3"])
    assert (method.exponent, method.times) == (2.0, 3)
    words = noppa.WordVectors(["a", "cake"], [[1.0, 2.0], [3.0, 4.0]])
    assert noppa.Encoder(words, method).encode("a cake").tolist() == [15.0, 30.0]
    with pytest.raises(ParameterError, match="with a name from exponent, times"):
        method_of("users_module:Power", ["power=2"])
