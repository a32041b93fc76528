"""Read fastText models: vectors equal fastText's own, and damaged files raise one error."""

from __future__ import annotations

import gzip
import lzma
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import noppa
from noppa import _native
from noppa.serve.app import Application
from noppa.serve.settings import Settings
from noppa.words.formats.fasttext import FastText
from tests import oracle
from tests.fasttext_files import made_model, unlabelled

SYLLABLES = ["ka", "lo", "mi", "ré", "tü", "на", "ст", "wor", "xe", "一", "<", "-"]


def made_words(count: int, seed: int) -> list[str]:
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 8, count)
    return ["".join(random.choice(SYLLABLES, length)) for length in lengths]


# fastText has no wheel for later versions of Python.
if sys.version_info < (3, 12) and sys.platform == "linux":  # as in pyproject.toml
    import fasttext

    @pytest.fixture(scope="module")
    def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A folder with a model of skipgram, one of cbow without n-grams, a classifier, and that one quantized and pruned."""
        folder = tmp_path_factory.mktemp("fasttext")
        words = made_words(400, 1)
        ranks = np.random.default_rng(2).zipf(1.4, (1500, 8)) % len(words)
        lines = [" ".join(words[rank] for rank in line) for line in ranks]
        text, labelled = folder / "text.txt", folder / "labelled.txt"
        text.write_text("\n".join(lines), encoding="utf-8")
        labelled.write_text(
            "\n".join(f"__label__{at % 2} {line}" for at, line in enumerate(lines)),
            encoding="utf-8",
        )
        options: dict[str, Any] = {"dim": 7, "epoch": 1, "thread": 1, "verbose": 0, "minCount": 1}
        for name, more in (
            ("skipgram", {"bucket": 997, "minn": 2, "maxn": 5}),
            ("cbow", {"maxn": 0}),
        ):
            model = fasttext.train_unsupervised(str(text), model=name, **options, **more)
            model.save_model(str(folder / f"{name}.bin"))
        model = fasttext.train_supervised(
            str(labelled), **{**options, "dim": 10}, bucket=997, minn=1, maxn=4
        )
        model.save_model(str(folder / "classifier.bin"))
        for norms in (True, False):
            model = fasttext.load_model(str(folder / "classifier.bin"))
            model.quantize(qnorm=norms, cutoff=400, dsub=4)
            model.save_model(str(folder / f"norms-{norms}.ftz"))
        return folder

    @pytest.mark.parametrize("name", ["skipgram", "cbow"])
    def test_known_and_unknown_words_equal_fasttext(trained: Path, name: str) -> None:
        path = trained / f"{name}.bin"
        model = fasttext.load_model(str(path))
        asked = [*model.get_words(), *made_words(3000, 3), "a", "Ä", "x" * 300]
        words = noppa.WordVectors.load(path, keep=asked, drop=())
        expected = np.array([model.get_word_vector(word) for word in words.words])
        assert np.abs(words.matrix - expected).max() < 1e-6
        # Without n-grams a word that the dictionary lacks has no vector, and fastText gives zeros.
        made = set(asked) if name == "skipgram" else set(model.get_words())
        assert set(words.words) == {word for word in made if word}

    @pytest.mark.parametrize("name", ["skipgram.bin", "norms-True.ftz"])
    def test_unknown_words_of_texts_equal_fasttext_and_survive_saving(
        trained: Path, tmp_path: Path, name: str
    ) -> None:
        source, path = trained / name, tmp_path / name
        content = source.read_bytes()
        path.write_bytes(unlabelled(content) if name.endswith("ftz") else content)
        model = fasttext.load_model(str(source))
        words = noppa.WordVectors.load(path, case="exact")
        asked = [*model.get_words(), *dict.fromkeys(made_words(2000, 3))]
        asked.remove("</s>")
        encoder = noppa.Encoder(words, noppa.Average())
        encoder.save(tmp_path / "saved")
        expected = np.array([model.get_word_vector(word) for word in asked])
        for one in (encoder, noppa.load(tmp_path / "saved")):
            rows = one.encode_tokens([[word] for word in asked])
            assert np.abs(rows - expected).max() < 1e-6
            unknown = next(word for word in reversed(asked) if word not in words)
            assert np.abs(one.words[unknown] - model.get_word_vector(unknown)).max() < 1e-6

    @pytest.mark.parametrize("norms", [True, False])
    def test_quantized_and_pruned_rows_equal_fasttext(
        trained: Path, tmp_path: Path, norms: bool
    ) -> None:
        """fastText quantizes classifiers alone: the labels are taken out, which leaves its input as it is."""
        source, path = trained / f"norms-{norms}.ftz", tmp_path / "model.ftz"
        path.write_bytes(unlabelled(source.read_bytes()))
        model = fasttext.load_model(str(source))
        words = noppa.WordVectors.load(path, keep=[*model.get_words(), *made_words(2000, 4)])
        expected = np.array([model.get_word_vector(word) for word in words.words])
        assert len(words) > 500
        assert np.abs(words.matrix - expected).max() < 1e-6

    def test_a_classifier_is_refused(trained: Path) -> None:
        with pytest.raises(noppa.NoppaError, match="is a fastText classifier, whose words"):
            noppa.WordVectors.load(trained / "classifier.bin")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "made.bin"
    path.write_bytes(made_model())
    return path


def test_the_words_of_a_model_and_their_counts(model: Path) -> None:
    words = noppa.WordVectors.load(model)
    assert words.words == ["the", "cake", "Straße"]
    assert words.report is not None
    assert words.report.format == "fastText model"
    assert words.probabilities == pytest.approx(np.array([60, 3, 1]) / 74)
    assert noppa.WordVectors.load(model, keep=["cake", "the"]).words == ["the", "cake"]
    opened = FastText(model)
    assert opened.vectors([b"</s>"], np.array([0]), 1)[0].tolist() == [0, 1, 2]
    assert noppa.WordVectors.load(model, limit=1, dtype="float16").matrix.dtype == np.float16


@pytest.mark.parametrize("count", [0, 1, 2, 7, 97])
def test_native_equals_the_twin(count: int) -> None:
    words = [word.encode() for word in made_words(count, 5)]
    words[1:3] = [b"", b"\xff\x80\x00a"][: max(count - 1, 0)]
    bounds = np.cumsum([0, *map(len, words)], dtype=np.int64)
    text = np.frombuffer(b"".join(words), np.uint8)
    for shortest, longest in ((1, 1), (2, 5), (3, 3), (0, 64), (5, 2)):
        arguments = text, bounds, shortest, longest, 97
        ours, twin = _native.ngram_buckets(*arguments), oracle.ngram_buckets(*arguments)
        assert [part.tolist() for part in ours] == [part.tolist() for part in twin]
    ids, offsets = _native.ngram_buckets(text, bounds, 2, 4, 97)
    data = np.random.default_rng(6).normal(size=97 * 5).astype("<f4").tobytes()
    rows = np.frombuffer(b"x" + data, np.uint8)
    for threads in (1, 2):
        means = _native.mean_rows(rows, 1, 97, 5, ids, offsets, threads)
        expected = oracle.mean_rows(rows, 1, 97, 5, ids, offsets, 1)
        assert np.asarray(means) == pytest.approx(expected, abs=1e-6)


def test_native_code_trusts_nothing() -> None:
    data, none = np.zeros(40, np.uint8), np.zeros(1, np.int64)
    one = np.zeros(1, np.int32), np.array([0, 1])
    for start, rows, dim in (
        (0, 3, 5),
        (-1, 1, 1),
        (41, 0, 1),
        (0, 2**62, 2**30),
        (0, 1, 0),
        (0, 0, 1),
    ):
        with pytest.raises(ValueError, match=r"fit|negative|outside"):
            _native.mean_rows(data, start, rows, dim, *one, 1)
    with pytest.raises(ValueError, match="buckets"):
        _native.ngram_buckets(np.zeros(0, np.uint8), none, 1, 2, 0)
    for start, count in ((0, 2**62), (41, 0), (-1, 1), (0, 5)):
        assert _native.parse_entries(data, start, count)[3] == -1
        assert oracle.parse_entries(data, start, count)[3] == -1


def test_every_cut_file_is_refused_in_one_sentence(model: Path) -> None:
    content = model.read_bytes()
    for size in [*range(4, 200, 7), len(content) - 1]:
        model.write_bytes(content[:size])
        with pytest.raises(noppa.NoppaError, match=r"damaged fastText model: .*; fetch"):
            noppa.WordVectors.load(model)


@pytest.mark.parametrize(
    ("offset", "value", "told"),
    [
        (4, 10, "version 10, and only 11 and 12"),
        (8, 0, "0 dimensions"),
        (8, 2**31 - 1, "dimensions"),
        (8, 4, "does not fit it"),
        (36, 3, "is a fastText classifier"),
        (36, 9, "its kind is 9"),
        (40, 2**31 - 1, "does not fit it"),
        (40, -5, "buckets"),
        (48, 2**30, "n-grams of"),
        (64, 2**31 - 1, "entries"),
    ],
)
def test_hostile_sizes(model: Path, offset: int, value: int, told: str) -> None:
    content = bytearray(model.read_bytes())
    struct.pack_into("<i", content, offset, value)
    model.write_bytes(content)
    with pytest.raises(noppa.NoppaError, match=told) as raised:
        noppa.WordVectors.load(model)
    assert "\n" not in str(raised.value)


def test_values_that_are_not_finite(model: Path) -> None:
    content = bytearray(model.read_bytes())
    content[-4:] = struct.pack("<f", float("nan"))
    model.write_bytes(content)
    with pytest.raises(noppa.NoppaError, match="not finite or too large"):
        noppa.WordVectors.load(model, keep=[f"{letter}x" for letter in "abcdefgh"])


TEXTS = ["the Kuchen!", "cake", "the cake", "Straße x Kuchen", "Kuchen Kuchen", "xyz"] * 4


def test_a_text_has_the_same_bytes_in_any_company(model: Path, tmp_path: Path) -> None:
    words = noppa.WordVectors.load(model)
    assert words.unknown == "ngrams"
    assert "Kuchen" not in words
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0), noppa.Whitening(2)).fit(TEXTS)
    assert encoder.fitted_on == 24
    rows = encoder.encode(TEXTS)
    encoder.save(tmp_path / "saved")
    saved = noppa.load(tmp_path / "saved")
    for one, threads in ((encoder, 1), (encoder, 2), (saved, 2)):
        assert one.encode(TEXTS, threads).tobytes() == rows.tobytes()
        assert np.concatenate([one.encode(t)[None] for t in TEXTS]).tobytes() == rows.tobytes()
    assert pickle.loads(pickle.dumps(saved)).encode(TEXTS).tobytes() == rows.tobytes()
    share = words.coverage(TEXTS)
    assert share.piece_types == 4
    assert not share.empty
    told = saved.explain("the Kuchen!")
    assert told.tokens == ("the", "Kuchen", "!")
    assert told.known.all()
    assert np.allclose(told.vector, rows[0], atol=1e-5)


def test_frozen_words_give_what_composed_ones_give(model: Path, tmp_path: Path) -> None:
    words = noppa.WordVectors.load(model)
    words.save(tmp_path / "words")
    saved = noppa.WordVectors.load(tmp_path / "words")
    rows = noppa.Encoder(words, noppa.Average()).encode(TEXTS)
    for table in (
        words.frozen(TEXTS),
        saved.frozen(iter(TEXTS)),
        noppa.WordVectors.load(tmp_path / "words", texts=TEXTS),
        noppa.WordVectors.load(model, texts=TEXTS),
    ):
        assert table.ngrams is None
        assert "Kuchen" in table
        assert noppa.Encoder(table, noppa.Average()).encode(TEXTS).tobytes() == rows.tobytes()
    assert noppa.WordVectors.load(model, unknown="skip").ngrams is None
    skipped = noppa.WordVectors.load(tmp_path / "words", unknown="skip")
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        assert not noppa.Encoder(skipped, noppa.Average()).encode("Kuchen").any()


def test_texts_are_split_by_the_whole_vocabulary(tmp_path: Path) -> None:
    """Segmentation uses the ranks of all words, not only those of the batch."""
    path = tmp_path / "made.bin"
    path.write_bytes(made_model(words=(("</s>", 9), ("我", 9), ("喜欢", 8), ("喜", 7), ("欢", 6))))
    words = noppa.WordVectors.load(path, tokenizer="zh")
    encoder = noppa.Encoder(words, noppa.Average())
    alone = [encoder.encode(text) for text in ("我喜欢Netflix", "喜", "喜欢")]
    both = encoder.encode(["我喜欢Netflix", "喜", "喜欢"])
    assert both.tobytes() == b"".join(row.tobytes() for row in alone)
    assert encoder.explain("我喜欢Netflix").tokens == ("我", "喜欢", "Netflix")


def test_what_needs_a_table_says_so(model: Path, tmp_path: Path) -> None:
    words = noppa.WordVectors.load(model)
    for call in (
        lambda: noppa.Encoder(words, noppa.TfIdf()),
        lambda: words.quantized(),
        lambda: words.columns(0, 2),
    ):
        with pytest.raises(noppa.NoppaError, match=r"freeze|convert"):
            call()
    for call in (
        lambda: noppa.WordVectors(["a"], [[1.0]], unknown="ngrams"),
        lambda: noppa.WordVectors.load(model, limit=2, unknown="ngrams"),
    ):
        with pytest.raises(noppa.NoppaError, match="needs the n-grams of a whole fastText model"):
            call()
    noppa.WordVectors(["a"], [[1.0]]).save(tmp_path / "plain")
    with pytest.raises(noppa.NoppaError, match="holds no n-grams"):
        noppa.WordVectors.load(tmp_path / "plain", unknown="ngrams")


@pytest.mark.parametrize("suffix", ["gz", "xz"])
def test_a_compressed_model_is_unpacked(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    packed = tmp_path / f"made.bin.{suffix}"
    packed.write_bytes({"gz": gzip, "xz": lzma}[suffix].compress(model.read_bytes()))
    seen: list[tuple[int, int]] = []
    words = noppa.WordVectors.load(packed, progress=lambda *done: seen.append(done))
    assert (packed.stat().st_size,) * 2 in seen
    assert words["Kuchen"].tolist() == noppa.WordVectors.load(model)["Kuchen"].tolist()
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(noppa.NoppaError, match="damaged or cut short"):
        noppa.WordVectors.load(packed)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(noppa.NoppaError, match="set TMPDIR to another folder, or unpack it"):
        noppa.WordVectors.load(packed)


def test_the_server_an_index_and_parts_of_a_corpus_compose_words_too(
    model: Path, tmp_path: Path
) -> None:
    words = noppa.WordVectors.load(model)
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0), noppa.Whitening(2))
    from noppa.integrations.cluster import sums_of

    sums = sums_of(encoder, TEXTS, {})
    rows = noppa.Encoder(words, noppa.NoPPA(k=0)).encode(TEXTS)
    assert sums["total"] == pytest.approx(rows.astype(float).sum(axis=0))
    encoder.fit(TEXTS).save(tmp_path / "saved")
    settings = Settings(model=str(tmp_path / "saved"))
    body = {"inputs": ["the Kuchen", "xyz"], "normalize": False}
    with TestClient(Application.load(settings), base_url="http://127.0.0.1") as client:
        answer = np.array(client.post("/embed", json=body).json())
        assert answer == pytest.approx(encoder.encode(body["inputs"]), abs=1e-6)
    index = noppa.Index(encoder)
    index.add(TEXTS[:6])
    assert index.search("xyz", 1, mode="meaning")[0].text == "xyz"
