"""Use word vectors in memory: lookup, unknown words, probabilities and coverage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noppa
from noppa import _native
from noppa.words.frequencies import CLOSED_CLASS
from tests import oracle
from tests.conftest import made_words

MATRIX = np.arange(12, dtype=np.float32).reshape(4, 3)
NAMES = ["The", "the", "cake", "<unk>"]


def test_exact_then_lower_case() -> None:
    words = noppa.WordVectors(NAMES, MATRIX)
    assert words["The"].tolist() == [0, 1, 2]
    assert words["THE"].tolist() == [3, 4, 5]
    assert words["Cake"].tolist() == [6, 7, 8]
    assert len(words) == 4
    assert words.dim == 3
    assert "CAKE" in words
    assert "pie" not in words
    assert 5 not in words
    exact = noppa.WordVectors(NAMES, MATRIX, case="exact")
    assert "CAKE" not in exact
    lower = noppa.WordVectors(NAMES, MATRIX, case="lower")
    assert lower["The"].tolist() == [3, 4, 5]


def test_unknown_words_follow_their_policy() -> None:
    def encoded(unknown: str, text: str) -> np.ndarray:
        words = noppa.WordVectors(NAMES, MATRIX, unknown=unknown)
        return noppa.Encoder(words, noppa.NoPPA(a=None, k=0, parts=("word",))).encode(text)

    assert encoded("skip", "the pie").tolist() == [3, 4, 5]
    assert encoded("zero", "the pie").tolist() == [1.5, 2, 2.5]
    assert encoded("unk", "the pie").tolist() == [6, 7, 8]
    with pytest.raises(noppa.NoppaError, match="needs a row called <unk>"):
        noppa.WordVectors(["a"], [[1.0]], unknown="unk")


def test_a_repeated_word_never_shifts_the_others() -> None:
    """D9: the first vector counts, and every later word keeps its own."""
    with pytest.warns(noppa.NoppaWarning, match="1 words occur more than once, the first is 'b'"):
        words = noppa.WordVectors(["a", "b", "b", "c"], MATRIX)
    assert words["b"].tolist() == [3, 4, 5]
    assert words["c"].tolist() == [9, 10, 11]


@given(st.lists(st.text(max_size=12), min_size=1, max_size=30, unique=True), st.text(max_size=12))
def test_native_look_up_equals_the_oracle(vocabulary: list[str], other: str) -> None:
    encoded = [word.encode("utf-8", "replace") for word in vocabulary]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    sentences = [[*vocabulary, other, other.upper(), *(word.upper() for word in vocabulary)]]
    for case in (0, 1, 2):
        ids = [
            module.Vocabulary(text, bounds, module.build_slots(text, bounds)[0], case, -1)
            .look_up_tokens(sentences)[0]
            .tolist()
            for module in (_native, oracle)
        ]
        assert ids[0] == ids[1]


@pytest.mark.parametrize(
    ("words", "matrix", "options", "message"),
    [
        (
            ["a", "b"],
            np.ones((3, 2)),
            {},
            r"2 words need a matrix of shape \(2, dim\).*not \(3, 2\)",
        ),
        (["a", "b"], [[1.0, 2.0], [np.nan, 1.0]], {}, "the vector of 'b' has nan at dimension 0"),
        (["a", 5], np.ones((2, 2)), {}, "item 1 is a int"),
        (["a"], np.ones((1, 2)), {"probabilities": [0.1, 0.2]}, "1 words need 1 probabilities"),
        (["a"], np.ones((1, 2)), {"probabilities": [1.5]}, "probability 0 is .*1.5"),
        (["a"], np.ones((1, 2), np.int8), {}, "an int8 matrix needs scales"),
        (["a"], np.ones((1, 2)), {"scales": [1.0]}, "an int8 matrix needs scales"),
    ],
)
def test_bad_words(
    words: list[str], matrix: object, options: dict[str, object], message: str
) -> None:
    with pytest.raises(noppa.NoppaError, match=message):
        noppa.WordVectors(words, matrix, **options)  # type: ignore[arg-type]


class TestProbabilities:
    words = noppa.WordVectors(
        ["the", "The", "cake", "rare", ".", "n't", "’"],
        np.random.default_rng(0).normal(size=(7, 2)),
    )

    def of(self, words: noppa.WordVectors) -> dict[str, float]:
        assert words.probabilities is not None
        return dict(zip(words.words, words.probabilities.tolist(), strict=True))

    def test_counts_merge_case_and_divide_by_all(self) -> None:
        p = self.of(self.words.with_counts({"the": 6, "THE": 2, "cake": 1, "elsewhere": 11}))
        assert p["the"] == p["The"] == pytest.approx(8 / 20)
        assert p["cake"] == pytest.approx(1 / 20)

    def test_missing_words_are_as_rare_as_the_rarest(self) -> None:
        p = self.of(self.words.with_counts({"the": 9, "cake": 1}))
        assert p["rare"] == p["cake"] == pytest.approx(0.1)
        assert p["."] == CLOSED_CLASS["."]
        assert p["n't"] == CLOSED_CLASS["n't"]
        assert p["’"] == CLOSED_CLASS["'"]

    def test_missing_may_be_a_number(self) -> None:
        """`missing=0` is what the authors' code does: the largest weight for a word nobody counted (D5)."""
        p = self.of(self.words.with_counts({"the": 9, "cake": 1}, missing=0))
        assert p["rare"] == p["."] == 0
        with pytest.raises(noppa.NoppaError, match="missing must be 'smallest' or a probability"):
            self.words.with_counts({"the": 9}, missing="huge")

    def test_from_a_file(self, tmp_path: Path) -> None:
        file = tmp_path / "counts.txt"
        file.write_bytes(b"the 6\r\nThe\t2\n\ncake 1.0\nodd word 1\n")
        assert self.of(self.words.with_counts(file))["the"] == pytest.approx(0.8)

    def test_from_a_corpus(self) -> None:
        p = self.of(self.words.with_corpus(iter(["The cake.", "the cake", "the"])))
        assert p["the"] == pytest.approx(3 / 6)
        assert p["."] == pytest.approx(1 / 6)

    def test_from_ranks_is_marked_as_an_estimate(self) -> None:
        ranked = self.words.with_ranks()
        p = self.of(ranked)
        assert p["the"] == pytest.approx(2 * p["The"])
        assert sum(p.values()) == pytest.approx(1)
        assert "estimate" in repr(ranked)

    def test_given_with_gaps(self) -> None:
        words = noppa.WordVectors(["a", "b", "."], np.ones((3, 2)), [0.5, np.nan, np.nan])
        assert self.of(words) == {"a": 0.5, "b": 0.5, ".": CLOSED_CLASS["."]}
        assert words.counted is not None
        assert words.counted.tolist() == [True, False, False]

    def test_the_original_is_left_alone(self) -> None:
        self.words.with_ranks()
        assert self.words.probabilities is None


