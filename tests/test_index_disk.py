"""An index in a folder: durable at every step, whole for readers, one writer at a time, and picky about what it opens."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import noppa
from noppa.errors import NoppaError
from noppa.io import storage
from noppa.search import storage as index_storage
from noppa.search.index import Index
from noppa.search.segment import FAN, TABLE
from reliability.faults import each_fault
from tests.conftest import ROOT, made_words

TEXTS = ["the girl eats a cake", "a boy eats", "café and cake", "", "the lake"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> noppa.Encoder:
    folder = tmp_path_factory.mktemp("encoder") / "model"
    noppa.Encoder(made_words(), noppa.Average()).save(folder)
    return noppa.load(folder)


def made(folder: Path, model: noppa.Encoder) -> Index:
    index = Index.open(folder, model)
    index.add(TEXTS, ids=[*"abcde"], metadata=[{"at": at} for at in range(len(TEXTS))])
    index.delete("e")
    return index


def contents(folder: Path, model: noppa.Encoder) -> list[Any]:
    """What a new reader sees: every row, and what a search finds."""
    index = Index.open(folder, model, create=False)
    hits = index.search("girl cake", 99)
    assert len(index) >= len(hits) > 0
    return [sorted(map(str, hits)), len(index)]


def test_opened_again_in_another_place(tmp_path: Path, model: noppa.Encoder) -> None:
    index = made(tmp_path / "index", model)
    shutil.move(tmp_path / "index", tmp_path / "elsewhere")
    again = Index.open(tmp_path / "elsewhere")
    assert len(again) == 4
    assert again.folder == tmp_path / "elsewhere"
    assert "in " in repr(again)
    assert again.search("cake", 1)[0].id in "ac"
    assert again.to_dict()["encoder"] == str(model.path)
    with pytest.raises(NoppaError):
        len(index)  # its folder is gone


def test_what_needs_no_encoder_works_without_it(tmp_path: Path, model: noppa.Encoder) -> None:
    model.save(tmp_path / "model")
    made(tmp_path / "index", noppa.load(tmp_path / "model"))
    shutil.rmtree(tmp_path / "model")
    with pytest.raises(NoppaError, match="cannot be loaded here"):
        Index.open(tmp_path / "index")
    stored = Index.open_without_encoder(tmp_path / "index")
    before = len(stored)
    stored.delete("a")
    assert stored.to_dict()["texts"] == len(stored) == before - 1
    # Compacting writes the terms anew, which are those of the encoder's tokenizer.
    for call in (lambda: stored.search("cake"), lambda: stored.add("cake"), stored.compact):
        with pytest.raises(
            NoppaError, match=r"without its encoder: open it with noppa\.Index\.open"
        ):
            call()
    with pytest.raises(NoppaError, match="does not exist"):
        Index.open_without_encoder(tmp_path / "nowhere")


def test_small_segments_are_merged(tmp_path: Path, model: noppa.Encoder) -> None:
    index = Index.open(tmp_path / "index", model)
    for number in range(3 * FAN):
        index.add(f"cake {number}")
    assert index.to_dict()["segments"] < FAN
    assert [row.text for row in index.get([str(n) for n in range(3 * FAN)])] == [
        f"cake {number}" for number in range(3 * FAN)
    ]
    index.compact()
    assert index.to_dict()["segments"] == 1
    names = {path.name for path in (tmp_path / "index").iterdir()}
    assert len(names) == 3, names  # manifest, lock, one segment


def test_a_reader_sees_what_others_commit(tmp_path: Path, model: noppa.Encoder) -> None:
    writer = made(tmp_path / "index", model)
    reader = Index.open(tmp_path / "index")
    held = reader.search("cake", 1)[0]
    writer.update("a", "a new boy")
    writer.compact()
    assert reader.get("a").text == "a new boy"
    reader.add("the cake", ids=["f"])
    assert "f" in writer
    assert held.explain().terms


def test_readers_of_a_changing_index_never_fail(tmp_path: Path, model: noppa.Encoder) -> None:
    """Every commit adds one text and deletes another, so that a reader that sees half a commit counts wrong."""
    writer = Index.open(tmp_path / "index", model)
    writer.add([f"cake {number}" for number in range(5)])
    done, failures = threading.Event(), []

    def read() -> None:
        try:
            while not done.is_set():
                reader = Index.open(tmp_path / "index", model, create=False)
                found = reader.search("cake", 99, mode="words")
                assert len(found) == 5, found
                assert len({*found.ids}) == 5
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    for number in range(15):
        writer.update(str(number % 5), f"cake {number}")
        if number % 7 == 0:
            writer.compact()
    done.set()
    thread.join()
    assert not failures, failures


def test_a_second_writer_is_refused(
    tmp_path: Path, model: noppa.Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_storage, "PATIENCE", 0.05)
    index = made(tmp_path / "index", model)
    lock = index_storage._lock_file(tmp_path / "index" / index_storage.LOCK)
    assert lock is not None
    for change in (lambda: index.add("cake"), lambda: index.delete("a"), index.compact):
        with pytest.raises(NoppaError, match=r"another process is writing to .*: try again"):
            change()
    assert len(index) == 4
    assert len(index.search("cake", 9, mode="words")) == 2
    monkeypatch.setattr(index_storage, "PATIENCE", 10.0)
    threading.Timer(0.2, os.close, [lock]).start()
    index.add("cake")  # waits until the other one has finished
    assert len(index) == 5


def no_leftovers(folder: Path) -> None:
    """Nothing lies there but what the manifest names."""
    named = json.loads(b"".join((folder / storage.HEADER).read_bytes().splitlines()[:-1]))
    listed = {part["name"] for part in named["segments"]} | named["files"].keys()
    found = {path.name for path in folder.iterdir()}
    assert found == listed | {storage.HEADER, index_storage.LOCK}


CHANGES: dict[str, Callable[[Index], object]] = {
    "add": lambda index: index.add(["more cake", "more"], ids=["x", "y"]),
    "delete": lambda index: index.delete(["a", "c"]),
    "update": lambda index: index.update(["a", "b"], ["new cake", "new"]),
    "compact": lambda index: index.compact(),
}


@pytest.mark.parametrize(
    ("change", "lasting"), [("add", False), ("delete", False), ("update", True), ("compact", False)]
)
def test_every_fault_leaves_the_state_before_or_after(
    tmp_path: Path, model: noppa.Encoder, change: str, lasting: bool, monkeypatch: Any
) -> None:
    monkeypatch.setattr("os.fsync", lambda handle: None)
    made(tmp_path / "old", model)
    old = contents(tmp_path / "old", model)
    made(tmp_path / "new", model)
    CHANGES[change](Index.open(tmp_path / "new", model))
    new, work, calls = contents(tmp_path / "new", model), tmp_path / "work", []
    shutil.copytree(tmp_path / "old", work)
    opened = [Index.open(work, model)]
    for call, error in each_fault(
        lambda: CHANGES[change](opened[-1]), work, errno.ENOSPC, lasting=lasting
    ):
        calls.append(call.split()[0])
        assert error is None or isinstance(error, NoppaError), (call, error)
        assert error is None or "\n" not in str(error)
        now = contents(work, model)
        assert now == new if error is None else now in (old, new), call
        opened[-1].add("later", ids=["later"])
        no_leftovers(work)
        shutil.rmtree(work)
        shutil.copytree(tmp_path / "old", work)
        opened.append(Index.open(work, model))
    assert {"open", "write", "fsync", "rename"} <= set(calls)


KILLS = """
import os, shutil, sys
from pathlib import Path
import noppa
from reliability.faults import each_kill
from tests.test_index_disk import CHANGES, contents, made, no_leftovers
from noppa.search.index import Index
folder, change = Path(sys.argv[1]), CHANGES[sys.argv[2]]
model = noppa.load(sys.argv[3])
os.fsync = lambda handle: None
made(folder / "old", model)
old = contents(folder / "old", model)
work, kills, ends = folder / "work", 0, set()
shutil.copytree(folder / "old", work)
for _ in each_kill(lambda: change(Index.open(work, model)), work):
    kills += 1
    ends.add(repr(contents(work, model)))
    if kills % 8 == 0:  # a killed writer blocks no other
        Index.open(work, model).add("one more", ids=["later"])
        no_leftovers(work)
    shutil.rmtree(work)
    shutil.copytree(folder / "old", work)
