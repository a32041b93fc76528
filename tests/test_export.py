"""Export encoders to formats that need no other package; tests/integrations has the others."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from typer.testing import CliRunner

import noppa
from noppa.cli import program
from noppa.errors import MissingPackageError, NoppaError, ParameterError
from noppa.export import export
from noppa.export.means import mean_words
from tests.conftest import made_texts, made_words


def means(words: noppa.WordVectors) -> dict[str, noppa.Encoder]:
    texts = made_texts(60, words)
    return {
        "average": noppa.Encoder(words, noppa.Average()),
        "sif": noppa.Encoder(words, noppa.SIF()).fit(texts),
        "usif": noppa.Encoder(words, noppa.USIF(a=0.01)).fit(texts),
        "word half": noppa.Encoder(words, noppa.NoPPA(parts=("word",), k=2)).fit(texts),
        "sent2vec": noppa.Encoder(words, noppa.Sent2Vec(buckets=0, epochs=1)).fit(texts),
        "whitened": noppa.Encoder(words, noppa.SIF(), noppa.Whitening(4)).fit(texts),
    }


@pytest.mark.parametrize("name", list(means(made_words())))
@pytest.mark.parametrize("file", ["m.vec", "m.bin", "m.vec.gz", "m.safetensors"])
def test_the_mean_of_the_rows_is_the_vector(name: str, file: str, tmp_path: Path) -> None:
    words = made_words()
    encoder = means(words)[name]
    to = "safetensors" if file.endswith("safetensors") else "word2vec"
    export(encoder, to, tmp_path / file)
    read = noppa.Encoder(noppa.WordVectors.load(tmp_path / file), noppa.Average())
    texts = made_texts(30, words, seed=4)
    np.testing.assert_allclose(read.encode(texts), encoder.encode(texts), atol=1e-5)


def test_a_last_scaling_is_left_to_the_reader() -> None:
    words = made_words()
    texts = made_texts(60, words)
    unit = noppa.Encoder(words, noppa.SIF(), noppa.Normalize()).fit(texts)
    rows = noppa.Encoder(mean_words(unit), noppa.Average()).encode(texts, normalize=True)
    np.testing.assert_allclose(rows, unit.encode(texts), atol=1e-5)


class Half(noppa.Method):
    """A user's method that declares itself a mean."""

    is_mean = True

    def pool(self, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return vectors.mean(axis=0) / 2


class Undeclared(noppa.Method):
    def pool(self, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return vectors.mean(axis=0)


class Largest(noppa.Average):
    """Inherits the declaration of the average, which is not true of it."""

    def pool(self, vectors: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return vectors.max(axis=0)


def test_a_method_of_the_user_is_exported_as_it_declares(tmp_path: Path) -> None:
    words = made_words()
    texts = made_texts(30, words)
    encoder = noppa.Encoder(words, Half())
    export(encoder, "word2vec", tmp_path / "m.bin")
    read = noppa.Encoder(noppa.WordVectors.load(tmp_path / "m.bin"), noppa.Average())
    np.testing.assert_allclose(read.encode(texts), encoder.encode(texts), atol=1e-6)
    for method in (Undeclared(), Largest()):
        with pytest.raises(ParameterError, match="not a weighted mean"):
            export(noppa.Encoder(words, method), "word2vec", tmp_path / "no.bin")


@pytest.mark.parametrize("to", ["model2vec", "word2vec", "safetensors"])
def test_pairs_are_refused_with_the_reason(to: str, tmp_path: Path) -> None:
    place = tmp_path / {"word2vec": "m.bin", "safetensors": "m.safetensors"}.get(to, "m")
    with pytest.raises(ParameterError, match=r"not a weighted mean.*words_only"):
        export(noppa.load(), to, place)
    assert list(tmp_path.iterdir()) == []


def test_words_as_they_are(tmp_path: Path) -> None:
    words = made_words()
    encoder = noppa.Encoder(words, noppa.NoPPA(k=0))
    export(encoder, "word2vec", tmp_path / "w.bin", words_only=True)
    again = noppa.WordVectors.load(tmp_path / "w.bin")
    np.testing.assert_array_equal(again.matrix, words.matrix)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"before")
    spaced = noppa.WordVectors(["a", "b c"], np.eye(2))
    with pytest.raises(NoppaError, match="has a space"):
        export(noppa.Encoder(spaced, noppa.Average()), "word2vec", tmp_path / "w.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["w.bin"]
    assert (tmp_path / "w.bin").read_bytes() == b"before"


def test_a_model2vec_folder_is_complete(tmp_path: Path) -> None:
    words = made_words()
    export(noppa.Encoder(words, noppa.SIF(components=0)), "model2vec", tmp_path / "m")
    names = sorted(path.name for path in (tmp_path / "m").iterdir())
    assert names == ["config.json", "model.safetensors", "modules.json", "tokenizer.json"]
    tokenizer = json.loads((tmp_path / "m" / "tokenizer.json").read_text("utf-8"))
    vocabulary = tokenizer["model"]["vocab"]
    assert [*vocabulary][:-1] == words.words
    assert tokenizer["model"]["unk_token"] == [*vocabulary][-1]
    rows = load_file(tmp_path / "m" / "model.safetensors")["embeddings"]
    assert len(rows) == len(vocabulary)
    assert not rows[-1].any()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["similarity", "--to", "word2vec", "-o", "s.bin"], 0, "70000 words, 320 dimensions"),
        (["default", "--to", "safetensors", "-o", "d.safetensors", "--words-only"], 0, "1212 dim"),
        (["similarity", "--to", "model2vec", "-o", "s"], 0, "s: model2vec"),
        (["default", "--to", "word2vec", "-o", "d.bin"], 1, "words_only"),
        (["similarity", "--to", "word2vec", "-o", "s.txt"], 1, "name it s.bin"),
    ],
)
def test_the_command(
    arguments: list[str], code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(program(), ["export", *arguments])
    assert result.exit_code == code
    assert said in " ".join(f"{result.output} {result.exception}".split())
    assert code == 0 or list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("extra", "package"),
    [
        ("sklearn", "sklearn"),
        ("sbert", "torch"),
        ("mteb", "datasets"),
        ("model2vec", "model2vec"),
        ("gensim", "gensim"),
    ],
)
def test_a_missing_package_is_named(
    extra: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"noppa.integrations.{extra}", raising=False)
    with pytest.raises(
        MissingPackageError, match=rf"needs {package}.*pip install 'noppa\[{extra}\]'"
    ):
        importlib.import_module(f"noppa.integrations.{extra}")
