"""No command overwrites its input, by whatever name or link."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from noppa import Average, Encoder, NoppaError, WordVectors
from noppa.cli import program
from noppa.files import Input, Job
from noppa.io.paths import refuse_input_as_output

MODEL = Encoder(WordVectors(["a", "cake"], np.eye(2), [0.5, 0.5]), Average())
TEXTS = "text\na cake\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MODEL.save("model")
    Path("r.csv").write_text(TEXTS)
    Path("glove.txt").write_text("a 1 0\ncake 0 1\n")
    Path("results.jsonl").write_text("{}\n")
    Path("symbolic.csv").symlink_to("r.csv")
    os.link("r.csv", "hard.csv")
    os.symlink(tmp_path, "round")
    return tmp_path


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    "command",
    [
        "encode r.csv -m model -o r.csv",
        "encode r.csv -m model -o ./round/r.csv",
        "encode r.csv -m model -o symbolic.csv",
        "encode symbolic.csv -m model -o r.csv",
        "encode hard.csv -m model -o r.csv",
        "encode glove.txt r.csv -m model -o r.csv --from csv",
        "encode glove.txt -m model -o glove.txt --to npy",
        "encode r.csv -m model -o model/noppa.json --to jsonl",
        "encode r.csv -m model -o model/words/matrix.npy",
        "fit r.csv -v glove.txt --ranks -p k=0 -o glove.txt",
        "fit r.csv -v model/words -p k=0 -o model",
        "fit model/noppa.json -v glove.txt --ranks -p k=0 -o model",
        "index r.csv -m model -o model",
        "index r.csv -m model -o r.csv",
        "explain cake -m model -o model/noppa.json",
        "export model --to safetensors -o model/words/matrix.safetensors",
        "paper figures -m model -o model/words",
        "distill model -o model --vocabulary glove.txt",
        "paper report results.jsonl -o results.jsonl",
        "paper score --data . --vectors glove.txt -o glove.txt",
        "encode r.csv -m model -o r.csv --engine dask",
        "encode r.csv -m model -o model --engine dask",
        "encode model/words -m model --from lines -o model --engine dask",
        "fit r.csv -m model --method sif -o model --engine dask",
    ],
)
def test_an_input_is_never_the_output(folder, command):
    before = contents(folder)
    result = CliRunner().invoke(program(), command.split())
    assert isinstance(result.exception, NoppaError), result.output
    assert "choose another output" in str(result.exception)
    assert contents(folder) == before


def test_standard_output_is_compared_too(folder):
    command = [sys.executable, "-c", "from noppa.cli import main; main()", "encode", "r.csv"]
    with Path("r.csv").open("ab") as file:  # as >> does: every row would become a record
        done = subprocess.run(
            [*command, "-m", "model"], stdout=file, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 1
    assert b"standard output goes to r.csv, which is an input" in done.stderr
    assert Path("r.csv").read_text() == TEXTS


def test_the_entry_from_python(folder):
    with pytest.raises(NoppaError, match="is an input"):
        Job(MODEL, Input(["r.csv"]), "symbolic.csv")
    with pytest.raises(NoppaError, match="is an input"):
        Job(MODEL, Input([".v.npy.partial"]), "v.npy")


def test_what_may_be_written(folder):
    refuse_input_as_output("new.csv", ["r.csv", None, "-", "model", "missing.txt"])
    refuse_input_as_output("-", ["r.csv", "/dev/null", "-"])
    refuse_input_as_output("model-2", ["model"])
