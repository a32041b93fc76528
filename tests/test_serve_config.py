"""Every option of `noppa serve` on the command line, in the environment and in a file; which counts first; mistakes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import noppa.serve.run
from noppa.cli import program
from noppa.cli.serve import serve
from noppa.cli.serve_config import KINDS, PREFIX, _kinds, options_of, unknown_variables
from noppa.errors import NoppaError
from noppa.serve.settings import Settings

#: A value of each kind that is no default, and options that take none of these.
VALUES = {bool: True, int: 77, float: 7.5, str: "other", Path: "keys.txt", list[str]: ["a", "b"]}
SPECIAL: dict[str, Any] = {
    "page": False, "normalize": False, "log_requests": False, "empty_input": "zero", "url_prefix": "/other",
    "max_body": 1000, "max_held": 1 << 30,
}  # fmt: skip
KIND_OF = {kind: VALUES[key] for key, kind in KINDS.items()}
OPTIONS = {name: SPECIAL.get(name, KIND_OF[kind]) for name, kind in _kinds(serve).items()}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[Any, ...]]:
    """What the server would be started with, run by run; in a folder with a file of keys."""
    runs: list[tuple[Any, ...]] = []

    def run(settings: Settings, *place: Any) -> None:
        facts = {name: value for name, value in vars(settings).items() if name != "session_key"}
        runs.append((facts, *place))

    monkeypatch.setattr(noppa.serve.run, "serve", run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.txt").write_text("key\n")
    return runs


def started(*arguments: str, environment: dict[str, str] | None = None) -> Any:
    result = CliRunner().invoke(program("serve"), ["serve", *arguments], env=environment)
    if isinstance(result.exception, NoppaError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def arguments_of(name: str, value: Any) -> list[str]:
    option = f"--{name.replace('_', '-')}"
    if name == "model":
        return [value]
    if isinstance(value, bool):
        return [option if value else option.replace("--", "--no-", 1)]
    return [part for one in (value if isinstance(value, list) else [value]) for part in (option, str(one))]  # fmt: skip


def variable(name: str, value: Any) -> dict[str, str]:
    text = " ".join(value) if isinstance(value, list) else str(value)
    return {f"{PREFIX}_{name}".upper(): text}


def toml(name: str, value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"{name.replace('_', '-')} = {text}\n"


def test_every_option_can_come_from_everywhere(asked: list[Any], tmp_path: Path) -> None:
    assert len(OPTIONS) > 30
    started()
    for name, value in OPTIONS.items():
        (tmp_path / "one.toml").write_text(toml(name, value))
        started(*arguments_of(name, value))
        started(environment=variable(name, value))
        started("--config", "one.toml")
        plain, *same = asked[0], *asked[-3:]
        assert same[0] == same[1] == same[2] != plain, name
    (tmp_path / "all.toml").write_text("".join(toml(*option) for option in OPTIONS.items()))
    started(environment={f"{PREFIX}_CONFIG": "all.toml"})
    started(*[part for option in OPTIONS.items() for part in arguments_of(*option)])
    assert asked[-1] == asked[-2]


def test_which_counts_first(asked: list[Any], tmp_path: Path) -> None:
    (tmp_path / "serve.toml").write_text(
        'port = 1\nmax-inputs = 1\nqueue = 1\ncors-origin = ["c"]\n'
    )
    environment = {"NOPPA_SERVE_PORT": "2", "NOPPA_SERVE_MAX_INPUTS": "2", "NOPPA_SERVE_QUEUE": ""}
    started("--config", "serve.toml", "--port", "3", environment=environment)
    settings, _, port, _ = asked[-1]
    assert (port, settings["max_inputs"], settings["queue"]) == (3, 2, 1)
    assert settings["origins"] == ("c",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot = 1", "'prot' is no option of noppa serve: did you mean 'port'"),
        ("max_input = 1", "did you mean 'max-inputs'"),
        ("[serve]\nport = 1", "'serve' is no option"),
        ("port = '1'", "port is '1': write a whole number"),
        ("port = true", "port is True: write a whole number"),
        ("page = 1", "page is 1: write true or false"),
        ("cors-origin = [1]", "write a list of strings"),
        ("config = 'x'", "'config' is no option"),
        ("port = ", "is not TOML"),
        ("empty-input = 'drop'", "--empty-input"),
    ],
)
def test_mistakes_in_a_file(asked: list[Any], tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "serve.toml").write_text(text)
    with pytest.raises(NoppaError, match=re.escape(told)):
        started("--config", "serve.toml")
    assert not asked


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    for name, told in (("latin.toml", "not UTF-8"), ("gone.toml", "No such file"), ("", "directory")):  # fmt: skip
        with pytest.raises(NoppaError, match=f"cannot be read: .*{told}"):
            options_of(tmp_path / name, serve)


def test_misspelt_variables_are_named() -> None:
    environment = {"NOPPA_SERVE_PROT": "1", "NOPPA_SERVE_PORT": "1", "NOPPA_SERVE_CONFIG": "x", "NOPPA_SERVE": "{}"}  # fmt: skip
    assert unknown_variables(serve, environment) == ["NOPPA_SERVE_PROT"]
