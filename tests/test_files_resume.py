"""Resume, repeat and compete: a `Job` never loses or mixes rows."""

from __future__ import annotations

import json
import os
import shutil

import numpy as np
import pytest

from noppa import Average, Encoder, NoPPA, NoppaError, WordVectors
from noppa.errors import FileError
from noppa.files import Input, Job
from reliability.faults import each_fault
from tests.runs import changed, wait_until, waiting

WORDS = ["the", "girl", "eats", "a", "cake"]
MATRIX = np.random.default_rng(1).normal(size=(5, 4))
MODEL = Encoder(WordVectors(WORDS, MATRIX, [0.4, 0.1, 0.1, 0.3, 0.1]), NoPPA(k=0))
LINES = [f"the girl eats {at} cake" for at in range(3000)]


@pytest.fixture(autouse=True)
def quick(monkeypatch, tmp_path):
    """Write checkpoints at once, use small batches and skip fsync."""
    monkeypatch.setattr("noppa.files.job.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr("noppa.files.inputs.PIECE", 1 << 10)
    monkeypatch.setattr("os.fsync", lambda file: None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("\n".join(LINES))


def job(target="v.npy", model=MODEL, source="t.txt", **options):
    return Job(model, Input([source]), target, **options)


def broken_off(target="v.npy", at=1500, **options):
    """Interrupt a run after its first checkpoint."""
    checkpoint = job(target).checkpoint

    def interrupt(records, position):
        if records > at:
            wait_until(checkpoint.exists)  # it is written beside
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job(target, resume=True, progress=interrupt, **options).run()
    assert checkpoint.exists()


def whole(form="npy"):
    job(f"whole.{form}", overwrite=True).run()
    with open(f"whole.{form}", "rb") as file:
        return file.read()


def content(path):
    with open(path, "rb") as file:
        return file.read()


def hidden():
    return sorted(name for name in os.listdir() if name.startswith("."))


# What is there already


def test_resume_refuses_an_output_of_unknown_origin():
    np.save("v.npy", np.zeros((2, 4), np.float32))
    before = content("v.npy")
    with pytest.raises(FileError, match="exists and is not the output of this job"):
        job(resume=True).run()
    assert content("v.npy") == before
    assert hidden() == []


def test_resume_of_a_finished_job_has_nothing_to_do():
    outcome = job(resume=True).run()
    facts = os.stat("v.npy")
    again = job(resume=True).run()
    assert (again.rows, again.records) == (outcome.rows, outcome.records) == (3000, 3000)
    assert os.stat("v.npy") == facts
    assert hidden() == [".v.npy.checkpoint"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda: job(resume=True, options={"normalize": True}), "started with a different options"),
        (lambda: job(resume=True, on_error="skip"), "started with a different options"),
        (
            lambda: job(resume=True, model=Encoder(MODEL.words, Average())),
            "started with a different model",
        ),
    ],
)
def test_resume_of_another_finished_job_is_refused(change, message):
    job(resume=True).run()
    with pytest.raises(FileError, match=message):
        change().run()
    assert hidden() == [".v.npy.checkpoint"]


def test_resume_of_a_finished_job_notices_another_input_or_output():
    job(resume=True).run()
    with open("t.txt", "a") as file:
        file.write("\na cake")
    with pytest.raises(FileError, match=r"t.txt has changed since v.npy was written"):
        job(resume=True).run()
    np.save("v.npy", np.zeros((2, 4), np.float32))
    with pytest.raises(FileError, match="is not the output"):
        job(resume=True).run()
    os.remove("v.npy")
    assert job(resume=True).run().rows == 3001


def test_a_begun_output_is_not_thrown_away():
    broken_off()
    before = content(".v.npy.partial")
    with pytest.raises(
        FileError, match=r"started, and [1-9][\d,]* rows are done: .*resume=True.*overwrite=True"
    ):
        job().run()
    assert content(".v.npy.partial") == before
    job(overwrite=True).run()
    assert content("v.npy") == whole()
    assert hidden() == []


def test_a_finished_output_is_replaced_only_when_asked():
    job().run()
    with pytest.raises(FileError, match=r"v.npy exists: pass overwrite=True"):
        job(options={"normalize": True}).run()
    assert content("v.npy") == whole()
    job(options={"normalize": True}, overwrite=True).run()
    assert content("v.npy") != whole()
    with pytest.raises(NoppaError, match="contradict"):
        job(resume=True, overwrite=True)


# Another input


