"""Load presets of the embedded model, which share one table of words."""

from __future__ import annotations

import filecmp
import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.encoder import embedded
from noppa.words.formats import in_dtype
from noppa.words.matrix import Matrix
from tests.conftest import VOCABULARY, made_texts
from tools.build_default_model.write_model import write_model

PIECES = ["##s", "##ing"]
TEXTS = ["the girl eats a cake", "cakes and boys", "a boy isn't eating cake"]
LEFT, RIGHT = 5, 8
GOLDEN = Path(__file__).parent / "golden"


def made_model_words() -> noppa.WordVectors:
    """Return words with two blocks of 8-bit columns; the second holds small numbers."""
    rng = np.random.default_rng(0)
    names = [*VOCABULARY, *PIECES]
    halves = [
        in_dtype(size * rng.normal(size=(len(names), width)), "int8")
        for size, width in ((1, LEFT), (0.01, RIGHT))
    ]
    values = np.hstack([values for values, _ in halves])
    words = noppa.WordVectors(
        names,
        values.astype(np.float32),
        rng.dirichlet(np.ones(len(names))).astype(np.float32),
        unknown="pieces",
        pieces=len(PIECES),
    )
    scales = np.stack([scales for _, scales in halves], axis=1)  # type: ignore[arg-type]
    words.rows = Matrix(values, scales, (LEFT, RIGHT))
    return words


def made_presets(words: noppa.WordVectors) -> dict[str, noppa.Encoder]:
    texts = made_texts(200, words.without_pieces())
    return {
        "default": noppa.Encoder(words, noppa.NoPPA(k=2)).fit(texts),
        "similarity": noppa.Encoder(
            words.columns(LEFT, LEFT + RIGHT), noppa.SIF(), refine=noppa.Whitening(6)
        ).fit(texts),
    }


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the embedded model by a small one."""
    folder = tmp_path / "model"
    words = made_model_words()
    write_model(folder, words, made_presets(words))
    monkeypatch.setattr(embedded, "FOLDER", folder)
    return folder


def test_presets_by_name(model: Path) -> None:
    wanted = made_presets(made_model_words())
    assert embedded.presets() == ["default", "similarity"]
    for name, encoder in wanted.items():
        found, rows = noppa.load(name).encode(TEXTS), encoder.encode(TEXTS)
        assert (found == rows).all()
        assert (noppa.load(model / name).encode(TEXTS) == found).all()
    assert (noppa.load().encode(TEXTS) == noppa.load("default").encode(TEXTS)).all()
    assert noppa.load("similarity", verify=True).words.dim == RIGHT
    assert noppa.load().words.unknown == "pieces"


def test_a_name_that_is_neither_preset_nor_folder(model: Path) -> None:
    with pytest.raises(
        noppa.NoppaError, match=r"^simile does not exist.* presets default, similarity$"
    ):
        noppa.load("simile")


def test_a_preset_goes_before_a_folder(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: noppa.WordVectors
) -> None:
    monkeypatch.chdir(tmp_path)
    noppa.Encoder(words, noppa.Average()).save("similarity")
    assert isinstance(noppa.load("similarity").method, noppa.SIF)
    assert isinstance(noppa.load("./similarity").method, noppa.Average)
    assert isinstance(noppa.load(Path("similarity")).method, noppa.Average)


def test_a_preset_saved_stands_alone(model: Path, tmp_path: Path) -> None:
    for name in embedded.presets():
        encoder = noppa.load(name)
        encoder.save(tmp_path / name)
        again = noppa.load(tmp_path / name, verify=True)
        assert again.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
        assert again.words.matrix.flags.c_contiguous
        assert (again.words.rows.blocks, again.words.pieces) == (encoder.words.rows.blocks, 2)
    small = (tmp_path / "similarity" / "words" / "matrix.npy").stat().st_size
    assert small < (tmp_path / "default" / "words" / "matrix.npy").stat().st_size


def test_the_same_input_gives_the_same_bytes(model: Path, tmp_path: Path) -> None:
    words = made_model_words()
    write_model(tmp_path / "again", words, made_presets(words))
    files = [str(path.relative_to(model)) for path in model.rglob("*") if path.is_file()]
    assert {"noppa.json", "words/matrix.npy", "similarity/noppa.json"} <= set(files)
    assert filecmp.cmpfiles(model, tmp_path / "again", files, shallow=False)[1:] == ([], [])
    assert json.loads((model / "similarity" / "noppa.json").read_text().rsplit("\n", 2)[0])[
        "columns"
    ] == [LEFT, LEFT + RIGHT]


def test_a_preset_has_the_words_of_its_model(tmp_path: Path) -> None:
    words = made_model_words()
    for other in (made_model_words(), words.with_ranks(), words.without_pieces()):
        presets = {"default": noppa.Encoder(other, noppa.Average())}
        with pytest.raises(ValueError, match="other words"):
            write_model(tmp_path / "model", words, presets)
        assert not (tmp_path / "model").exists()


def test_a_golden_model_still_loads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written by version 0.1.0 from `made_presets`; every later version must read it."""
    shutil.copytree(GOLDEN / "model-format-2", tmp_path / "model")
    monkeypatch.setattr(embedded, "FOLDER", tmp_path / "model")
    for name in ("default", "similarity"):
        wanted = np.load(GOLDEN / f"model-format-2.{name}.npy")
        assert np.allclose(noppa.load(name, verify=True).encode(TEXTS), wanted, atol=1e-5)


