"""Write vector files completely or not at all, and never over an input."""

from __future__ import annotations

import errno
import os
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from noppa import NoppaError, WordVectors
from noppa.cli import program
from noppa.words import formats as files
from reliability.faults import each_fault

WORDS = WordVectors([f"w{at}" for at in range(600)], np.eye(600, 20))
FORMATS = ["v.txt", "v.vec", "v.bin", "v.npy", "v.safetensors", "v.txt.gz", "v.bin.bz2", "v.vec.xz"]


def run(command):
    return CliRunner().invoke(program("vectors"), ["vectors", *command.split()])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("v.txt").write_text("a 1 0\ncake 0 1\n")
    Path("c.txt").write_text("a 3\ncake 1\n")
    Path("k.txt").write_text("a\n")
    files.write(WordVectors.load("v.txt"), "m.npy")
    Path("link.txt").symlink_to("v.txt")
    os.link("v.txt", "hard.txt")
    WordVectors.load("v.txt").save("saved")
    return tmp_path


@pytest.mark.parametrize(
    "command",
    [
        "convert v.txt v.txt",
        "convert v.txt ./link.txt",
        "convert link.txt v.txt",
        "convert hard.txt v.txt --limit 1",
        "convert v.txt c.txt --counts c.txt",
        "convert v.txt k.txt --keep k.txt",
        "convert m.npy m.npy --dtype float16",
        "convert m.npy m.vocab.txt",
        "convert m.npy m.safetensors --limit 1",
        "convert m.npy k.txt --vocabulary k.txt",
        "convert saved saved --dtype float16",
        "convert saved saved/v.txt",
        "counts v.txt -o v.txt",
        "counts k.txt v.txt -o hard.txt",
    ],
)
def test_no_output_is_an_input(folder, command):
    before = contents(folder)
    done = run(command)
    assert isinstance(done.exception, NoppaError), done.output
    assert contents(folder) == before


def test_a_vocabulary_beside_is_an_output_too(folder):
    Path("n.vocab.txt").write_bytes(Path("v.txt").read_bytes())
    before = contents(folder)
    assert "n.vocab.txt is an input" in str(run("convert n.vocab.txt n.npy").exception)
    assert contents(folder) == before
    assert run("convert v.txt n.safetensors").exit_code == 0


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS])
def test_each_call_that_fails_leaves_old_or_new_files(tmp_path, name, code):
    (tmp_path / "there").mkdir()
    (tmp_path / "good").mkdir()
    target = tmp_path / "there" / name
    files.write(WORDS, tmp_path / "good" / name)
    new = contents(tmp_path / "good")
    old = dict.fromkeys(new, b"old")
    failed = 0
    lay_out(target.parent, old)
    for call, error in each_fault(lambda: files.write(WORDS, target), target.parent, code):
        assert isinstance(error, NoppaError), call
        assert os.strerror(code) in str(error), call
        left = contents(target.parent)
        assert set(left) == set(new), call
        assert all(left[file] in (old[file], new[file]) for file in left), call
        if call.startswith("write"):
            assert left == old, call
        failed += 1
        lay_out(target.parent, old)
    assert failed >= 3
    assert contents(target.parent) == new


def lay_out(folder, content):
    for name, data in content.items():
        (folder / name).write_bytes(data)


@contextmanager
def small_disk():
    """Limit files to 20 kB; unlike injected faults, this also affects writes outside Python.

    Nothing else may be written meanwhile: the output of the tests may go to a file that is longer.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name", ["v.txt", "v.npy", "v.safetensors", "v.bin"])
def test_a_file_that_may_not_grow(tmp_path, name):
    with small_disk(), pytest.raises(NoppaError, match=r"cannot write .*File too large"):
        files.write(WORDS, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["/proc/v.txt", "/proc/v.npy", "missing/v.txt", "v.txt/x.txt"])
def test_folders_that_cannot_be_written(folder, target):
    done = run(f"convert m.npy {target}")
    assert isinstance(done.exception, NoppaError), done.output
    assert f"cannot write {Path(target).absolute()}" in str(done.exception)
