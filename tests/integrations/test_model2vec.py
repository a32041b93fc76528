"""model2vec: theirs become ours and ours theirs, with the same vectors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import noppa
from noppa.errors import FileError, ParameterError
from noppa.export import export
from noppa.integrations.model2vec import encoder, static_model, word_vectors
from tests.conftest import made_texts, made_words

#: Our tokens for these are theirs, one by one.
TEXTS = [
    "The girl eats a delicious cake, doesn't she?",
    "it's 3.50 dollars; “curly” quotes -- and … dots...",
    "an out-of-this-world mother-in-law's e-mail",
    "unbelievablest zorgmatization of flurbs",
    "U.S. stocks, the Mr. Smith of 00:00 and 1,234.5",
    "",
    "日本 and \u200bhidden\u00adness",
    "I'd've said so-and-so-ish things",
    "they're WON'T can't I'll",
]


@pytest.mark.filterwarnings("ignore::noppa.NoppaWarning")
def test_the_similarity_preset_is_theirs(tmp_path: Path) -> None:
    ours = noppa.load("similarity")
    export(ours, "model2vec", tmp_path / "model")
    theirs = StaticModel.from_pretrained(tmp_path / "model")
    np.testing.assert_allclose(theirs.encode(TEXTS), ours.encode(TEXTS), atol=1e-5)
    assert theirs.dim == ours.dim
    long = ["a cake " * 3000]
    # NumPy's float32 mean of 6,000 rows is the less exact one
    np.testing.assert_allclose(theirs.encode(long), ours.encode(long), atol=1e-3)


def methods(words: noppa.WordVectors) -> dict[str, noppa.Encoder]:
    made = made_texts(60, words)
    return {
        "average": noppa.Encoder(words, noppa.Average()),
        "sif": noppa.Encoder(words, noppa.SIF()).fit(made),
        "usif": noppa.Encoder(words, noppa.USIF(a=0.01)).fit(made),
        "noppa": noppa.Encoder(words, noppa.NoPPA(parts=("word",), k=2)).fit(made),
        "sent2vec": noppa.Encoder(words, noppa.Sent2Vec(buckets=0, epochs=1)).fit(made),
        "centred": noppa.Encoder(words, noppa.SIF(components=0), noppa.Whitening(4)).fit(made),
        "unit": noppa.Encoder(
            words, noppa.SIF(), [noppa.CommonComponents(1, centred=True), noppa.Normalize()]
        ).fit(made),
    }


@pytest.mark.parametrize("name", list(methods(made_words())))
def test_every_mean_goes_over(name: str) -> None:
    words = made_words()
    own = methods(words)[name]
    texts = [*made_texts(40, words, seed=3), "The Girl unknownword CAKE!", "zzz"]
    with pytest.warns(noppa.NoppaWarning, match="no known word"):
        wanted = own.encode(texts)
    np.testing.assert_allclose(static_model(own).encode(texts), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda words, texts: noppa.load(), "not a weighted mean"),
        (
            lambda words, texts: noppa.Encoder(words, noppa.Average(), tokenizer=str.split),
            "tokenizer that is a function",
        ),
        (
            lambda words, texts: noppa.Encoder(made_words(unknown="zero"), noppa.Average()),
            "unknown='zero' counts them",
        ),
    ],
)
def test_what_is_no_mean_says_why(
    made: Callable[..., noppa.Encoder], why: str, tmp_path: Path
) -> None:
    words = made_words()
    with pytest.raises(ParameterError, match=why):
        export(made(words, made_texts(60, words)), "model2vec", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_the_words_of_any_model_go_over() -> None:
    own = noppa.Encoder(noppa.load().words, noppa.Average())
    theirs = static_model(words_only=True)
    np.testing.assert_allclose(theirs.encode(TEXTS[:3]), own.encode(TEXTS[:3]), atol=1e-5)


def test_capitals_of_a_cased_vocabulary(tmp_path: Path) -> None:
    words = noppa.WordVectors(["Paris", "paris", "the", "US", "us", "Rome"], np.eye(6))
    own = noppa.Encoder(words, noppa.Average())
    texts = ["Paris", "paris", "PARIS", "The US", "THE us", "Rome rome"]
    np.testing.assert_allclose(static_model(own).encode(texts), own.encode(texts))


@pytest.fixture
def theirs() -> Callable[..., StaticModel]:
    """Their usual kind: a lower-case WordPiece vocabulary with special tokens."""

    def made(**options: Any) -> StaticModel:
        tokens = ["[PAD]", "[UNK]", "the", "girl", "eat", "##s", "##ing", "cake", ".", "a"]
        tokenizer = Tokenizer(
            models.WordPiece({t: n for n, t in enumerate(tokens)}, unk_token="[UNK]")
        )
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        rows = np.random.default_rng(0).normal(size=(len(tokens), 5)).astype(np.float32)
        return StaticModel(rows, tokenizer, **options)

    return made


TALK = ["The girl eats a cake.", "girls eating", "cakes", "the the"]


@pytest.mark.parametrize("normalize", [False, True])
def test_their_model_as_our_encoder(
    theirs: Callable[..., StaticModel], normalize: bool, tmp_path: Path
) -> None:
    model = theirs(normalize=normalize)
    np.testing.assert_allclose(encoder(model).encode(TALK), model.encode(TALK), atol=1e-6)
    model.save_pretrained(tmp_path / "saved")
    np.testing.assert_allclose(
        encoder(tmp_path / "saved").encode(TALK), model.encode(TALK), atol=1e-6
    )


def test_their_tokens_as_our_words(theirs: Callable[..., StaticModel]) -> None:
    model = theirs()
    words = word_vectors(model)
    assert words.words == ["the", "girl", "eat", "cake", ".", "a", "##s", "##ing"]
    assert words.pieces == 2
    own = noppa.Encoder(words, noppa.Average())
    np.testing.assert_allclose(own.encode(TALK), model.encode(TALK), atol=1e-6)
    again = noppa.Encoder(words.with_ranks(), noppa.NoPPA(k=0))
    assert again.encode(TALK).shape == (4, 10)


def test_weights_and_a_mapping_are_in_the_vectors(theirs: Callable[..., StaticModel]) -> None:
    plain = theirs()
    tokens = len(plain.tokens)
    rows = plain.embedding[:3]
    mapped = theirs().__class__(
        rows,
        plain.tokenizer,
        weights=np.linspace(1, 2, tokens).astype(np.float32),
        token_mapping=np.arange(tokens) % 3,
    )
    np.testing.assert_allclose(encoder(mapped).encode(TALK), mapped.encode(TALK), atol=1e-6)
    own = noppa.Encoder(word_vectors(mapped), noppa.Average())
    np.testing.assert_allclose(own.encode(TALK), mapped.encode(TALK), atol=1e-6)


def test_what_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="neither a StaticModel nor the folder"):
        word_vectors(3)
    with pytest.raises(FileError, match="neither a StaticModel nor the folder"):
        encoder(tmp_path / "missing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="model2vec cannot open"):
        encoder(tmp_path / "empty")
    with pytest.raises(FileError, match="exists and is not a model2vec folder"):
        export(noppa.load("similarity"), "model2vec", tmp_path / "empty")


def test_hostile_texts_take_no_square_of_their_length() -> None:
    """Each would run for minutes if an expression looked ahead without a bound."""
    theirs = static_model("similarity")
    plain = static_model(noppa.Encoder(made_words(), noppa.Average()))
    for text in ("n't", "a-", "1.1", "a.a.", "'", "a@", "mother-in-", "http://a.", "www."):
        for model in (theirs, plain):
            assert model.encode([text * 20_000]).shape == (1, model.dim)
