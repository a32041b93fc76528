"""The model of noppa.cluster: how workers find it, and what they do without it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import noppa
from noppa import cluster
from noppa.cluster.shard_task import Model, _fetched, attempt
from noppa.files.places import Place
from tests.clusters import TEXTS, WORDS, encode, expected, saved_model, table, vectors, written


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    return saved_model(tmp_path_factory.mktemp("model"))


def elsewhere(model: Model) -> Model:
    """A model on a machine that lacks its folder."""
    return replace(model, identity=replace(model.identity, name="/nowhere"))


def test_the_model_is_found_by_its_checksum(tmp_path, model) -> None:
    """At its path; in the package, wherever that is; else where it was sent; and never another one in its place."""
    embedded = Model.of(noppa.load("similarity"))
    assert not Path(embedded.identity.name).is_absolute(), "the package lies elsewhere on a worker"
    assert embedded.open().path == noppa.load("similarity").path
    saved = Model.of(noppa.load(model))
    with pytest.raises(noppa.NoppaError, match="no encoder with the checksum"):
        elsewhere(saved).open()
    for target in (Place.of(tmp_path / "run"), Place.of("memory://run")):
        sent = elsewhere(saved.send(target))
        assert sent.open().encode(["the girl"]).tobytes() == expected(model, ["the girl"]).tobytes()
    sent = elsewhere(saved.send(Place.of(tmp_path / "run")))
    with pytest.raises(noppa.NoppaError, match="is not the one that was sent there"):
        replace(sent, identity=replace(sent.identity, checksum="0" * 64)).open()
    preset = embedded.send(Place.of(tmp_path / "run"))
    assert Path(preset.sent, "noppa.json").is_file()
    assert noppa.load(preset.sent).encode("a cake").tobytes() == (
        noppa.load("similarity").encode("a cake").tobytes()
    )


def test_a_copy_that_workers_share(tmp_path, model, monkeypatch) -> None:
    """Fetched once; a damaged one is replaced, that of a faster worker left alone, and one that is not as it was sent refused."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sent = elsewhere(Model.of(noppa.load(model)).send(Place.of("memory://shared")))
    place, checksum = Place.of(sent.sent), sent.identity.checksum
    cached = _fetched(place, checksum)
    (cached / "noppa.json").write_text("{")
    assert noppa.load(_fetched(place, checksum)).dim == noppa.load(model).dim
    get = place.files.get

    def get_late(*arguments, **options) -> None:
        get(*arguments, **options)
        shutil.copytree(model, cached)
        (cached / "in use").touch()

    shutil.rmtree(cached)
    monkeypatch.setattr(place.files, "get", get_late)
    assert (_fetched(place, checksum) / "in use").exists()
    monkeypatch.setattr(place.files, "get", get)
    with pytest.raises(noppa.NoppaError, match="is not the one that was sent there"):
        replace(sent, identity=replace(sent.identity, checksum="0" * 64)).open()


def test_another_tokenizer_travels_by_its_name(tmp_path, model) -> None:
    sent = elsewhere(Model.of(noppa.load(model), "whitespace").send(Place.of(tmp_path / "run")))
    text = "the girl, eats"
    found = sent.open().encode([text])
    assert found.tobytes() == noppa.load(model, "whitespace").encode([text]).tobytes()
    assert found.tobytes() != expected(model, [text]).tobytes()
    with pytest.raises(noppa.NoppaError, match="there is no tokenizer 'x'"):
        Model.of(noppa.load(model), "x")


def test_workers_take_the_instruction_set_of_the_driver(model) -> None:
    kernels = noppa._native
    before = kernels.instruction_set()
    try:
        for name in kernels.instruction_sets():
            driver_model = replace(Model.of(noppa.load(model)), instructions=name)
            driver_model.open()
            assert kernels.instruction_set() == name
        with pytest.raises(
            noppa.NoppaError, match=r"lacks the instruction set v9, .* set NOPPA_ISA="
        ):
            replace(driver_model, instructions="v9").open()
    finally:
        kernels.use_instruction_set(before)


def test_workers_without_the_model_are_sent_it(tmp_path, model, monkeypatch) -> None:
    """An engine whose workers see the output, but not the folder that the model came from."""
    seen = []

    @contextmanager
    def far_away(scheduler, workers):
        def run(job, shards, tick):
            for shard in shards:
                outcome = attempt(replace(job, model=elsewhere(job.model)), shard)
                seen.append("missing" in outcome)
                yield outcome

        yield run

    monkeypatch.setitem(cluster.ENGINES, "far away", far_away)
    path = written(tmp_path / "in", "txt", TEXTS)
    report = encode(path, tmp_path / "out", model, engine="far away")
    assert seen == [True] * report.shards + [False] * report.shards
    assert vectors(table(tmp_path / "out")).tobytes() == expected(model, TEXTS).tobytes()
    assert not list((tmp_path / "out" / "_noppa").glob("model-*"))


def test_workers_that_write_elsewhere_are_noticed(tmp_path, model, monkeypatch) -> None:
    """A folder of the same name on another machine."""

    @contextmanager
    def far_away(scheduler, workers):
        def run(job, shards, tick):
            for shard in shards:
                yield attempt(replace(job, output=str(tmp_path / "there")), shard)

        yield run

    monkeypatch.setitem(cluster.ENGINES, "far away", far_away)
    path = written(tmp_path / "in", "txt", TEXTS)
    (tmp_path / "there" / "_noppa" / "done").mkdir(parents=True)
    with pytest.raises(noppa.NoppaError, match="choose a folder that all machines see"):
        encode(path, tmp_path / "out", model, engine="far away")


def test_an_encoder_in_memory_must_be_saved_first(tmp_path) -> None:
    (tmp_path / "t.txt").write_text("a\n")
    with pytest.raises(noppa.NoppaError, match="save it first"):
        encode(tmp_path / "t.txt", tmp_path / "out", noppa.Encoder(WORDS, noppa.NoPPA(k=0)))
