"""`noppa.deduplicate`: what is kept, what each removed text repeats and why, at any threshold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import noppa
from noppa.dedupe.deduplicate import first_occurrences, shared_words
from noppa.errors import ParameterError
from tests.test_near_duplicates import made_rows

TEXTS = [
    "a red car on the road",
    "the sea is calm today",
    "A red car on the road!",
    "the sea is calm today",
    "two dogs play in the snow",
    "zzqx wwqx",
    "zzqx wwqx",
    "a red car is on a road",
]


def test_kept_and_removed() -> None:
    found = noppa.deduplicate(TEXTS)
    assert found.kept.tolist() == [0, 1, 4, 5]
    assert found.kept_texts == [TEXTS[row] for row in (0, 1, 4, 5)]
    assert [(one.row, one.repeats) for one in found.removed] == [(2, 0), (3, 1), (6, 5), (7, 0)]
    first = found.removed[0]
    assert first.words == ("a", "red", "car", "on", "the", "road")
    assert (first.text, first.repeated_text) == (TEXTS[2], TEXTS[0])
    assert first.similarity == pytest.approx(
        noppa.load("similarity").similarity(*TEXTS[:3:2]), abs=1e-5
    )
    assert found.removed[1].similarity == 1
    assert found.removed[-1].words == ("a", "red", "car", "on", "road")


def test_another_threshold_needs_no_encoder() -> None:
    calls = []

    def encode(texts: list[str]) -> np.ndarray:
        calls.append(len(texts))
        return noppa.load("similarity").encode(texts)

    found = noppa.deduplicate(TEXTS, model=encode)
    before = len(calls)
    assert found.at(1).kept.tolist() == [0, 1, 2, 4, 5, 7]
    assert found.at(0.9).kept.tolist() == found.kept.tolist()
    assert len(found.down_to(5).kept) == 5
    assert len(calls) == before


def test_down_to_keeps_as_many_as_asked() -> None:
    rows = made_rows(400, noise=0.12)
    texts = [f"text {number}" for number in range(400)]
    found = noppa.deduplicate(texts, model=lambda some: rows[[int(one.split()[1]) for one in some]])
    assert len(found.at(0.5).kept) < 200 < len(found.at(1).kept)
    with pytest.raises(ParameterError, match=r"rows differ even at a threshold of 0\.5"):
        found.down_to(1)
    for count in (150, 200, 399, 400, 1000):
        fewer = found.down_to(count)
        assert len(fewer.kept) == min(count, 400)
        assert len(fewer.kept) + len(fewer.removed) == 400
        kept = set(fewer.kept.tolist())
        assert all(one.repeats in kept for one in fewer.removed)


def test_a_reference_is_kept_and_not_judged() -> None:
    reference = ["the sea is calm today", "the sea is calm today", "a red car on the road"]
    found = noppa.deduplicate([*TEXTS[:2], "a new text about the moon"], reference=reference)
    assert found.kept.tolist() == [2]
    repeats = [(one.row, one.repeats, one.in_reference) for one in found.removed]
    assert repeats == [(0, 2, True), (1, 0, True)]
    assert found.removed[0].repeated_text == reference[2]


def test_texts_without_a_known_word_repeat_only_the_very_same() -> None:
    words = noppa.WordVectors(["cake"], [[1.0, 0.0]])
    found = noppa.deduplicate(
        ["xx", "yy", "xx", "cake", ""], model=noppa.Encoder(words, noppa.Average())
    )
    assert found.kept.tolist() == [0, 1, 3, 4]
    assert found.removed[0].repeats == 0


def test_a_removed_row_names_a_kept_one() -> None:
    """b repeats a; c is near b and not near a: it is kept."""
    angles = np.radians([0, 20, 40])
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    found = noppa.deduplicate(
        ["a", "b", "c"], 0.9, model=lambda some: rows[["abc".index(s) for s in some]]
    )
    assert found.kept.tolist() == [0, 2]
    # The same text as a removed one repeats what that repeats.
    found = noppa.deduplicate(
        ["a", "b", "c", "b"], 0.9, model=lambda some: rows[["abc".index(s) for s in some]]
    )
    assert [(one.row, one.repeats) for one in found.removed] == [(1, 0), (3, 0)]


def test_shared_words_are_the_same_with_every_python() -> None:
    """U+1DF25 became a letter in Unicode 15, which Python 3.12 knows and our tables do not."""
    text, other = "Ein Käse – 2 × \U0001df25, 世界", "× \U0001df25 ein Käse – 世界 2"
    assert shared_words(text, other, None) == ("ein", "käse", "2", "世", "界")


def test_same_texts() -> None:
    assert first_occurrences([]).tolist() == []
    repeated = first_occurrences(["b", "a", "b", "", "a", "", "\ud800"])
    assert repeated.tolist() == [0, 1, 0, 3, 1, 3, 6]


def test_it_prints() -> None:
    found = noppa.deduplicate(TEXTS)
    assert repr(found) == "DeduplicationResult(4 kept, 4 removed, threshold=0.9)"
    first, second, *_ = str(found).splitlines()
    assert first == "8 texts: 4 kept, 4 repeat another with a cosine of 0.9 or more"
    assert second.endswith("row 2 'A red car on the road!' repeats row 0 'a red car on the road'")
    assert str(noppa.deduplicate(["a"] * 20)).endswith("… and 9 more")


def test_tables_and_files(tmp_path: Path) -> None:
    found = noppa.deduplicate(TEXTS)
    table = found.to_arrow()
    assert table.column_names == list(found.to_pandas().columns)
    assert table["words"][0].as_py() == ["a", "red", "car", "on", "the", "road"]
    for suffix in ("jsonl", "parquet"):
        found.save(tmp_path / f"removed.{suffix}")
    lines = (tmp_path / "removed.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[1])["similarity"] == 1.0
    read = pyarrow.parquet.read_table(tmp_path / "removed.parquet")
    assert read["row"].to_pylist() == [2, 3, 6, 7]
    assert read.schema == table.schema


def test_nothing_at_all() -> None:
    found = noppa.deduplicate([])
    assert len(found.kept) == len(found.removed) == len(found.at(0.5).kept) == 0
    assert noppa.deduplicate([], reference=["a cake"]).kept.tolist() == []
    assert found.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "one text"}, "a single text was given"),
        ({"texts": ["a", None]}, "item 1 is missing"),
        ({"texts": ["a"], "threshold": 0.2}, "threshold must be a number from 0.5 to 1, not 0.2"),
        ({"texts": ["a"], "threshold": "high"}, "threshold must be a number"),
        ({"texts": ["a"], "reference": [3]}, "item 0 is a int"),
    ],
)
def test_bad_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(noppa.NoppaError, match=message):
        noppa.deduplicate(**arguments)  # type: ignore[arg-type]
