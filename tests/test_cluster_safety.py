"""`noppa.cluster` against a second driver, another input of the same size, damaged manifests, signals and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest

from noppa import Encoder, NoPPA, WordVectors, cluster
from noppa.errors import FileError, NoppaError
from tests.runs import PATIENCE, changed, wait_until, waiting

WORDS = ["the", "girl", "eats", "a", "cake"]
MODEL = Encoder(
    WordVectors(WORDS, np.random.default_rng(3).normal(size=(5, 4)), [0.4, 0.1, 0.1, 0.3, 0.1]),
    NoPPA(k=0),
)
LINES = [f"the girl eats {at:04} cake" for at in range(200)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MODEL.save("model")
    Path("t.txt").write_text("\n".join(LINES))
    return tmp_path


def encode(output="out", inputs="t.txt", **options):
    return cluster.encode(inputs, output, "model", engine="single", shard_size=1000, **options)


def fit(output="fitted", inputs="t.txt", **options):
    return cluster.fit(inputs, output, "model", engine="single", shard_size=1000, **options)


def vectors(output="out"):
    return np.array(parquet.read_table(output)["embedding"].to_pylist(), np.float32)


def interrupted(function, **options):
    """A run that is broken off after some shards."""

    def stop(records, done):
        if done > 2500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        function(progress=stop, **options)


@pytest.mark.found("code review", "Two drivers to one output removed each other's files.")
@pytest.mark.parametrize("function", [encode, fit])
def test_a_second_driver_is_refused(function):
    with (
        waiting(lambda progress: function(progress=progress)),
        pytest.raises(FileError, match="another run is writing"),
    ):
        function()
    assert function().shards > 1


@pytest.mark.found(
    "code review", "A resume took another input of the same size and time for the same."
)
@pytest.mark.parametrize("function", [encode, fit])
def test_another_input_of_the_same_size_and_time_is_refused(function):
    interrupted(function)
    times = os.stat("t.txt")
    Path("t.txt").write_text("\n".join(LINES[::-1]))
    os.utime("t.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert os.stat("t.txt").st_size == times.st_size
    with pytest.raises(NoppaError, match=r"t.txt has changed since"):
        function()
    Path("t.txt").write_text("\n".join(LINES))
    os.utime("t.txt", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert function().before > 0


@pytest.mark.found("code review", "A damaged manifest was a KeyError or a TypeError.")
@pytest.mark.parametrize(
    "change",
    [
        lambda content: "",
        lambda content: "[]",
        lambda content: "{}",
        lambda content: json.dumps({"format": 2}),
        lambda content: json.dumps({**content, "format": "2"}),
        lambda content: json.dumps({**content, "asked": []}),
        lambda content: json.dumps({**content, "plan": None}),
        changed(plan__shards=3),
        changed(plan__shards=[3]),
        changed(plan__shards__0__number=7),
        changed(plan__shards__0__start="x"),
        changed(plan__shards__0__address=None),
        changed(plan__shards__0__more=1),
        changed(plan__fields={}),
        changed(plan__fields__form="xml"),
        changed(plan__fields__form=[]),
        changed(plan__fields__encoded="AAAA"),
        changed(plan__fields__encoded=5),
        changed(asked__input=3),
        changed(asked__input=[3]),
    ],
)
def test_damaged_manifests_are_refused(change):
    interrupted(encode)
    manifest = Path("out/_noppa/manifest.json")
    manifest.write_text(change(json.loads(manifest.read_text())))
    with pytest.raises(NoppaError, match="out") as raised:
        encode()
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("content", [[], {}, {"number": 0}, {"number": "0"}, 7, None])
def test_odd_outcomes_count_as_not_done(content):
    interrupted(encode)
    for path in Path("out/_noppa/done").iterdir():
        path.write_text(json.dumps(content))
    assert encode().before == 0
    np.testing.assert_array_equal(vectors(), MODEL.encode(LINES))
    finished = Path("out/_noppa/finished.json")
    finished.write_text(json.dumps({"shards": [content]}))
    assert encode().before == 0
    finished.write_text(json.dumps(content))
    with pytest.raises(NoppaError, match="finished"):
        encode()


def test_damaged_sums_are_named():
    interrupted(fit)
    sums = next(Path(".fitted.work/counts").iterdir())
    sums.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FileError, match=r"npz is damaged .*remove it and run again"):
        fit()


def test_a_fit_that_was_killed_after_its_save_goes_on():
    interrupted(fit)
    MODEL.save("fitted")  # as it stands before its record is written
    assert fit().before > 0
    assert Path("fitted/cluster.json").exists()
    assert not Path(".fitted.work").exists()


def test_a_wrong_input_leaves_no_folder():
    Path("t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(NoppaError, match="no column"):
        encode(inputs="t.csv")
    assert not Path("out").exists()


# The command waits in the middle of its second shard, however slow whoever sends the signal is.
HELD_COMMAND = """
import time
from pathlib import Path

from noppa.cli import main
from noppa.cluster.encode_job import EncodeShard

write = EncodeShard._write


def held_write(shard, batch, part, counts):
    write(shard, batch, part, counts)
    if any(Path("out/_noppa/done").glob("[0-9]*.json")):
        Path("held").touch()
        time.sleep(600)


EncodeShard._write = held_write
main()
"""


def test_sigterm_keeps_what_is_done(folder):
    Path("t.txt").write_text("\n".join(LINES * 200))
    arguments = "cluster encode t.txt -o out -m model --engine single --shard-size 0.1".split()
    process = subprocess.Popen(
        [sys.executable, "-c", HELD_COMMAND, *arguments],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        wait_until(lambda: Path("held").exists() or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        _, message = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert process.returncode == 143
    assert (
        message
        == b"noppa: interrupted: what is done is kept, the same command goes on from there\n"
    )
    left = [path.name for path in folder.rglob("*") if path.name.startswith(".unfinished")]
    assert left == []
