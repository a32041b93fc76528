"""Tokenize other languages: rules, comparison with the oracle, names, folders and packages."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import noppa
from noppa import _native
from noppa.cli import program
from noppa.errors import ParameterError
from noppa.io.storage import HEADER
from noppa.text.rules import FOLD, FORM, RULE_SET, RUN
from noppa.text.tokenizer import LANGUAGES, PACKAGES, Tokenizer
from noppa.words.lexicon import Lexicon
from tests import oracle
from tools.scanner_rules import LONGEST_SEGMENT

#: Words of many languages, most frequent first; some hold joints, a mark of their own, or what another spelling has.
WORDS = [
    *["l'", "d'", "-je", "'s", "po'", "homme", "aujourd'hui", "arc-en-ciel", "dis", "vrai", "qu'", "il", "col·legi", "-"],
    *["我", "喜欢", "音乐", "音", "乐", "中国", "中", "国", "人", "国人", "的", "東京", "京都", "東京都", "に", "行く", "です"],
    *["ฉัน", "รัก", "ประเทศไทย", "ประเทศ", "ไทย", "ตา", "กลม", "ตาก", "ลม", "ភាសា", "ខ្មែរ", "မြန်မာ", "ພາສາ", "ລາວ"],
    *["straße", "strasse", "gruss", "fuß", "ırmak", "istanbul", "میروم", "کتاب", "ها", "ශ්‍රී", "x", "日", "ー", "ab", "a-b"],
]  # fmt: skip


def lexicon(tokenizer: str, case: str = "exact-then-lower", words: list[str] = WORDS) -> Lexicon:
    return Lexicon.from_words(words, 0, "skip", case, Tokenizer.parse(tokenizer))


RULES = {
    ("fr", "L'homme d'aujourd'hui, qu'il dis-je"): ["L'", "homme", "d'", "aujourd'hui", ",", "qu'", "il", "dis", "-je"],
    ("fr", "l’arc-en-ciel n'est-ce"): ["l'", "arc-en-ciel", "n'", "est-ce"],
    ("fr", "c.-à-d. M. Mr. x.com a@b.fr"): ["c", ".", "-", "à-d", ".", "M", ".", "Mr", ".", "x.com", "a@b.fr"],
    ("it", "un po' di vino, l'homme"): ["un", "po'", "di", "vino", ",", "l'", "homme"],
    ("ca", "el col·legi nou"): ["el", "col·legi", "nou"],
    ("de", "don't z.B. Anna's"): ["don't", "z.B.", "Anna", "'s"],
    ("zh", "我喜欢音乐。"): ["我", "喜欢", "音乐", "。"],
    ("zh", "中国人的 iPhone15在中国"): ["中国", "人", "的", "iPhone15", "在", "中国"],
    ("zh", "看www.x.com/a中国"): ["看", "www.x.com/a", "中国"],
    ("ja", "東京都に行くテスト"): ["東京都", "に", "行く", "テスト"],
    ("th", "ฉันรักประเทศไทย"): ["ฉัน", "รัก", "ประเทศไทย"],
    ("th", "ตากลม"): ["ตา", "กลม"],
    ("km", "ភាសាខ្មែរ"): ["ភាសា", "ខ្មែរ"],
    ("my", "မြန်မာစာ"): ["မြန်မာ", "စာ"],
    ("lo", "ພາສາລາວ"): ["ພາສາ", "ລາວ"],
    ("english", "我喜欢"): ["我", "喜", "欢"],
    ("whitespace", " it's 我喜欢, “x”\u3000\ud800y "): ["it's", "我喜欢,", "“x”", "\ufffdy"],
    ("fa", "می\u200cروم کتاب\u200cها 👩\u200d👧"): ["می\u200cروم", "کتاب", "ها", "👩", "👧"],
    ("si", "ශ්\u200dරී"): ["ශ්\u200dරී"],
    ("zh:form=NFKC", "ﾃｽﾄ Ａ①"): ["テスト", "A1"],
    ("whitespace:form=none", "e\u0301 é"): ["e\u0301", "é"],
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), RULES)
def test_rules(name: str, text: str) -> None:
    assert lexicon(name).tokens(text) == RULES[name, text]


KNOWN = {
    ("de", "STRASSE", "strasse"),
    ("de", "Fuss", "fuß"),
    ("de", "Gruß", "gruss"),
    ("tr", "IRMAK", "ırmak"),
    ("tr", "İSTANBUL", "istanbul"),
    ("fa", "می\u200cروم", "میروم"),
}


@pytest.mark.parametrize(("name", "token", "word"), sorted(KNOWN))
def test_other_spellings(name: str, token: str, word: str) -> None:
    for module in (_native, oracle):
        assert found(module, name)(token) == WORDS.index(word)
        assert found(module, "english")(token) != WORDS.index(word) or token.lower() == word


def found(module: object, name: str):
    words = lexicon(name)
    slots = _native.build_slots(words.text, words.bounds)[0]
    vocabulary = module.Vocabulary(  # type: ignore[attr-defined]
        words.text, words.bounds, slots, 0, -1, how=words.tokenizer.scanner_options
    )
    return lambda token: int(vocabulary.look_up_tokens([[token]])[0][0])


pieces = st.sampled_from(
    [*WORDS, *"-'’·׳״\u200c\u200d&.,:/ \n@", "www.", ".com", "ß", "ss", "İ", "I", "ﬁ", "Ａ", "\ud800", "\u0e34", "\u1039", "เ", "์", "々", "\u3099", "ゃ", "1"]
)  # fmt: skip
numbers = st.tuples(*(st.integers(0, len(names) - 1) for names in (RULE_SET, RUN, FOLD, FORM)))


@settings(max_examples=300)
@given(
    st.lists(pieces, max_size=20).map("".join) | st.text(max_size=30),
    numbers,
    st.integers(0, 2),
)
@example("เ" * 40 + "ก" + "\u0e34" * 60, (1, 1, 0, 0), 0)
@example("a-b-a-b-a-b-a-b-a-b-a-b-a-b", (1, 0, 0, 0), 0)
def test_native_equals_the_oracle(text: str, how: tuple[int, int, int, int], case: int) -> None:
    """Compare tokens, with and without a vocabulary, and their rows."""
    assert _native.tokenize(text, how) == oracle.tokenize(text, how)
    words = lexicon("english")
    slots = _native.build_slots(words.text, words.bounds)[0]
    native, plain = (
        module.Vocabulary(words.text, words.bounds, slots, case, -1, how=how)
        for module in (_native, oracle)
    )
    assert native.tokenize(text) == plain.tokenize(text)
    for one, other in zip(native.look_up([text], 1), plain.look_up([text], 1), strict=True):
        assert one.tolist() == other.tolist()


def test_native_equals_the_oracle_on_the_code_points_of_scripts() -> None:
    how = Tokenizer.parse("zh").scanner_options
    for low in (*range(0, 0x20000, 0x8000), 0x2F800, 0xE0000):
        text = "".join(map(chr, range(low, low + 0x8000)))
        assert _native.tokenize(text, how) == oracle.tokenize(text, how), hex(low)


@pytest.mark.parametrize(
    ("name", "unit"),
    [("zh", "中国"), ("th", "เ"), ("th", "\u0e34"), ("ja", "東x"), ("fr", "a-"), ("fr", "l'a")],
)
def test_a_megabyte_without_spaces(name: str, unit: str) -> None:
    """Segments and look-ahead are bounded, so this returns."""
    text = unit * (1_000_000 // len(unit))
    words = lexicon(name, words=[*WORDS, *("中" * length for length in range(2, 30))])
    assert sum(map(len, words.tokens(text))) <= len(text)
    plain = oracle.Vocabulary(
        words.text, words.bounds, words.slots, 0, -1, how=words.tokenizer.scanner_options
    )
    assert words.tokens(unit * 200) == plain.tokenize(unit * 200)


def test_words_longer_than_the_limit_are_not_found() -> None:
    within, beyond = "中" * LONGEST_SEGMENT, "国" * (LONGEST_SEGMENT + 1)
    words = lexicon("zh", words=[within, beyond])
    assert words.tokens(within) == [within]
    assert words.tokens(beyond) == ["国"] * len(beyond)


class TestNames:
    def test_every_language_is_a_tokenizer(self) -> None:
        assert len(LANGUAGES) >= 157
        for name in (*LANGUAGES, *RULE_SET, *PACKAGES):
            tokenizer = Tokenizer.parse(name)
            assert Tokenizer.parse(str(tokenizer)) == tokenizer
            assert Tokenizer.from_dict(tokenizer.to_dict()) == tokenizer

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("klingon", "there is no tokenizer 'klingon': give english, plain"),
            ("", "there is no tokenizer ''"),
            ("fr:colour=red", "'colour=red' is no setting; give segment="),
            ("fr:form", "'form' is no setting"),
            ("fr:form=NFD", "form must be one of NFC, NFKC, none, not 'NFD'"),
            ("zh:segment=mecab", "segment must be one of none, vocabulary, jieba"),
            (3, "tokenizer must be a name or a function"),
        ],
    )
    def test_mistakes(self, name: str, message: str) -> None:
        with pytest.raises(ParameterError) as error:
            Tokenizer.parse(name)
        assert message in str(error.value)


class TestEncoder:
    words = noppa.WordVectors(WORDS, np.eye(len(WORDS), dtype=np.float32))

    def test_a_name_travels_with_the_saved_words(self, tmp_path: Path) -> None:
        encoder = noppa.Encoder(self.words, noppa.Average(), tokenizer="zh")
        assert encoder.words.tokenizer == Tokenizer("plain", "vocabulary")
        assert encoder.tokenizer is None
        assert encoder.split("我喜欢音乐") == ["我", "喜欢", "音乐"]
        assert encoder.explain("我喜欢").tokens == ("我", "喜欢")
        encoder.save(tmp_path / "zh")
        again = noppa.load(tmp_path / "zh")
        assert again.words.tokenizer == encoder.words.tokenizer
        assert again.identity.path is not None
        text = "中国人的音乐"
        assert again.encode(text).tobytes() == encoder.encode(text).tobytes()
        other = noppa.load(tmp_path / "zh", tokenizer="english")
        assert other.identity.tokenizer == "english"
        assert other.identity.fingerprint != again.identity.fingerprint
        sent = pickle.loads(pickle.dumps(other))
        assert sent.words.tokenizer == other.words.tokenizer
        assert sent.identity == other.identity
        assert other.encode(text).tobytes() != encoder.encode(text).tobytes()
        same = noppa.load(tmp_path / "zh", tokenizer="plain:segment=vocabulary")
        assert same.identity == again.identity

    def test_default_folders_keep_their_bytes(self, tmp_path: Path) -> None:
        self.words.save(tmp_path / "default")
        self.words.with_tokenizer("fr").save(tmp_path / "fr")
        self.words.with_tokenizer("fr").with_tokenizer("english").save(tmp_path / "back")
        default, french, back = (
            (tmp_path / name / HEADER).read_text() for name in ("default", "fr", "back")
        )
        assert "tokenizer" not in default
        assert default == back
        assert '"name": "elision"' in french

    def test_counting_and_coverage_split_as_the_words_say(self) -> None:
        words = self.words.with_tokenizer("zh").with_corpus(["我喜欢音乐", "我 喜欢"])
        assert words.probabilities is not None
        assert words.probabilities[WORDS.index("喜欢")] == pytest.approx(2 / 5)
        assert words.coverage(["我喜欢音乐"]).token_share == 1
        assert words.coverage(["我喜欢音乐"], tokenizer="english").tokens == 5


def test_fit_saves_a_tokenizer_by_its_name(tmp_path: Path) -> None:
    noppa.Encoder(TestEncoder.words, noppa.Average()).save(tmp_path / "words")
    texts = tmp_path / "texts.txt"
    texts.write_text("我喜欢音乐\n中国人的\n", encoding="utf-8")
    for command in (
        ["fit", texts, "-m", tmp_path / "words", "--tokenizer", "zh", "-o", tmp_path / "zh"],
        ["encode", texts, "-m", tmp_path / "zh", "-o", tmp_path / "rows.npy"],
    ):
        done = CliRunner().invoke(program(), [str(part) for part in command])
        assert done.exit_code == 0, done.output
    expected = noppa.load(tmp_path / "words", "zh").encode(["我喜欢音乐", "中国人的"])
    assert np.load(tmp_path / "rows.npy").tobytes() == expected.tobytes()
    assert noppa.load(tmp_path / "zh").words.tokenizer == Tokenizer.parse("zh")


def test_an_index_keeps_its_tokenizer(tmp_path: Path) -> None:
    words = noppa.WordVectors(WORDS, np.eye(len(WORDS), dtype=np.float32))
    noppa.Encoder(words, noppa.Average()).save(tmp_path / "plain")
    folder = tmp_path / "index"
    noppa.Index.open(folder, noppa.load(tmp_path / "plain", "zh")).add(["我喜欢音乐", "中国人"])
    index = noppa.Index.open(folder)
    assert index.encoder.words.tokenizer == Tokenizer.parse("zh")
    assert [hit.text for hit in index.search("音乐", mode="words")] == ["我喜欢音乐"]
    with pytest.raises(noppa.NoppaError, match=r"plain:segment=vocabulary"):
        noppa.Index.open(folder, noppa.load(tmp_path / "plain"))


SENTENCES = {
    "jieba": "我喜欢音乐 and cake",
    "fugashi": "東京都に行く and cake",
    "pythainlp": "ฉันรักประเทศไทย and cake",
}


@pytest.mark.parametrize("package", PACKAGES)
def test_packages(package: str) -> None:
    pytest.importorskip(package)
    text = SENTENCES[package]
    words = lexicon(package)
    tokens = words.tokens(text)
    assert "".join(tokens) == text.replace(" ", "")
    assert tokens[-2:] == ["and", "cake"]
    assert len(tokens) > 4
    ids, _ = words.look_up([text], 1)
    assert (ids >= 0).sum() >= 2
    assert all(_native.is_segmented(token[0]) for token in tokens[:-2])