@pytest.mark.parametrize("form", ["npy", "jsonl", "csv"])
def test_resume_refuses_another_input_of_the_same_size(form):
    broken_off(f"v.{form}")
    lines = list(LINES)
    lines[3] = lines[3].replace("cake", "girl")
    with open("t.txt", "w") as file:
        file.write("\n".join(lines))
    with pytest.raises(FileError, match="started with another input, or rows"):
        job(f"v.{form}", resume=True).run()
    with open("t.txt", "w") as file:
        file.write("\n".join(LINES))
    job(f"v.{form}", resume=True).run()
    assert content(f"v.{form}") == whole(form), "nothing was lost by the refusal"


def test_resume_goes_on_when_only_unread_records_changed():
    broken_off()
    lines = [*LINES[:-1], "a girl", "and one more"]
    with open("t.txt", "w") as file:
        file.write("\n".join(lines))
    assert job(resume=True).run().records == 3001
    assert content("v.npy") == whole()


@pytest.mark.parametrize("target", ["v.npy", "v.parquet"])
@pytest.mark.parametrize("change", ["cut", "appended", "replaced", "removed"])
def test_an_input_that_changes_during_the_run_is_noticed(target, change):
    def once(records, position):
        if records > 100 and not done:
            done.append(True)
            if change == "cut":
                os.truncate("t.txt", 40_000)
            elif change == "appended":
                with open("t.txt", "a") as file:
                    file.write("\nmore")
            elif change == "replaced":
                shutil.copy("t.txt", "new")
                os.replace("new", "t.txt")
            else:
                os.remove("t.txt")

    done = []
    with pytest.raises(FileError, match=r"t.txt changed while it was read"):
        job(target, progress=once).run()
    assert not os.path.exists(target)
    assert hidden() == []


# Two runs


def test_a_second_run_to_the_same_target_is_refused():
    with waiting(lambda progress: job(progress=progress).run()):
        for options in ({}, {"resume": True}, {"overwrite": True}):
            with pytest.raises(FileError, match=r"another run is writing v.npy"):
                job(**options).run()
    assert content("v.npy") == whole()


def test_a_link_in_the_place_of_the_partial_file_is_not_followed():
    os.symlink("t.txt", ".v.npy.partial")
    with pytest.raises(FileError, match=r"v\.npy"):
        job().run()
    assert content("t.txt").decode() == "\n".join(LINES)


# Odd checkpoints


@pytest.mark.parametrize(
    "change",
    [
        lambda state: "",
        lambda state: "[]",
        lambda state: "[" * 100_000,
        lambda state: "\udcff",
        lambda state: json.dumps({**state, "more": 1}),
        lambda state: json.dumps({name: state[name] for name in state if name != "bytes"}),
        changed(bytes=-1),
        changed(bytes=10**12),
        changed(outcome__rows=-3),
        changed(outcome__rows=10**15),
        changed(outcome__zero=10**9),
        changed(job=None),
        changed(inputs=3),
        changed(fingerprint=3),
        changed(finished=[1, 2]),
    ],
)
def test_odd_checkpoints_are_refused(change):
    broken_off()
    with open(".v.npy.checkpoint") as file:
        state = json.load(file)
    good = content(".v.npy.partial")[: state["bytes"]]
    text = change(state).encode("utf-8", "surrogateescape")
    with open(".v.npy.checkpoint", "wb") as file:
        file.write(text)
    with pytest.raises(FileError, match="overwrite=True"):
        job(resume=True).run()
    assert content(".v.npy.partial").startswith(good)
    job(overwrite=True).run()
    assert content("v.npy") == whole()


# Failing disks


@pytest.mark.parametrize(
    ("form", "lasting"), [("npy", False), ("npy", True), ("jsonl", False), ("parquet", False)]
)
@pytest.mark.parametrize("resume", [False, True])
def test_each_failing_call_leaves_nothing_or_a_way_on(tmp_path, monkeypatch, form, lasting, resume):
    if resume and form == "parquet":
        return
    monkeypatch.undo()  # a failing fsync counts too
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("noppa.files.job.SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr("noppa.files.inputs.PIECE", 1 << 14)
    target = tmp_path / "out" / f"v.{form}"
    target.parent.mkdir()
    expected = whole(form)
    tried = 0

    def run():
        job(str(target), overwrite=not resume, resume=resume).run()

    for call, error in each_fault(run, target.parent, lasting=lasting):
        tried += 1
        if error is not None:  # there is none where a folder cannot be forced to the disk
            assert isinstance(error, FileError), (call, error)
            assert "\n" not in str(error)
            assert resume or not list(target.parent.iterdir()), call
            run()
        assert content(target) == expected, call
        for path in target.parent.iterdir():
            path.unlink()
    assert tried >= 4
