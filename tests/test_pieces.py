"""Encode unknown words by their pieces."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noppa
from noppa import _native
from noppa.words import formats as files
from tests import oracle
from tests.conftest import made_texts
from tests.test_methods import CASES

WORDS = ["the", "cake", "token", "New", "new", "cafe", "'s", "well", "known", ".", "law", "中"]
PIECES = ["xy", "☆", "##ization", "##iz", "##s", "##e", "##☆", "##ing", "##cake", "ᄀ", "##ᅡ", "##y"]
ROW = {name: row for row, name in enumerate([*WORDS, *PIECES])}


def made(**options: object) -> noppa.WordVectors:
    rng = np.random.default_rng(3)
    matrix = rng.normal(size=(len(ROW), 6)).astype(np.float32)
    settings: dict[str, object] = {"unknown": "pieces", "pieces": len(PIECES), **options}
    return noppa.WordVectors([*ROW], matrix, rng.dirichlet(np.ones(len(ROW))), **settings)  # type: ignore[arg-type]


def rows(words: noppa.WordVectors, *tokens: str) -> list[str]:
    """Return the words and pieces of the tokens; `-` is a dropped token."""
    ids, offsets = words.vocabulary.look_up_tokens([list(tokens)])
    assert offsets.tolist() == [0, len(ids)]
    return [words.words[row] if row >= 0 else "-" for row in ids.tolist()]


@pytest.mark.parametrize(
    ("token", "found"),
    [
        ("cake", ["cake"]),
        ("tokenization", ["token", "##ization"]),
        ("xys", ["xy", "##s"]),  # begins with a piece that is no word
        ("caké", ["cake"]),
        ("Cafés", ["cafe", "##s"]),
        ("tokenş", ["token", "##s"]),
        ("가", ["ᄀ", "##ᅡ"]),
        ("tokenq", ["-"]),  # the rest has no piece
        ("ing", ["-"]),  # only continues words
        ("##ing", ["-"]),
        ("##cake", ["cake"]),
        ("##☆", ["-"]),
        ("well-known", ["well", "known"]),
        ("mother-law", ["law"]),  # what has no rows is left out
        ("中中", ["中", "中"]),
        ("xy中☆", ["xy", "中"]),
        ("", ["-"]),
        ("cake\ud800", ["cake"]),
        ("token\0s", ["token"]),
        ("xy" + "y" * 98, ["xy", *["##y"] * 98]),
        ("xy" + "y" * 99, ["-"]),  # too long
    ],
)
def test_what_a_word_becomes(token: str, found: list[str]) -> None:
    assert rows(made(), token) == found


def test_the_exact_case_keeps_accents() -> None:
    exact = made(case="exact")
    assert rows(exact, "tokens", "Tokens", "tokenş") == ["token", "##s", "-", "-"]
    assert rows(made(case="lower"), "TOKENS") == ["token", "##s"]


def test_a_word_goes_before_an_equal_piece() -> None:
    words = noppa.WordVectors(["a", "b", "a", "##a"], np.eye(4), unknown="pieces", pieces=2)
    assert words.vocabulary.look_up_tokens([["aa", "a"]])[0].tolist() == [0, 3, 0]


ALPHABET = "aABbésŞß가각İ\u0301中文#-' .1☆\0\ud800\udfffςΣ𝅗𝅥"
some_text = st.one_of(st.text(ALPHABET, max_size=30), st.text(max_size=30))


@settings(max_examples=300)
@given(
    st.lists(st.text(ALPHABET, min_size=1, max_size=4), min_size=1, max_size=12, unique=True),
    st.lists(st.text(ALPHABET + "##", min_size=1, max_size=5), min_size=1, max_size=12),
    st.lists(some_text, max_size=5),
    st.integers(0, 2),
)
def test_native_pieces_equal_the_oracle(
    words: list[str], pieces: list[str], tokens: list[str], case: int
) -> None:
    pieces += [f"##{piece}" for piece in pieces]
    encoded = [word.encode("utf-8", "replace") for word in [*words, *pieces]]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    bounds = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    found = []
    for module in (_native, oracle):
        slots = module.build_slots(text, bounds[: len(words) + 1])[0]
        piece_slots = module.build_slots(text, bounds[len(words) :])[0]
        vocabulary = module.Vocabulary(text, bounds, slots, case, -1, len(pieces), piece_slots)
        found.append([*vocabulary.look_up_tokens([tokens, tokens])])
        found[-1] += vocabulary.look_up(tokens, 2)
    for native, plain in zip(*found, strict=True):
        assert native.tolist() == plain.tolist()


@pytest.mark.filterwarnings("ignore:.*their probability is an estimate")
@pytest.mark.parametrize("name", CASES)
def test_every_method_takes_pieces(name: str) -> None:
    words = made()
    texts = [*made_texts(60, words.without_pieces()), "tokenization cafés xys", "well-known ☆☆"]
    encoder = noppa.Encoder(words, CASES[name]).fit(texts)
    together = encoder.encode(texts, threads=2)
    assert np.isfinite(together).all()
    assert together[-1].any()
    alone = [encoder.encode(text, threads=1).tobytes() for text in texts]
    assert [row.tobytes() for row in together] == alone


def test_the_mean_of_the_pieces() -> None:
    words = made()
    row = noppa.Encoder(words, noppa.Average()).encode("tokenization")
    pair = words.vectors([ROW["token"], ROW["##ization"]])
    assert np.allclose(row, pair.mean(axis=0), atol=1e-6)
    tokens = noppa.Encoder(words, noppa.Average()).encode_tokens([["tokenization"]])
    assert (tokens[0] == row).all()


def test_coverage_tells_words_from_pieces() -> None:
    report = made().coverage(["the tokenization", "qqq ##ing", "cakes cakes the", "tokens"])
    assert (report.tokens, report.known_tokens, report.piece_tokens) == (10, 2, 4)
    assert (report.types, report.known_types, report.piece_types) == (7, 1, 3)
    assert report.unknown == [("#", 2), ("qqq", 1), ("ing", 1)]
    assert report.empty == [1]
    assert "4 more tokens are known by pieces" in str(report)


def test_the_other_policies_leave_the_pieces_alone() -> None:
    words = made(unknown="zero")
    assert words.vocabulary.look_up_tokens([["tokens", "xy"]])[0].tolist() == [len(words)] * 2
    assert words.coverage(["tokens"]).piece_tokens == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": 0}, "needs rows of pieces, and there are none"),
        ({"pieces": len(ROW)}, "at least one must be a word"),
        ({"pieces": -1}, "pieces"),
    ],
)
def test_bad_pieces(options: dict[str, object], message: str) -> None:
    with pytest.raises(noppa.NoppaError, match=message):
        made(**options)


def test_repeated_pieces_are_told() -> None:
    with pytest.warns(noppa.NoppaWarning, match="1 words occur more than once, the first is '##a'"):
        words = noppa.WordVectors(["a", "##a", "##a", "##b"], np.eye(4), unknown="pieces", pieces=3)
    assert words.vocabulary.look_up_tokens([["aab"]])[0].tolist() == [0, 1, 3]


def test_saved_loaded_picked_and_pickled(tmp_path: Path) -> None:
    words = made()
    words.save(tmp_path / "words")
    again = noppa.WordVectors.load(tmp_path / "words")
    few = noppa.WordVectors.load(tmp_path / "words", limit=3)
    kept = noppa.WordVectors.load(tmp_path / "words", keep=["token", "##s"], dtype="float16")
    for other in (again, few, kept, pickle.loads(pickle.dumps(words))):
        assert (other.unknown, other.pieces) == ("pieces", len(PIECES))
        assert rows(other, "tokens") == ["token", "##s"]
        assert other.probabilities is not None
        assert other.probabilities[-1] == words.probabilities[-1]  # type: ignore[index]
    assert few.words == [*WORDS[:3], *PIECES]
    assert kept.words == ["token", *PIECES]
    skipping = noppa.WordVectors.load(tmp_path / "words", unknown="skip")
    assert rows(skipping, "tokens") == ["-"]
    assert "12 words, 12 pieces" in repr(again)


def test_other_programs_get_words_alone(tmp_path: Path) -> None:
    words = made()
    for name in ("v.txt", "v.vec", "v.bin", "v.npy", "v.safetensors"):
        files.write(words, tmp_path / name)
        assert noppa.WordVectors.load(tmp_path / name).words == WORDS
    files.write(words, tmp_path / "all.txt", pieces=True)
    assert noppa.WordVectors.load(tmp_path / "all.txt").words == [*WORDS, *PIECES]
    files.write(words, tmp_path / "folder")
    assert noppa.WordVectors.load(tmp_path / "folder").pieces == len(PIECES)


def test_no_piece_is_near_a_word() -> None:
    assert {name for name, _ in made().nearest("cake", 50)} == set(WORDS) - {"cake"}


class TestProbabilities:
    def of(self, words: noppa.WordVectors) -> dict[str, float]:
        assert words.probabilities is not None
        return dict(zip(words.words, words.probabilities.tolist(), strict=True))

    def test_counts_are_of_words(self) -> None:
        before = self.of(made())
        p = self.of(made().with_counts({"the": 3, "cake": 1, "xy": 6, "##s": 90}))
        assert p["the"] == pytest.approx(0.03)
        assert {name: p[name] for name in PIECES} == {name: before[name] for name in PIECES}

    def test_without_any_before_a_piece_is_as_rare_as_the_rarest_word(self) -> None:
        bare = noppa.WordVectors([*ROW], np.ones((len(ROW), 2)), unknown="pieces", pieces=12)
        ranked = bare.with_ranks()
        p = self.of(ranked)
        assert p["##s"] == p["中"] == min(p.values())
        assert sum(p[name] for name in WORDS) == pytest.approx(1)

    def test_a_corpus_counts_pieces_too(self) -> None:
        words = made().with_corpus(["the tokens tokenization", "Tokens the the cake xys"])
        p = self.of(words)
        assert p["the"] == pytest.approx(3 / 8)
        assert p["##s"] == pytest.approx(3 / 8)
        assert p["xy"] == pytest.approx(1 / 8)
        assert p["##y"] == self.of(made())["##y"]
        assert words.counted is not None
        assert words.counted[[ROW["##s"], ROW["##y"]]].tolist() == [True, False]
