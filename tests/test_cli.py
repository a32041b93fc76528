"""Run commands: options, tables, JSON, explanations, help and completion."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import Average, Encoder, NoPPA, WordVectors
from noppa.cli import COMMANDS, in_shell_words, main
from noppa.cli.options import input_files, parse_method
from noppa.encoder import embedded
from noppa.errors import ParameterError
from tests.command import run_command
from tests.conftest import made_texts, made_words
from tools.command_page import PAGE, page

MODEL = Encoder(WordVectors(["a", "cake", "girl"], np.eye(3), [0.5, 0.3, 0.2]), Average())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MODEL.save("model")
    Path("r.csv").write_text("id;title;text\n7;a, b;cake\n8;;a girl\n9;c\n")
    Path("t.txt").write_text("a cake\ngirl\n")
    Path("glove.txt").write_text("a 1 0\ngirl 0.9 0.1\ncake 0 1\n")
    return tmp_path


# The program


def test_version_help_and_wrong_commands():
    assert run_command("--version").output == noppa.__version__ + "\n"
    assert all(f" {name} " in run_command("").output for name in COMMANDS)
    wrong = run_command("encod")
    assert (wrong.code, "Did you mean 'encode'" in wrong.errors) == (2, True)


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_h_is_help(command):
    done = run_command(f"{command} -h")
    assert done.code == 0
    assert f"Usage: noppa {command}".strip() in done.output


def test_the_page_of_commands_is_generated():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.command_page"


def test_a_start_imports_nothing_that_the_command_does_not_need():
    code = (
        "import sys; from noppa.cli import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in sys.modules if name.startswith("
        "('rich', 'pyarrow', 'noppa.search', 'noppa.cli.e', *sys.argv[1:2]))])"
    )
    for arguments, unneeded in ((["a", "cake"], "typer"), (["a", "cake", "-m", "model"], "-")):
        command = [
            sys.executable,
            "-c",
            code.replace("*sys.argv[1:2]", f"{unneeded!r}"),
            "similarity",
        ]
        done = subprocess.run([*command, *arguments], capture_output=True, check=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("noppa enc", "encode"),
        ("noppa encode --norm", "--normalize"),
        ("noppa vectors near", "nearest"),
        ("noppa index comp", "compact"),
    ],
)
def test_completion(words, expected, monkeypatch, capsys):
    monkeypatch.setenv("_NOPPA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setattr(sys, "argv", ["noppa"])
    monkeypatch.setattr("noppa.cli._exit_on_signals", lambda: None)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.split() == [expected]


def test_messages_name_options_instead_of_arguments():
    message = "t.txt, line 2 is bad: fix it, or pass on_error='skip'; normalize=True, other='x'"
    assert in_shell_words(message, "encode") == (
        "t.txt, line 2 is bad: fix it, or pass --on-error skip; --normalize, other='x'"
    )
    assert in_shell_words("pass column=, one of id, body", "encode") == (
        "pass --column, one of id, body"
    )
    assert in_shell_words("threshold must be a number", "dedupe").startswith("--threshold must")
    assert in_shell_words("threshold must be a number", "encode").startswith("threshold must")


# Inputs


def test_settings_of_the_input_format():
    source = input_files(["r.csv"], "text", "csv:delimiter=;,header=no,encoding=cp1252")
    assert (source.delimiter, source.header, source.encoding) == (";", False, "cp1252")
    assert input_files(["r.csv"], None, "tsv:delimiter=tab").delimiter == "\t"
    Path("latin.csv").write_bytes("text|n\ncaké|1\n".encode("cp1252"))
    done = run_command("keywords latin.csv --from csv:delimiter=|,encoding=cp1252 --each")
    assert (done.code, done.output) == (0, "caké\n")


# Columns to keep


def rows_of(path):
    if path.endswith(".jsonl"):
        return [json.loads(line) for line in Path(path).read_text().splitlines()]
    if path.endswith(".parquet"):
        import pyarrow.parquet as parquet

        return parquet.read_table(path).to_pylist()
    return list(csv.DictReader(Path(path).read_text().splitlines()))


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_columns_are_kept(form):
    done = run_command(f"encode r.csv -m model --on-error skip --keep title,id -o v.{form}")
    assert done.code == 0, done.errors
    assert "1 of 3 records were bad and skipped" in done.errors
    rows = rows_of(f"v.{form}")
    assert [str(row["record"]) for row in rows] == ["1", "2"]
    assert [(row["id"], row["title"]) for row in rows] == [("7", "a, b"), ("8", "")]
    assert list(rows[0])[:3] == ["record", "title", "id"]
    if form != "csv":
        assert [row["vector"] for row in rows] == [[0, 1, 0], [0.5, 0, 0.5]]
    done = run_command(f"encode r.csv -m model --on-error empty --keep all -o all.{form}")
    assert done.code == 0, done.errors
    assert [row["text"] or "" for row in rows_of(f"all.{form}")] == ["cake", "a girl", ""]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_kept_columns_have_the_types_of_json(form):
    lines = [{"text": "cake", "n": 1, "tags": ["x"]}, {"text": "a", "n": None, "tags": None}]
    Path("t.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run_command(f"encode t.jsonl -m model --keep all -o v.{form}").code == 0
    rows = rows_of(f"v.{form}")
    assert [row["n"] for row in rows] == [1, None]
    assert rows[0]["tags"] == (["x"] if form == "jsonl" else '["x"]')


# Tables in a pipe and as JSON

TABLES = {
    "similarity 'a cake' girl -m model": lambda found: round(found["cosines"][0][0], 5) == 1,
    "similarity 'a cake' girl a -m model": lambda found: len(found["cosines"]) == 3,
    "explain 'a cake' -m model": lambda found: found["tokens"] == ["a", "cake"],
    "info -m model": lambda found: found["dim"] == "3",
    "topics t.txt -m model --outliers 1": lambda found: set(found) == {"score", "record", "text"},
    "keywords t.txt -n 1": lambda found: found["text"] in ("cake", "girl"),
    "topics t.txt -m model": lambda found: found["texts"] == 2,
    "search t.txt girl -m model -n 1": lambda found: found["text"] == "girl",
    "vectors info model/words": lambda found: found["words"] == "3",
    "vectors nearest model/words girl -n 1": lambda found: found["cosine"] == 0,
    "vectors coverage model/words t.txt": lambda found: found["known_tokens"] == 3,
}


@pytest.mark.parametrize("command", TABLES)
def test_tables_as_json(command):
    done = run_command(f"{command} --json")
    assert done.code == 0, done.errors
    [line] = done.output.splitlines()
    assert TABLES[command](json.loads(line)), line


def test_a_table_in_a_pipe_is_plain():
    done = run_command("similarity 'a cake' girl 'a\tgirl' -m model")
    assert done.output.splitlines() == [
        "\t1\t2\t3\ttext",
        "1\t1.000\t0.000\t0.500\ta cake",
        "2\t0.000\t1.000\t0.707\tgirl",
        "3\t0.500\t0.707\t1.000\ta girl",
    ]


@pytest.mark.parametrize(
    "command",
    [
        "fit t.txt -v glove.txt --ranks -p k=0 -o there",
        "index t.txt -m model -o there",
        "topics t.txt -m model -o there.json",
        "explain cake -m model -o there.json",
        "vectors counts t.txt -o there.json",
        "export model --to word2vec -o there.bin",
    ],
)
def test_a_note_says_that_an_output_is_replaced(command):
    assert "replaced" not in run_command(command).errors
    again = run_command(command)
    assert again.code == 0, again.errors
    name = command.split()[-1]
    assert again.errors.count(f"noppa: {name} exists and will be replaced\n") == 1


# Methods and their parameters


def test_fit_works_on_the_embedded_words():
    Path("many.txt").write_text("the girl is here\nthe sea is here\nthe cake is here\n")
    assert run_command("fit many.txt -m small -o fitted").code == 0
    assert noppa.load("fitted").dim == noppa.load("small").dim
    assert run_command("fit many.txt --method sif -p components=1 -o sif").code == 0
    assert noppa.load("sif").words.dim == noppa.load().words.dim


def test_parameters_have_the_type_of_their_field():
    pairs = ["attend_self=false", "a=none", "k=0", "parts=context, dct2", "max_tokens=7", "pair_columns=(2, 5)"]  # fmt: skip
    assert parse_method("noppa", pairs) == NoPPA(
        a=None, k=0, parts=("context", "dct2"), attend_self=False, max_tokens=7, pair_columns=(2, 5)
    )
    for pair, message in {
        "attend_self=maybe": "attend_self must be True or False",
        "parts=dct99999999999": "parts must be",
        "k=1e3": "k must be a whole number",
        "a=" + "9" * 5000: "a must be a number",
        "b": "give name=value with a name from a, k",
    }.items():
        with pytest.raises(ParameterError, match=message):
            parse_method("noppa", [pair])
    with pytest.raises(ParameterError, match="the method has no parameters"):
        parse_method("average", ["k=1"])


# Explanations


@pytest.fixture
def noppa_model():
    words = made_words()
    Encoder(words, NoPPA(k=1)).fit(made_texts(60, words)).save("noppa")
    return noppa.load("noppa")


def test_an_explanation_in_a_pipe(noppa_model):
    done = run_command("explain 'the girl zzqx' -m noppa")
    head, *rows = (line.split("\t") for line in done.output.splitlines())
    assert head[:3] == ["token", "known", "position"]
    assert [row[:3] for row in rows[:3]] == [
        ["the", "yes", "0"],
        ["girl", "yes", "1"],
        ["zzqx", "no", "none"],
    ]
    shares = noppa_model.explain("the girl zzqx").shares
    assert [float(row[4]) for row in rows[:3]] == pytest.approx(shares, abs=1e-6)
    assert rows[3][0].startswith("# NoiseRemoval(k=1, variant='paper') removed")
    assert "\x1b" not in done.output


@pytest.mark.parametrize(
    ("name", "start"),
    [("it.png", b"\x89PNG"), ("it.svg", b"<svg"), ("it.html", b"<!doctype"), ("it.json", b"{")],
)
def test_pictures(noppa_model, name, start):
    for more in ("", "--against 'a cake'"):
        done = run_command(f"explain 'the girl eats' -m noppa -o {name} {more}")
        assert (done.code, done.output) == (0, ""), done.errors
        assert Path(name).read_bytes().startswith(start)


# The state of the installation


def test_info_checks_the_installation():
    done = run_command("info --check --json")
    facts = json.loads(done.output)
    assert (done.code, facts["problems"]) == (0, "none")
    for preset in embedded.presets():
        assert facts[f"preset {preset}"].startswith("works, dim ")
    assert facts["extra parquet"] == "installed"


def test_info_reports_a_damaged_model_and_a_missing_folder(monkeypatch, tmp_path):
    shutil.copytree(embedded.FOLDER, tmp_path / "embedded")
    array = max((tmp_path / "embedded").rglob("*.npy"), key=lambda path: path.stat().st_size)
    content = bytearray(array.read_bytes())
    content[len(content) // 2] ^= 1
    array.write_bytes(content)
    monkeypatch.setattr(embedded, "FOLDER", tmp_path / "embedded")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    done = run_command("info --check --json")
    facts = json.loads(done.output)
    assert done.code == 1
    assert "checksum" in facts["preset default"]
    assert any("pip install" in problem for problem in facts["problems"])
    assert any("TMPDIR" in problem for problem in facts["problems"])


def test_commands_run_where_the_output_is_not_utf8():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-c", "from noppa.cli import main; main()", "similarity", "é", "caké", "b"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert rb"\xe9" in done.stdout
