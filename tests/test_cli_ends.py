"""End commands by signals and full disks, and show hostile text on a terminal."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys

import numpy as np
import pytest

from noppa import Average, Encoder, WordVectors
from noppa.cli.output import visible
from tests.command import run_command
from tests.runs import PATIENCE, wait_until

MAIN = [sys.executable, "-c", "from noppa.cli import main; main()"]
HOSTILE = "a cake \x1b]0;owned\x07\x1b[2J\x9b31m\u202e"
NAMED = r"a cake \x1b]0;owned\x07\x1b[2J\x9b31m\u202e"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Encoder(WordVectors(["a", "cake"], np.eye(2), [0.5, 0.5]), Average()).save("model")
    return tmp_path


def run(*arguments, **options):
    return subprocess.run(
        [*MAIN, *arguments],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE,
        check=False,
        **options,
    )


def on_a_terminal(*arguments):
    """Return what a command shows on a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*MAIN, *arguments], stdin=theirs, stdout=theirs, stderr=theirs,
        env={**os.environ, "COLUMNS": "200", "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 1 << 16):
            shown += part
    except OSError:  # the other end is closed
        pass
    process.wait(timeout=PATIENCE)
    os.close(ours)
    return shown.decode()


# Signals


@pytest.mark.parametrize(
    ("number", "more"),
    [(signal.SIGTERM, []), (signal.SIGTERM, ["--resume"]), (signal.SIGHUP, [])],
)
def test_a_request_to_end_tidies_up(folder, number, more):
    read, write = os.pipe()
    before = signal.signal(number, signal.SIG_DFL)  # under nohup it is ignored, in children too
    process = subprocess.Popen(
        [*MAIN, "encode", "-m", "model", "-o", "v.npy", *more], stdin=read, stderr=subprocess.PIPE
    )
    signal.signal(number, before)
    try:
        checkpoint = folder / ".v.npy.checkpoint"

        def reached() -> bool:
            os.write(write, b"a cake\n")
            return checkpoint.exists() or process.poll() is not None

        wait_until(reached)  # and there it waits for more, as the pipe stays open
        process.send_signal(number)
        _, message = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        os.close(read)
        os.close(write)
    assert process.returncode == 128 + number
    assert message.startswith(b"noppa: interrupted: ")
    assert b"Traceback" not in message
    left = {path.name for path in folder.iterdir()} - {"model"}
    assert left == ({".v.npy.partial", ".v.npy.checkpoint"} if more else set())


# Full and read-only disks


#: Runs commands in one process whose files end at 16 bytes, as on a full disk, each with an output folder of its own.
FULL = """
import json, os, resource, signal, sys
from typer.testing import CliRunner
from noppa.cli import program
from noppa.errors import NoppaError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True
results = []
app = program()
for at, command in enumerate(json.loads(sys.argv[1])):
    words = command.split()
    words[words.index("-o") + 1] = f"out{at}/" + words[words.index("-o") + 1]
    os.mkdir(f"out{at}")
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, resource.RLIM_INFINITY))
    result = CliRunner().invoke(app, words)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    results.append([command, result.exit_code, isinstance(result.exception, NoppaError), str(result.exception)])
print(json.dumps(results))
"""

COMMANDS = [
    "encode texts.txt -m model -o v.npy",
    "encode texts.txt -m model -o v.jsonl",
    "encode texts.txt -m model -o v.parquet",
    "explain cake -m model -o e.json",
    "explain cake -m model -o e.html",
    "explain cake -m model -o e.svg",
    "fit texts.txt -v glove.txt --ranks -p k=0 -o fitted",
    "index texts.txt -m model -o index",
    "export model --to safetensors -o e.safetensors",
    "export model --to word2vec -o e.bin",
    "export model --to model2vec -o e",
    "vectors counts texts.txt -o counts.txt",
    "paper report results.jsonl -o report.html",
]


def inputs(folder):
    (folder / "texts.txt").write_text("a cake is a cake\n" * 200)
    words = "".join(f"word{at} {at}.5 0.25\n" for at in range(300))
    (folder / "glove.txt").write_text("a 1 0\ncake 0 1\n" + words)
    (folder / "results.jsonl").write_text(
        '{"task": "CR", "encoder": "x", "score": 1.0, "protocol": "fast", "seed": 1, "parameters": {}}\n'
    )


def test_a_full_disk_is_one_sentence_and_leaves_nothing(folder):
    inputs(folder)
    done = subprocess.run(
        [sys.executable, "-c", FULL, json.dumps(COMMANDS)],
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    for at, (command, code, ours, message) in enumerate(json.loads(done.stdout)):
        assert code == 1, command
        assert ours, (command, message)
        assert "\n" not in message, (command, message)
        assert "File too large" in message, (command, message)
        left = [path for path in (folder / f"out{at}").rglob("*") if path.is_file()]
        assert not [path for path in left if path.stat().st_size], (command, left)


@pytest.mark.parametrize(
    "command",
    [
        "encode texts.txt -m model --to csv",
        "search texts.txt cake -m model --json",
        "similarity a cake -m model",
        "similarity a cake cake -m model --json",
        "explain cake -m model",
        "info",
        "topics texts.txt -m model --outliers 2",
        "dedupe texts.txt -m model",
        "vectors counts texts.txt",
        "vectors get",
        "index -h",
        "--version",
    ],
)
def test_a_full_device_is_one_sentence(folder, command):
    inputs(folder)
    done = run_command(command, device="/dev/full")
    assert done.code == 1, done
    assert "No space left on device" in done.errors.splitlines()[-1], done
    assert "Traceback" not in done.errors


# A terminal


def test_search_shows_control_characters(folder):
    (folder / "t.txt").write_text(HOSTILE + "\n")
    shown = on_a_terminal("search", "t.txt", "cake", "-m", "model")
    assert NAMED in shown
    assert "\x1b]0" not in shown
    done = run("search", "t.txt", "cake", "-m", "model", stdout=subprocess.PIPE)
    assert HOSTILE in done.stdout.decode(), "a pipe gets the data as it is"


def test_messages_show_control_characters(folder):
    (folder / "t.csv").write_text(f"{HOSTILE},b\n1,2\n")
    shown = on_a_terminal("encode", "t.csv", "-m", "model", "-o", "v.npy")
    assert visible(HOSTILE[:20]) in shown  # a message shows the beginning of a column's name
    assert "\x1b]0" not in shown


def test_visible():
    assert visible("a\tb\x1b\x7f é 日本 \u2028\ud800") == r"a\tb\x1b\x7f é 日本 \u2028\ud800"