def test_coverage() -> None:
    words = noppa.WordVectors(["the", "cake"], np.ones((2, 2)))
    report = words.coverage(["The cake, the pie", "pie pie", "", "Cake"])
    assert (report.tokens, report.known_tokens) == (8, 4)
    assert (report.types, report.known_types) == (6, 4)
    assert report.unknown == [("pie", 3), (",", 1)]
    assert report.empty == [1, 2]
    assert report.token_share == 0.5
    assert "pie (3)" in str(report)
    assert words.coverage([]).token_share == 0


def test_save_and_load(tmp_path: Path) -> None:
    words = made_words(unknown="zero", case="exact")
    words.save(tmp_path / "words")
    again = noppa.WordVectors.load(tmp_path / "words")
    assert again.words == words.words
    assert (again.matrix == words.matrix).all()
    assert (again.probabilities == words.probabilities).all()
    assert (again.unknown, again.case) == ("zero", "exact")
    assert again["café"].tolist() == words["café"].tolist()


def test_probabilities_of_other_languages_from_wordfreq() -> None:
    names = ["le", "l'", "L'", "homme", "。", "¿", ";", "zzqx"]
    words = noppa.WordVectors(names, np.eye(len(names))).with_counts("wordfreq:fr")
    probabilities = dict(zip(names, words.probabilities, strict=True))
    assert probabilities["le"] > probabilities["l'"] == probabilities["L'"] > 0.01
    assert probabilities["。"] == CLOSED_CLASS["."]
    assert probabilities["¿"] == CLOSED_CLASS["?"]
    assert probabilities[";"] == CLOSED_CLASS[";"]
    assert probabilities["zzqx"] == probabilities["homme"]
    assert words.counted.tolist() == [True] * 4 + [False] * 4
    assert words.word_probabilities.source == "wordfreq:fr"
    with pytest.raises(noppa.NoppaError, match="wordfreq has no counts of 'xx', only of ar, bg"):
        words.with_counts("wordfreq:xx")


def test_a_corpus_is_counted_by_the_rules_of_its_language() -> None:
    words = noppa.WordVectors(["l'", "homme", "femme"], np.eye(3), tokenizer="fr")
    counted = words.with_corpus(["l'homme", "L'homme !"])
    assert counted.probabilities[:2].tolist() == [2 / 5, 2 / 5]
    assert counted.counted.tolist() == [True, True, False]
