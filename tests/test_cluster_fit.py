"""Fitting from sums of shards, in one process: what one machine learns, however it is divided, stopped and begun again."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa import cluster
from noppa.cluster import fit_sums
from noppa.files.places import Place
from noppa.refine import Normalize, Whitening
from noppa.words.counting import WordCounts
from tests.conftest import made_texts, made_words

WORDS = made_words(dim=5, extra=30)
TEXTS = [*made_texts(400, WORDS), "zzqx qqq", "", "The GIRL eats Cake"]

#: Every method that can be fitted in parts, with what it weighs words by.
CASES = {
    "noppa": (noppa.NoPPA(k=2), ()),
    "noppa, its own refinement": (noppa.NoPPA(k=2), (Whitening(dim=4), Normalize())),
    "average": (noppa.Average(), (Whitening(),)),
    "tfidf": (noppa.TfIdf(), ()),
    "sif": (noppa.SIF(), ()),
    "usif": (noppa.USIF(m=2, a=0.01), ()),
    "usif, n from the corpus": (noppa.USIF(m=1), ()),
    "dct": (noppa.DCT(), (Whitening(),)),
    "vlawe": (noppa.VLAWE(k=3, pca=4), ()),
    "s3e": (noppa.S3E(k=3), ()),
    "gem": (noppa.GEM(k=4, h=2), ()),
    "frequencies alone": (noppa.NoPPA(k=0), ()),
}


@pytest.fixture
def corpus(tmp_path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("".join(f"{text}\n" for text in TEXTS))
    return path


def fit(corpus, output, encoder, **options) -> cluster.FitReport:
    return cluster.fit(
        corpus, output, encoder, **{"engine": "single", "shard_size": 500, **options}
    )


@pytest.mark.parametrize("frequencies", ["corpus", "model"])
@pytest.mark.parametrize("name", CASES)
def test_sums_of_shards_give_what_one_machine_learns(tmp_path, corpus, name, frequencies) -> None:
    method, refine = CASES[name]
    words = WORDS
    if name == "usif, n from the corpus":  # which wants a long tail of rare words
        words = made_words(dim=5, extra=3000)
    encoder = noppa.Encoder(words, method, refine)
    weighs = method.needs_probabilities
    if frequencies == "corpus" and name == "usif, n from the corpus":
        with pytest.raises(noppa.NoppaError, match=r"USIF\(\) cannot derive a"):
            fit(corpus, tmp_path / "out", encoder)  # as one machine says, too, of so small a corpus
        return
    if frequencies == "model" and name == "frequencies alone":
        with pytest.raises(noppa.NoppaError, match="has nothing to learn from text"):
            fit(corpus, tmp_path / "out", encoder, frequencies=frequencies)
        return
    report = fit(corpus, tmp_path / "out", encoder, frequencies=frequencies)
    assert report.shards > fit_sums.FAN
    own = words.with_corpus(TEXTS) if weighs and frequencies == "corpus" else words
    one = noppa.Encoder(own, method, refine).fit(TEXTS)
    two = noppa.load(tmp_path / "out")
    assert two.fitted_on == one.fitted_on == report.sentences
    assert report.records == len(TEXTS)
    assert np.allclose(one.encode(TEXTS[:100]), two.encode(TEXTS[:100]), rtol=0, atol=1e-6)
    if weighs:
        assert np.array_equal(one.words.probabilities, two.words.probabilities)
        assert np.array_equal(one.words.counted, two.words.counted)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["corpus.txt", "out"]


@pytest.mark.parametrize("method", [noppa.FastSent(), noppa.Sent2Vec()])
def test_methods_that_cannot_be_fitted_in_parts_say_so(tmp_path, corpus, method) -> None:
    name = type(method).__name__
    with pytest.raises(noppa.NoppaError, match=f"{name} learns from one sentence after another"):
        fit(corpus, tmp_path / "out", noppa.Encoder(WORDS, method))


def test_a_fit_that_stopped_goes_on(tmp_path, corpus, monkeypatch) -> None:
    """A full disk after a few shards of any pass; what was added up before is not added up again."""
    encoder = noppa.Encoder(WORDS, noppa.USIF(m=2, a=0.01))
    real, written, limit = fit_sums.write_sums, 0, 0

    def failing(place, arrays):
        nonlocal written
        written += 1
        if written > limit:
            raise OSError(28, "No space left on device")
        return real(place, arrays)

    monkeypatch.setattr(fit_sums, "write_sums", failing)
    befores = []
    for allowed in (5, 20, 40):
        written, limit = 0, allowed
        with pytest.raises(noppa.NoppaError, match="No space left on device"):
            fit(corpus, tmp_path / "out", encoder)
        assert not (tmp_path / "out").exists()
        befores.append(len(list((tmp_path / ".out.work").glob("*/*.npz"))))
    assert befores == sorted(befores)
    limit = 1 << 30
    report = fit(corpus, tmp_path / "out", encoder)
    assert report.before > 40
    one = noppa.Encoder(WORDS.with_corpus(TEXTS), encoder.method).fit(TEXTS)
    vectors = noppa.load(tmp_path / "out").encode(TEXTS[:50])
    assert np.allclose(vectors, one.encode(TEXTS[:50]), rtol=0, atol=1e-6)


def test_a_second_fit_does_nothing_and_a_changed_one_is_refused(tmp_path, corpus) -> None:
    encoder = noppa.Encoder(WORDS, noppa.NoPPA(k=2))
    first = fit(corpus, tmp_path / "out", encoder)
    before = (tmp_path / "out" / "noppa.json").stat().st_mtime_ns
    assert fit(corpus, tmp_path / "out", encoder) == first
    assert (tmp_path / "out" / "noppa.json").stat().st_mtime_ns == before
    for match, call in {
        "another method": lambda: fit(corpus, tmp_path / "out", noppa.Encoder(WORDS, noppa.SIF())),
        "another source of frequencies": lambda: fit(
            corpus, tmp_path / "out", encoder, frequencies="model"
        ),
        "another model": lambda: fit(
            corpus, tmp_path / "out", noppa.Encoder(made_words(dim=5), noppa.NoPPA(k=2))
        ),
    }.items():
        with pytest.raises(noppa.NoppaError, match=f"was begun with {match}"):
            call()
    corpus.write_text("changed\n")
    with pytest.raises(noppa.NoppaError, match=r"corpus\.txt has changed since"):
        fit(corpus, tmp_path / "out", encoder)


def test_what_is_there_already_is_not_overwritten(tmp_path, corpus) -> None:
    noppa.Encoder(WORDS, noppa.Average()).save(tmp_path / "mine")
    (tmp_path / "notes").mkdir()
    for name in ("mine", "notes"):
        with pytest.raises(noppa.NoppaError, match="holds something else already"):
            fit(corpus, tmp_path / name, noppa.Encoder(WORDS, noppa.SIF()))


def test_bad_records_of_a_fit(tmp_path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [json.dumps({"text": text}) for text in TEXTS]
    rows[300] = '{"text": 1}'
    path.write_text("\n".join(rows))
    encoder = noppa.Encoder(WORDS, noppa.SIF())
    with pytest.raises(noppa.NoppaError, match="record 301: its 'text' is a number"):
        fit(path, tmp_path / "out", encoder)
    report = fit(path, tmp_path / "other", encoder, on_error="skip")
    assert (report.bad, report.records) == (1, len(TEXTS))
    listed = json.loads((tmp_path / "other" / "_bad_rows.jsonl").read_text())
    assert (listed["row"], listed["found"]) == (301, "its 'text' is a number")
    without = [text for at, text in enumerate(TEXTS) if at != 300]
    one = noppa.Encoder(WORDS.with_corpus(without), noppa.SIF()).fit(without)
    vectors = noppa.load(tmp_path / "other").encode(TEXTS[:20])
    assert np.allclose(vectors, one.encode(TEXTS[:20]), rtol=0, atol=1e-6)


def test_an_empty_corpus_is_refused(tmp_path) -> None:
    (tmp_path / "t.txt").touch()
    with pytest.raises(noppa.NoppaError, match="nothing to fit on"):
        fit(tmp_path / "t.txt", tmp_path / "out", noppa.Encoder(WORDS, noppa.SIF()))


@pytest.mark.found(
    "outside review", "NumPy below 2.1 stored an array called allow_pickle among the sums"
)
def test_nothing_but_the_sums_is_stored(tmp_path, monkeypatch) -> None:
    stored = {}
    monkeypatch.setattr(np, "savez", lambda file, **arrays: stored.update(arrays))  # as before 2.1
    fit_sums.write_sums(Place.of(str(tmp_path / "sums.npz")), {"total": np.ones(2)})
    assert set(stored) == {"total"}


def test_word_counts_of_parts_add_up() -> None:
    whole, half = WORDS.count(TEXTS), len(TEXTS) // 2
    parts = WORDS.count(TEXTS[:half]) + WORDS.count(TEXTS[half:])
    assert np.array_equal(whole.words, parts.words)
    assert whole.total == parts.total > 0
    counted = WORDS.with_word_counts(parts).probabilities
    assert np.array_equal(counted, WORDS.with_corpus(TEXTS).probabilities)
    nothing = WordCounts(whole.words * 0, whole.pieces, 0)
    with pytest.raises(noppa.NoppaError, match="adds up to nothing"):
        WORDS.with_word_counts(nothing)


def test_the_embedded_model_counts_its_pieces_too() -> None:
    """Parts of the unknown words of a corpus, in the counts of shards as in those of one machine."""
    words = noppa.load().words
    texts = ["the girl flurbled a zworp", "unflurbable cakes"] * 3
    parts = words.count(texts[:2]) + words.count(texts[2:])
    merged, whole = words.with_word_counts(parts), words.with_corpus(texts)
    assert parts.pieces.sum() > 0
    assert np.array_equal(merged.probabilities, whole.probabilities)
