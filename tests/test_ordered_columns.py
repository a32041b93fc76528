"""Cut means of words whose columns are ordered by importance."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noppa
from noppa.words.storage import KIND


def words(ordered: bool = True) -> noppa.WordVectors:
    rows = np.arange(24, dtype=np.float32).reshape(3, 8)
    return noppa.WordVectors(["a", "girl", "cake"], rows, [0.5, 0.1, 0.1], ordered=ordered)


def test_a_mean_of_ordered_words_can_be_cut() -> None:
    encoder = noppa.Encoder(words(), noppa.Average())
    assert encoder.ordered
    whole = encoder.encode("a cake")
    assert (encoder.encode("a cake", dim=3) == whole[:3]).all()


@pytest.mark.parametrize(
    "encoder",
    [
        noppa.Encoder(words(ordered=False), noppa.Average()),
        noppa.Encoder(words(), noppa.NoPPA(k=0)),
        noppa.Encoder(words(), noppa.DCT()),
    ],
    ids=["words", "noppa", "dct"],
)
def test_others_cannot(encoder: noppa.Encoder) -> None:
    assert not encoder.ordered
    with pytest.raises(noppa.NoppaError, match="would keep an arbitrary part"):
        encoder.encode("a cake", dim=3)


def test_views_know_which_of_their_columns_are_ordered() -> None:
    table = words()
    assert table.columns(0, 5).ordered
    assert table.columns(2, 8).ordered
    table.ordered_columns = 2, 6
    assert not table.ordered
    assert table.columns(2, 6).ordered
    assert table.columns(3, 5).ordered
    assert not table.columns(1, 6).ordered
    assert not table.columns(2, 8).ordered
    assert not table.columns(6, 8).ordered


def test_they_are_saved(tmp_path: Path) -> None:
    table = words().quantized(4, [4, 4])
    table.ordered_columns = 4, 8
    table.save(tmp_path / "words")
    assert noppa.WordVectors.load(tmp_path / "words").columns(4, 8).ordered
    words(ordered=False).save(tmp_path / "plain")
    header = json.loads((tmp_path / "plain" / "noppa.json").read_text().rsplit("\n", 2)[0])
    assert "ordered columns" not in header
    assert header["kind"] == KIND
