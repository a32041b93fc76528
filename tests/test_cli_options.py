"""Options that many commands share: columns to keep, JSON in place of tables, help, completion; what is said at the end."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import Average, Encoder, WordVectors
from noppa.cli import COMMANDS, main
from tests.command import run_command
from tools.command_page import PAGE, page

MODEL = Encoder(WordVectors(["a", "cake", "girl"], np.eye(3), [0.5, 0.3, 0.2]), Average())


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MODEL.save("model")
    Path("r.csv").write_text("id;title;text\n7;a, b;cake\n8;;a girl\n9;c\n")
    Path("t.txt").write_text("a cake\ngirl\n")
    return tmp_path


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
    rows = rows_of(f"v.{form}")
    assert [str(row["record"]) for row in rows] == ["1", "2"]
    assert [(row["id"], row["title"]) for row in rows] == [("7", "a, b"), ("8", "")]
    assert list(rows[0])[:3] == ["record", "title", "id"]
    assert "text" not in rows[0]
    if form != "csv":
        assert [row["vector"] for row in rows] == [[0, 1, 0], [0.5, 0, 0.5]]
    done = run_command(f"encode r.csv -m model --on-error empty --keep-all -o all.{form}")
    assert done.code == 0, done.errors
    assert [row["text"] or "" for row in rows_of(f"all.{form}")] == ["cake", "a girl", ""]


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_kept_columns_have_the_types_of_json(form):
    lines = [{"text": "cake", "n": 1, "tags": ["x"]}, {"text": "a", "n": None, "tags": None}]
    Path("t.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert run_command(f"encode t.jsonl -m model --keep-all -o v.{form}").code == 0
    rows = rows_of(f"v.{form}")
    assert [row["n"] for row in rows] == [1, None]
    assert rows[0]["tags"] == (["x"] if form == "jsonl" else '["x"]')


def test_a_column_that_changes_its_type_is_named(monkeypatch):
    monkeypatch.setattr("noppa.files.record_formats.lines.PIECE", 8)
    Path("t.jsonl").write_text('{"text": "a", "n": 1}\n{"text": "a", "n": "x"}\n')
    done = run_command("encode t.jsonl -m model --keep n -o v.parquet")
    assert done.code == 1
    assert "the column 'n' began with values of type int64" in done.errors
    assert "write .jsonl" in done.errors
    done = run_command("encode t.jsonl -m model --keep n -o v.jsonl")
    assert [row["n"] for row in rows_of("v.jsonl")] == [1, "x"]


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_kept_columns_are_resumed(form, monkeypatch):
    """Byte by byte, also where the columns are all that there are."""
    monkeypatch.setattr("noppa.files.encode_stream.SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr("noppa.files.record_formats.tables.ROWS", 2)
    lines = "".join(f'{at},"a ""cake"" {at}"\n' for at in range(40))
    Path("long.csv").write_text("id,text\n" + lines)
    assert run_command(f"encode long.csv -m model --keep-all -o whole.{form}").code == 0

    from noppa.files.encode_stream import EncodeStream

    real = EncodeStream.rows_of

    def stopping(self, batch):
        if self.outcome.records >= 20 and self._saved and self._saved.result() is None:
            raise KeyboardInterrupt
        return real(self, batch)

    monkeypatch.setattr(EncodeStream, "rows_of", stopping)
    stopped = run_command(f"encode long.csv -m model --keep-all -o v.{form} --resume")
    assert (stopped.code, stopped.errors) == (
        130,
        "noppa: interrupted: what was done is kept for --resume\n",
    )
    monkeypatch.setattr(EncodeStream, "rows_of", real)
    done = run_command(f"encode long.csv -m model --keep-all -o v.{form} --resume")
    assert done.code == 0, done.errors
    assert Path(f"v.{form}").read_bytes() == Path(f"whole.{form}").read_bytes()


# Tables in a pipe and as JSON

TABLES = {
    "similarity 'a cake' girl -m model": lambda found: round(found["cosines"][0][0], 5) == 1,
    "similarity 'a cake' girl a -m model": lambda found: len(found["cosines"]) == 3,
    "explain 'a cake' -m model": lambda found: found["tokens"] == ["a", "cake"],
    "info -m model": lambda found: found["dim"] == "3",
    "doctor": lambda found: found["broken"] == 0,
    "outliers t.txt -m model -n 1": lambda found: set(found) == {"score", "record", "text"},
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


def test_compare_reads_any_file_and_prints_plain_lines():
    rows = [("good cake", "x"), ("a girl", "y")] * 10
    Path("c.csv").write_bytes(
        ("text;label\n" + "".join(f"{a} é;{b}\n" for a, b in rows)).encode("cp1252")
    )
    Path("glove.txt").write_text("a 1 0\ngirl 0.9 0.1\ncake 0 1\n")
    base = "compare c.csv --text text --label label -v glove.txt --method average --jobs 1 --encoding cp1252"
    done = run_command(base)
    assert done.code == 0, done.errors
    head, line, advice = done.output.splitlines()
    assert head.split("\t") == ["method", "accuracy %", "± error", "µs a text", "dim"]
    assert line.split("\t")[0].startswith("Average")
    assert advice.startswith("Take Average")
    found = json.loads(run_command(f"{base} --json").output)
    assert found["choice"] == found["lines"][0]["name"]


# What is said


def test_a_summary_ends_encode():
    done = run_command("encode t.txt -m model -o v.npy")
    assert re.fullmatch(
        r"noppa: v.npy: 2 rows, 0 of 3 tokens unknown \(0.0%\), \d+\.\d s\n", done.errors
    )


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
def test_an_output_that_is_replaced_is_said(command):
    Path("glove.txt").write_text("a 1 0\ngirl 0.9 0.1\ncake 0 1\n")
    assert "replaced" not in run_command(command).errors
    again = run_command(command)
    assert again.code == 0, again.errors
    name = command.split()[-1]
    assert again.errors.count(f"noppa: {name} exists and will be replaced\n") == 1


def test_one_name_for_leaving_bad_records_out():
    Path("t.txt").write_bytes(b"cake\n\xff\n")
    for command in ("encode t.txt -m model", "cluster encode t.txt -m model --engine single"):
        kind = "out" if "cluster" in command else "v.npy"
        done = run_command(f"{command} --on-error skip -o {kind}")
        assert done.code == 0, done.errors
        assert "1 of 2 records were bad and skipped" in done.errors


def test_fit_works_on_the_embedded_words():
    Path("many.txt").write_text(
        "".join(f"the {word} is here\n" for word in ("girl", "sea", "cake"))
    )
    done = run_command("fit many.txt -m small -o fitted")
    assert done.code == 0, done.errors
    assert noppa.load("fitted").dim == noppa.load("small").dim
    done = run_command("fit many.txt --method sif -p components=1 -o sif")
    assert done.code == 0, done.errors
    assert noppa.load("sif").words.dim == noppa.load().words.dim


# Help and completion


@pytest.mark.parametrize("command", ["", *(name for names in COMMANDS.values() for name in names)])
def test_h_is_help(command):
    if command == "clusters":
        return  # is no command
    done = run_command(f"{command} -h")
    assert done.code == 0
    assert f"Usage: noppa {command}".strip() in done.output


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("noppa enc", "encode"),
        ("noppa encode --keep-", "--keep-all"),
        ("noppa vectors near", "nearest"),
        ("noppa index comp", "compact"),
    ],
)
def test_completion(words, expected, monkeypatch, capsys):
    monkeypatch.setenv("_NOPPA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setattr(sys, "argv", ["noppa"])
    monkeypatch.setattr("noppa.cli._unwind_on_signals", lambda: None)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.split() == [expected]


def test_a_start_imports_nothing_heavy():
    """`noppa similarity` in a pipe needs no tables of rich, and no reader of records."""
    code = (
        "import sys; sys.argv = ['noppa', 'similarity', 'a', 'cake', '-m', 'model']\n"
        "from noppa_command import main\n"
        "try: main()\n"
        "except SystemExit: print([name for name in sys.modules if name.startswith(('rich', 'noppa.files', 'noppa.search', 'pyarrow'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ}
    )
    assert done.stdout.decode().splitlines()[-1] == "[]"


def test_the_page_of_commands_is_what_they_say_of_themselves():
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tools.command_page"