def test_small_and_large_folders_give_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encoder = noppa.load()
    encoder.save(tmp_path / "small")
    monkeypatch.setattr("noppa.words.storage.SMALL", 0)
    encoder.save(tmp_path / "large")
    files = [
        {file.name for file in (tmp_path / name / "words").iterdir()} for name in ("small", "large")
    ]
    assert files[1] - files[0] == {"slots.npy"}
    for name in ("small", "large"):
        words = noppa.WordVectors.load(tmp_path / name / "words")
        assert words.probabilities is not None
        assert words.probabilities.dtype == np.float64
        assert (words.probabilities == encoder.words.probabilities).all()
        again = noppa.load(tmp_path / name)
        assert again.encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
    stored = np.load(tmp_path / "small" / "words" / "probabilities.npy")
    assert stored.dtype == np.float32
    encoder.words.with_ranks().save(tmp_path / "exact")  # what float32 would round stays as it is
    assert np.load(tmp_path / "exact" / "probabilities.npy").dtype == np.float64


class TestColumns:
    words = made_model_words()

    def test_nothing_is_copied(self) -> None:
        view = self.words.columns(2, 9)
        assert np.shares_memory(view.matrix, self.words.matrix)
        assert view.dim == 7
        assert view.lexicon is self.words.lexicon

    @pytest.mark.parametrize(("start", "stop"), [(0, 13), (0, 5), (5, 13), (2, 9), (7, 8), (0, 1)])
    def test_the_columns_of_each_vector(self, start: int, stop: int) -> None:
        view = self.words.columns(start, stop)
        rows = np.arange(len(view))
        assert (view.vectors(rows) == self.words.vectors(rows)[:, start:stop]).all()
        copied = noppa.WordVectors(
            self.words.words,
            view.vectors(rows),
            self.words.probabilities,
            unknown="pieces",
            pieces=2,
        )
        for method in (noppa.NoPPA(k=0, position=None), noppa.SIF(components=0), noppa.DCT(k=2)):
            found = noppa.Encoder(view, method).encode(TEXTS)
            assert np.allclose(found, noppa.Encoder(copied, method).encode(TEXTS), atol=1e-6)


def test_a_pickle_of_another_edition_s_preset_says_what_to_do(model: Path) -> None:
    sent = pickle.dumps(noppa.load("similarity"))
    words = made_model_words().with_ranks()
    shutil.rmtree(model)
    write_model(model, words, made_presets(words))
    message = "^similarity is not the preset that was pickled"
    with pytest.raises(noppa.NoppaError, match=message):
        pickle.loads(sent)


def test_a_preset_is_pickled_by_its_name() -> None:
    """The path differs on another machine."""
    content = pickle.dumps(noppa.load("similarity"))
    assert str(embedded.FOLDER).encode() not in content
    again = pickle.loads(content)
    assert again.path == noppa.load("similarity").path
    assert again.encode("a cake").tobytes() == noppa.load("similarity").encode("a cake").tobytes()
