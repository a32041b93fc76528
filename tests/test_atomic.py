"""Save folders and files completely or not at all, whatever fails or is killed."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

import noppa
from noppa.io import atomic
from reliability.faults import ALLOCATION, each_fault
from tests.conftest import ROOT, made_texts, made_words

TEXTS = ["the girl eats a cake", "a boy is eating"]

#: What is saved, twice under one name, and what tells which of the two is loaded.
Saved = tuple[Callable[[Path], object], Callable[[Path], object], Callable[[Path], bytes]]


def _words(seed: int) -> noppa.WordVectors:
    return made_words(seed=seed)


def _encoder(seed: int) -> noppa.Encoder:
    words = _words(seed)
    return noppa.Encoder(words, noppa.NoPPA(k=2)).fit(made_texts(50, words))


KINDS: dict[str, Saved] = {
    "words": (
        _words(0).save,
        _words(1).save,
        lambda path: noppa.WordVectors.load(path).matrix.tobytes(),
    ),
    "encoder": (
        _encoder(0).save,
        _encoder(1).save,
        lambda path: noppa.load(path).encode(TEXTS).tobytes(),
    ),
}


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk; injected faults of fsync still occur."""
    monkeypatch.setattr("os.fsync", lambda handle: None)


@pytest.mark.parametrize("lasting", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_fault_leaves_the_old_or_the_new_one(
    tmp_path: Path, kind: str, lasting: bool
) -> None:
    save_old, save_new, state = KINDS[kind]
    target, other = tmp_path / "saved", tmp_path / "other"
    save_new(other)
    new = state(other)
    save_old(target)
    old, calls = state(target), []
    for call, error in each_fault(
        lambda: save_new(target), tmp_path, errno.ENOSPC, lasting=lasting
    ):
        calls.append(call.split()[0])
        assert error is None or isinstance(error, noppa.NoppaError), call
        assert state(target) in ([new] if error is None else [old, new]), call
        if not lasting:  # the next save removes a previous version
            assert set(os.listdir(tmp_path)) <= {"other", "saved", ".saved.previous"}, call
        save_old(target)
        assert lasting or sorted(os.listdir(tmp_path)) == ["other", "saved"], call
    assert {"open", "write", "fsync", "rename", "mkdir"} <= set(calls)


KILLS = """
import os, sys
from pathlib import Path
from reliability.faults import each_kill
from tests.test_atomic import KINDS
save_old, save_new, state = KINDS["encoder"]
folder = Path(sys.argv[1])
os.fsync = lambda handle: None
save_old(folder / "saved")
old, kills, ends = state(folder / "saved"), 0, set()
for _ in each_kill(lambda: save_new(folder / "saved"), folder):
    kills += 1
    ends.add(state(folder / "saved") == old)
    save_old(folder / "saved")
assert state(folder / "saved") != old
print(kills, len(ends))
"""


def test_a_kill_at_any_call_leaves_the_old_or_the_new_one(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLS, str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert run.returncode == 0, run.stderr
    kills, ends = map(int, run.stdout.split())
    assert kills > 20
    assert ends == 2  # both the old and the new one were met


def test_the_umask_is_left_alone_and_kept(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with mock.patch("os.umask", side_effect=AssertionError):
            _words(0).save(tmp_path / "words")
            with atomic.atomic_file(tmp_path / "file") as new:
                new.write_text("text")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert modes.pop("words") == 0o750
    assert set(modes.values()) == {0o640}


def test_every_fault_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    target = tmp_path / "file"

    def write() -> None:
        with atomic.atomic_file(target) as new:
            new.write_text("new")

    target.write_text("old")
    faults = 0
    for call, error in each_fault(write, tmp_path, errno.EIO):
        faults += 1
        assert error is None or isinstance(error, noppa.NoppaError), call
        assert target.read_text() in (["new"] if error is None else ["old", "new"]), call
        assert os.listdir(tmp_path) == ["file"], call
        target.write_text("old")
    assert faults >= 6


def test_a_file_never_replaces_a_folder_or_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(noppa.NoppaError, match="not a regular"), atomic.atomic_file(target):
            pass


@pytest.mark.parametrize("kind", KINDS)
def test_a_save_without_memory_leaves_the_old_one(tmp_path: Path, kind: str) -> None:
    save_old, save_new, state = KINDS[kind]
    save_old(tmp_path / "saved")
    old, faults = state(tmp_path / "saved"), 0
    for call, error in each_fault(
        lambda: save_new(tmp_path / "saved"), tmp_path, kinds=(ALLOCATION,)
    ):
        faults += 1
        assert isinstance(error, MemoryError), call
        assert state(tmp_path / "saved") == old
        assert os.listdir(tmp_path) == ["saved"]
    assert faults
