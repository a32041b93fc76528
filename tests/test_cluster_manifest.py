"""The manifest of noppa.cluster: a run resumes where one stopped, does nothing when it is done, and refuses changes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import noppa
from noppa.files.places import UNFINISHED
from tests.clusters import TEXTS, encode, expected, files_in, saved_model, table, vectors, written
from tests.conftest import made_words


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


def test_a_second_run_does_nothing(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    first = encode(path, tmp_path / "out", model)
    before = files_in(tmp_path / "out")
    second = encode(path, tmp_path / "out", model, shard_size=77)
    assert files_in(tmp_path / "out") == before
    assert second.before == second.shards == first.shards
    assert (second.rows, second.bytes) == (first.rows, first.bytes)


def test_a_part_that_was_lost_or_cut_is_made_again(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    encode(path, tmp_path / "out", model)
    whole = {part.name: part.read_bytes() for part in (tmp_path / "out").glob("*.parquet")}
    (tmp_path / "out" / "part-000001.parquet").unlink()
    (tmp_path / "out" / "part-000002.parquet").write_bytes(b"cut")
    (tmp_path / "out" / f"{UNFINISHED}left").write_bytes(b"of a killed worker")
    report = encode(path, tmp_path / "out", model)
    assert report.before == report.shards - 2
    assert {part.name: part.read_bytes() for part in (tmp_path / "out").glob("*.parquet")} == whole
    assert not list((tmp_path / "out").glob(f"{UNFINISHED}*"))


def test_a_lost_part_beside_bad_records_is_made_again(tmp_path, model) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"text": "the girl"}\n{"text": null}\n' * 50)
    report = encode(path, tmp_path / "out", model, on_error="skip", shard_size=500)
    listed = Path(report.bad_rows).read_text()
    (tmp_path / "out" / "part-000001.parquet").unlink()
    again = encode(path, tmp_path / "out", model, on_error="skip")
    assert (again.before, again.bad) == (report.shards - 1, report.bad)
    assert Path(again.bad_rows).read_text() == listed
    assert [json.loads(line)["row"] for line in listed.splitlines()] == list(range(2, 101, 2))


def test_a_failed_run_goes_on_where_it_was(tmp_path, model, monkeypatch) -> None:
    """Every write may fail once: whatever was done before is kept, and the end is the same."""
    path = written(tmp_path / "in", "txt", TEXTS)
    done, limit = 0, 0
    real = os.replace

    def failing(old, new):
        nonlocal done
        done += 1
        if done > limit:
            raise OSError(28, "No space left on device")
        real(old, new)

    monkeypatch.setattr(os, "replace", failing)
    for allowed in (0, 1, 4, 6):
        done, limit = 0, allowed
        with pytest.raises(noppa.NoppaError, match="No space left on device"):
            encode(path, tmp_path / "out", model)
        assert not list((tmp_path / "out").rglob(f"{UNFINISHED}*"))
    limit = 1 << 30
    report = encode(path, tmp_path / "out", model)
    assert 0 < report.before < report.shards
    output = table(tmp_path / "out")
    assert output["text"].to_pylist() == TEXTS
    assert vectors(output).tobytes() == expected(model, TEXTS).tobytes()


def test_changes_are_noticed_and_refused(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    out = tmp_path / "out"
    encode(path, out, model)
    other = tmp_path / "other"
    noppa.Encoder(made_words(dim=6, seed=1), noppa.NoPPA(k=0)).save(other)
    for match, call in {
        "another model": lambda: encode(path, out, other),
        "another set of options": lambda: encode(path, out, model, dtype="float16"),
        "another column": lambda: encode(path, out, model, header=False),
        "another input": lambda: encode([path, path], out, model),
    }.items():
        with pytest.raises(noppa.NoppaError, match=f"was begun with {match}: give the same again"):
            call()
    path.write_text(path.read_text() + "one more\n")
    with pytest.raises(noppa.NoppaError, match=r"t\.txt has changed since .*out was begun"):
        encode(path, out, model)


def test_an_input_that_changes_while_it_is_read_is_noticed(tmp_path, model) -> None:
    path = written(tmp_path / "in", "txt", TEXTS)
    with pytest.raises(noppa.NoppaError, match="was changed while it was read"):
        encode(path, tmp_path / "out", model, progress=lambda *_: os.utime(path, (1, 1)))
