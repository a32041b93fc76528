"""Run encode, fit and vectors as processes, and check their output, files and exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import noppa
from noppa import Encoder, NoPPA, WordVectors
from tests.runs import PATIENCE, wait_until

WORDS = ["the", "girl", "eats", "a", "cake", "</s>"]
MATRIX = np.random.default_rng(2).normal(size=(6, 8)).astype(np.float32)
MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]


def run(*arguments, given=b"", **environment):
    return subprocess.run(
        [*MAIN, *map(str, arguments)],
        input=given,
        capture_output=True,
        env={**os.environ, "COLUMNS": "400", "NO_COLOR": "1", **environment},
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture
def model(tmp_path):
    words = WordVectors(WORDS, MATRIX, [0.4, 0.1, 0.1, 0.2, 0.1, 0.1])
    Encoder(words, NoPPA(k=0)).save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(WORDS, MATRIX, strict=True)]
    path.write_text("".join(lines))
    return path


# encode


def test_pipe_is_one_line_in_one_line_out(model):
    done = run("encode", "-", "-m", model, given="a cake\n\nthe girl\r\nzzqx\na\u2028girl".encode())
    assert done.returncode == 0
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["record"] for row in rows] == [1, 2, 3, 4, 5]
    expected = noppa.load(model).encode(["a cake", "the girl", "a\u2028girl"])
    np.testing.assert_array_equal(np.float32([rows[at]["vector"] for at in (0, 2, 4)]), expected)
    zeros, summary = done.stderr.decode().splitlines()
    assert zeros == "noppa: 2 of 5 texts have no known word and became rows of zeros"
    assert summary.startswith("noppa: standard output: 5 rows, 1 of 7 tokens unknown (14.3%), ")


def test_lines_come_out_while_the_pipe_is_open(model):
    process = subprocess.Popen(
        [*MAIN, "encode", "-m", str(model)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        process.stdin.write(b"a cake\n")
        process.stdin.flush()
        assert b'"record": 1' in process.stdout.readline()
    finally:
        process.communicate()
    assert process.returncode == 0


def test_closed_pipe_is_quiet(model, tmp_path):
    (tmp_path / "t.txt").write_text("a cake\n" * 50000)
    command = " ".join(f"'{part}'" for part in MAIN)
    done = subprocess.run(
        f"{command} encode {tmp_path}/t.txt -m {model} | head -1",
        shell=True,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.stdout.count(b"\n") == 1
    assert b"Traceback" not in done.stderr


#: The command writes a checkpoint at once, and gets no further than its fourth batch, however late it is interrupted.
HELD = """
import time

from noppa.cli import main
from noppa.files import job

job.SECONDS_BETWEEN_CHECKPOINTS = -1.0
select, batches = job.Job._select, []


def held_select(self, batch, outcome):
    batches.append(batch)
    while len(batches) > 3:
        time.sleep(0.1)
    return select(self, batch, outcome)


