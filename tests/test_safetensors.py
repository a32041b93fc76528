"""safetensors: their package reads our files, and we read theirs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

import noppa
from noppa.errors import FileError
from noppa.words import formats as files
from tests.conftest import made_texts, made_words


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_ours_are_read_by_theirs(tmp_path: Path, dtype: str) -> None:
    made_words().save(tmp_path / "words")
    words = noppa.WordVectors.load(tmp_path / "words", dtype=dtype)
    files.write(words, tmp_path / "words.safetensors")
    tensors = load_file(tmp_path / "words.safetensors")
    np.testing.assert_array_equal(tensors["embeddings"], words.matrix)
    if dtype == "int8":
        np.testing.assert_array_equal(tensors["scales"], words.scales)
    assert (tmp_path / "words.vocab.txt").read_text("utf-8").splitlines() == words.words
    again = noppa.WordVectors.load(tmp_path / "words.safetensors", dtype=dtype)
    np.testing.assert_array_equal(
        again.vectors(range(len(again))), words.vectors(range(len(words)))
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
def test_theirs_are_read_by_ours(tmp_path: Path, dtype: type) -> None:
    words = made_words()
    table = words.matrix.astype(dtype)
    save_file({"embeddings": table, "other": np.zeros((2, 2))}, tmp_path / "v.safetensors")
    (tmp_path / "v.vocab.txt").write_text("\n".join(words.words) + "\n", encoding="utf-8")
    ours = noppa.WordVectors.load(tmp_path / "v.safetensors")
    np.testing.assert_array_equal(ours.matrix, table.astype(np.float32))
    texts = made_texts(9, words)
    assert noppa.Encoder(ours, noppa.Average()).encode(texts).shape == (9, words.dim)


def test_an_encoder_as_one_vector_a_word(tmp_path: Path) -> None:
    """What `noppa export` writes: the mean of a text's rows is its vector."""
    from noppa.export import export

    words = made_words()
    encoder = noppa.Encoder(words, noppa.SIF()).fit(made_texts(30, words))
    export(encoder, "safetensors", tmp_path / "sif.safetensors")
    with safe_open(tmp_path / "sif.safetensors", "np") as opened:
        rows = opened.get_tensor("embeddings")
    text = "the girl eats delicious cake"
    at = [words.words.index(word) for word in text.split()]
    np.testing.assert_allclose(rows[at].mean(axis=0), encoder.encode(text), atol=1e-6)


def test_damaged_files_are_one_sentence(tmp_path: Path) -> None:
    files.write(made_words(), tmp_path / "w.safetensors")
    whole = (tmp_path / "w.safetensors").read_bytes()
    (tmp_path / "w.safetensors").write_bytes(whole[:-5])
    with pytest.raises(FileError, match="cut short"):
        noppa.WordVectors.load(tmp_path / "w.safetensors")
    save_file({"a": np.zeros((2, 2)), "b": np.zeros((3, 2))}, tmp_path / "two.safetensors")
    with pytest.raises(FileError, match="holds 2 tables"):
        noppa.WordVectors.load(tmp_path / "two.safetensors")