ends.add(repr(contents(work, model)))
assert len(ends) <= 2, ends
print(kills, len(ends))
"""


def test_a_kill_at_any_call_leaves_the_state_before_or_after(
    tmp_path: Path, model: noppa.Encoder
) -> None:
    command = [sys.executable, "-c", KILLS, str(tmp_path), "update", str(model.path)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "NOPPA_THREADS": "1"}
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert run.returncode == 0, run.stderr
    kills, ends = map(int, run.stdout.split())
    assert kills > 20
    assert ends == 2  # both were met


FULL = """
import resource, signal, sys
import noppa
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
index = noppa.Index.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    index.add(["the cake"] * 2000)
except noppa.NoppaError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize("size", [0, 3000, 60_000])
def test_a_full_disk_is_one_sentence(tmp_path: Path, model: noppa.Encoder, size: int) -> None:
    """Also where SQLite meets it, whose writes the injected faults do not see."""
    made(tmp_path / "index", model)
    before = contents(tmp_path / "index", model)
    command = [sys.executable, "-c", FULL, str(tmp_path / "index"), str(size)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 1
    assert "cannot write" in run.stderr
    assert run.stderr.count("\n") == 1, run.stderr
    assert contents(tmp_path / "index", model) == before


def header_changed(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the manifest as if it had been written so."""
    text = (folder / storage.HEADER).read_text("utf-8").rstrip("\n").rpartition("\n")[0]
    header = json.loads(text)
    change(header)
    kind, files = header.pop("kind"), header.pop("files")
    header.pop("format")
    storage.write_header(folder / storage.HEADER, kind, header, files)


def spoil(name: str, at: int = -1) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (path,) = folder.glob(name)
        content = bytearray(path.read_bytes())
        content[at] ^= 1
        path.write_bytes(content)

    return change


def edit(**fields: Any) -> Callable[[Path], None]:
    return lambda folder: header_changed(folder, lambda header: header.update(fields))


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "another checksum of the encoder": (
        edit(**{"encoder checksum": "0" * 64}),
        "made with another encoder than .*: use that, or build the index again",
    ),
    "a wild name": (edit(segments=[{"name": "../x"}]), "'segments' is"),
    "other dimensions": (edit(dim=3), "does not belong to this index"),
    "a segment gone": (
        lambda folder: shutil.rmtree(next(folder.glob("segment-*"))),
        "index is damaged: segment-1 is missing: copy it again",
    ),
    "rows gone": (lambda folder: next(folder.glob("alive-*")).unlink(), "alive-.*cannot be read"),
    "a changed manifest": (spoil(storage.HEADER, 40), "damaged"),
    "a changed table": (spoil(f"segment-*/{TABLE}"), "rows.sqlite is damaged"),
    "a changed vector": (spoil("segment-*/vectors.npy"), "vectors.npy is damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_one_sentence(tmp_path: Path, model: noppa.Encoder, name: str) -> None:
    made(tmp_path / "index", model)
    damage, message = DAMAGES[name]
    damage(tmp_path / "index")
    with pytest.raises(NoppaError, match=message) as raised:
        Index.open(tmp_path / "index", model)
    assert "\n" not in str(raised.value)


def test_what_is_no_index(tmp_path: Path, model: noppa.Encoder) -> None:
    with pytest.raises(NoppaError, match="does not exist"):
        Index.open(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()
    (tmp_path / "other").mkdir()
    with pytest.raises(NoppaError, match="other is not an index"):
        Index.open(tmp_path / "other", create=False)
    (tmp_path / "other" / "file").write_text("x")
    with pytest.raises(NoppaError, match="exists and is not an index"):
        Index.open(tmp_path / "other", model)
    with pytest.raises(NoppaError, match="exists and is not an index"):
        Index.open(tmp_path / "other" / "file", model)
    with pytest.raises(NoppaError, match="holds a saved encoder, not a saved text index"):
        Index.open(model.path or "", model)
    with pytest.raises(NoppaError, match="cannot make the folder"):
        Index.open(tmp_path / "none" / "index", model)
    with pytest.raises(NoppaError, match="only in memory: save it"):
        Index.open(tmp_path / "new", noppa.Encoder(made_words(), noppa.Average()))


def test_the_encoder_is_found_by_name_and_checksum(tmp_path: Path, model: noppa.Encoder) -> None:
    other, moved = tmp_path / "other", tmp_path / "moved"
    noppa.Encoder(made_words(seed=1), noppa.Average()).save(other)
    model.save(tmp_path / "model")
    made(tmp_path / "index", noppa.load(tmp_path / "model"))
    with pytest.raises(NoppaError, match=f"made with another encoder than {other}"):
        Index.open(tmp_path / "index", str(other))
    with pytest.raises(NoppaError, match="holds float16 vectors, not int8"):
        Index.open(tmp_path / "index", dtype="int8")
    shutil.move(tmp_path / "model", moved)
    with pytest.raises(NoppaError, match=r"which cannot be loaded here .*give the folder of the"):
        Index.open(tmp_path / "index")
    assert len(Index.open(tmp_path / "index", moved)) == 4


def test_a_preset_goes_by_its_name(tmp_path: Path) -> None:
    Index.open(tmp_path / "index").add(["a cake", "a train"])
    header = (tmp_path / "index" / storage.HEADER).read_text("utf-8")
    assert '"encoder": "similarity"' in header
    assert not {"/", "\\"} & set(header), "a path"
    assert Index.open(tmp_path / "index").search("some cake", 1)[0].text == "a cake"
    change = {"encoder checksum": "0" * 64}
    header_changed(tmp_path / "index", lambda h: h.update(change))
    with pytest.raises(NoppaError, match="preset similarity of another version of noppa"):
        Index.open(tmp_path / "index")


def test_an_index_made_anew_with_another_encoder_is_not_mixed_up(
    tmp_path: Path, model: noppa.Encoder
) -> None:
    index = made(tmp_path / "index", model)
    noppa.Encoder(made_words(seed=1), noppa.Average()).save(tmp_path / "other")
    shutil.rmtree(tmp_path / "index")
    made(tmp_path / "index", noppa.load(tmp_path / "other"))
    with pytest.raises(NoppaError, match="rebuilt with another encoder: open it again"):
        index.search("cake")