job.Job._select = held_select
main()
"""


def started(model, source, target, *more):
    """Start a run that stops after its first checkpoint."""
    command = [sys.executable, "-c", HELD, "encode", source, "-m", model, "-o", target, *more]
    process = subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE)
    checkpoint = target.with_name(f".{target.name}.checkpoint")
    wait_until(lambda: checkpoint.exists() or process.poll() is not None)
    return process


@pytest.fixture
def long(tmp_path):
    """Write a file of eight batches."""
    path = tmp_path / "long.txt"
    path.write_bytes(b"".join(b"the girl %d eats a cake\n" % at for at in range(80_000)))
    return path


def test_ctrl_c_while_a_pipe_is_silent(model):
    process = subprocess.Popen(
        [*MAIN, "encode", "-m", str(model)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        process.stdin.write(b"a cake\n")
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
        assert process.stderr.read() == b"noppa: interrupted\n"
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("more", [[], ["--resume"]])
def test_ctrl_c(model, tmp_path, long, more):
    process = started(model, long, tmp_path / "v.npy", *more)
    process.send_signal(signal.SIGINT)
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"interrupted" in message
    assert b"Traceback" not in message
    left = {path.name for path in tmp_path.iterdir()} - {"model", "long.txt"}
    assert left == ({".v.npy.partial", ".v.npy.checkpoint"} if more else set())


def test_killed_and_resumed_is_byte_identical(model, tmp_path, long):
    process = started(model, long, tmp_path / "v.npy")
    process.kill()
    process.communicate()
    assert not (tmp_path / "v.npy").exists()
    assert run("encode", long, "-m", model, "-o", tmp_path / "v.npy", "--resume").returncode == 0
    assert run("encode", long, "-m", model, "-o", tmp_path / "whole.npy").returncode == 0
    assert (tmp_path / "v.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    again = run("encode", long, "-m", model, "-o", tmp_path / "v.npy", "--resume")
    assert again.returncode == 0, "a finished job has nothing left to do"


# fit


def test_fit(glove, tmp_path):
    (tmp_path / "counts.txt").write_text("the 50\ngirl 5\neats 3\na 40\n")
    (tmp_path / "t.txt").write_text("the girl eats\na cake\nthe cake\ngirl eats a cake\n")
    done = run(
        "fit", tmp_path / "t.txt", "-v", glove, "--counts", tmp_path / "counts.txt",
        "-p", "a=0.1", "-p", "k=1", "-p", "kernel=abs", "-o", tmp_path / "m",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    fitted = noppa.load(tmp_path / "m")
    assert fitted.method == NoPPA(a=0.1, k=1, kernel="abs")
    words = WordVectors.load(glove).with_counts(tmp_path / "counts.txt")
    with pytest.warns(match="too few"), pytest.warns(match="no count"):
        ours = Encoder(words, fitted.method).fit((tmp_path / "t.txt").read_text().splitlines())
    np.testing.assert_array_equal(fitted.encode(["a girl"]), ours.encode(["a girl"]))


# vectors


def test_convert_and_info(glove, tmp_path):
    assert run("vectors", "convert", glove, tmp_path / "v.bin").returncode == 0
    assert run("vectors", "convert", tmp_path / "v.bin", tmp_path / "folder").returncode == 0
    done = run("vectors", "convert", tmp_path / "folder", tmp_path / "again.txt")
    assert done.stdout.decode().endswith("again.txt: 6 words, 8 dimensions, float32\n")
    assert (tmp_path / "again.txt").read_text() == glove.read_text()
    message = run("vectors", "info", tmp_path / "v.bin").stdout.decode()
    assert "word2vec binary" in message
    assert "dimensions      8" in message
    (tmp_path / "keep").write_text("girl\ncake\n")
    run(
        "vectors",
        "convert",
        glove,
        tmp_path / "small",
        "--keep",
        tmp_path / "keep",
        "--dtype",
        "int8",
    )
    small = WordVectors.load(tmp_path / "small")
    assert (small.words, small.matrix.dtype) == (["girl", "cake"], np.int8)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


def test_nearest_coverage_and_counts(glove, tmp_path):
    lines = run("vectors", "nearest", glove, "cake", "-n", "2").stdout.decode().splitlines()
    unit = MATRIX[:5] / np.linalg.norm(MATRIX[:5], axis=1, keepdims=True)
    best = np.argsort(-(unit @ unit[4]))[1:3]
    assert [line.split("\t")[1] for line in lines] == [WORDS[at] for at in best]
    message = run("vectors", "coverage", glove, given=b"a zzqx cake\nzzqx\n").stdout.decode()
    assert "2 of 4 known (50.00%)" in message
    assert message.endswith("2\tzzqx\n")
    assert run("vectors", "counts", given=b"a cake a\nb\n").stdout == b"a 2\ncake 1\nb 1\n"
    assert run("vectors", "nearest", glove, "zzqx").returncode == 1
