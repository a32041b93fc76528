"""Hugging Face datasets: a column of vectors, cached by what the encoder is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from datasets.fingerprint import Hasher

import noppa
from noppa.errors import InputError, ParameterError
from noppa.integrations.datasets import Encode
from tests.conftest import made_texts, made_words

TEXTS = [f"the girl eats {number} cakes" for number in range(40)]


@pytest.fixture
def dataset() -> Dataset:
    return Dataset.from_dict({"text": TEXTS, "number": list(range(40))})


def test_rows_in_one_and_in_two_processes(dataset: Dataset) -> None:
    wanted = noppa.load().encode(TEXTS)
    one = dataset.map(Encode(), batched=True, batch_size=7)
    two = dataset.map(Encode(output="there"), batched=True, batch_size=7, num_proc=2)
    np.testing.assert_array_equal(one.with_format("numpy")["vector"][:], wanted)
    np.testing.assert_array_equal(two.with_format("numpy")["there"][:], wanted)
    assert str(one.features["vector"].feature.dtype) == "float32"
    assert one["number"][:3] == [0, 1, 2]


def test_the_cache_is_used_and_is_never_stale(tmp_path: Path) -> None:
    dataset = Dataset.from_dict({"text": TEXTS})
    dataset.save_to_disk(tmp_path / "rows")
    dataset = Dataset.load_from_disk(str(tmp_path / "rows"))
    words = made_words()
    noppa.Encoder(words, noppa.NoPPA(a=0.05, k=0)).save(tmp_path / "model")
    first = dataset.map(Encode(tmp_path / "model"), batched=True)
    again = dataset.map(Encode(str(tmp_path / "model")), batched=True)
    assert first.cache_files == again.cache_files
    noppa.Encoder(words, noppa.NoPPA(a=0.5, k=0)).save(tmp_path / "model")
    other = dataset.map(Encode(tmp_path / "model"), batched=True)
    assert first.cache_files != other.cache_files
    assert first[0]["vector"] != other[0]["vector"]


def test_fingerprints_follow_the_content() -> None:
    assert Hasher.hash(Encode()) == Hasher.hash(Encode("default"))
    assert Hasher.hash(Encode()) != Hasher.hash(Encode("similarity"))
    assert Hasher.hash(Encode()) != Hasher.hash(Encode(normalize=True))
    made = [noppa.Encoder(made_words(seed=seed), noppa.NoPPA(k=0)) for seed in (0, 0, 1)]
    made[0].encode(made_texts(5, made[0].words))
    prints = [Hasher.hash(Encode(model)) for model in made]
    assert prints[0] == prints[1] != prints[2]


def test_what_is_wrong_is_one_sentence(dataset: Dataset) -> None:
    with pytest.raises(ParameterError, match="no column 'body', only 'text', 'number'"):
        dataset.map(Encode(column="body"), batched=True)
    with pytest.raises(InputError, match="batched=True"):
        dataset.map(Encode())
    gaps = Dataset.from_dict({"text": ["a cake", None]})
    with pytest.raises(InputError, match="item 1 is missing"):
        gaps.map(Encode(), batched=True)
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        rows = gaps.map(Encode(on_error="empty"), batched=True)
    assert not any(rows[1]["vector"])
    assert len(gaps.select([]).map(Encode(), batched=True)) == 0
