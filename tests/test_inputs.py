"""Pass every kind of collection to `encode`: some are encoded, the others raise a clear error."""

from __future__ import annotations

import unicodedata
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import noppa
from tests.conftest import made_words

WORDS = made_words()
ENCODER = noppa.Encoder(WORDS, noppa.NoPPA(k=0))
TEXTS = ["the girl eats", "a boy", "cake"]
ROWS = np.stack([ENCODER.encode(text) for text in TEXTS])


@pytest.mark.parametrize(
    "collection",
    [
        TEXTS,
        tuple(TEXTS),
        np.array(TEXTS),
        np.array(TEXTS, object),
        pd.Series(TEXTS),
        pd.Series(TEXTS, index=[7, 3, 90]),
        pd.Series(["x", *TEXTS]).drop(0),
        pl.Series(TEXTS),
        pa.array(TEXTS),
        pa.chunked_array([TEXTS[:1], TEXTS[1:]]),
        (text for text in TEXTS),
        iter(TEXTS),
        dict.fromkeys(TEXTS).keys(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_any_ordered_collection(collection: Any) -> None:
    rows = ENCODER.encode(collection)
    assert rows.dtype == np.float32
    assert rows.tobytes() == ROWS.tobytes()


@pytest.mark.parametrize(
    "empty", [[], (), np.array([], str), iter([]), pd.Series([], dtype=object)]
)
def test_nothing(empty: Any) -> None:
    rows = ENCODER.encode(empty)
    assert rows.shape == (0, 14)
    assert rows.dtype == np.float32


@pytest.mark.parametrize("text", ["", "  \n", "?!;", "zzqx", "\u200b", "\x00", "\ufeff"])
def test_nothing_known_is_zeros_with_a_warning(text: str) -> None:
    with pytest.warns(noppa.NoppaWarning, match="1 of 3 texts have no known word .* zeros: 1$"):
        rows = ENCODER.encode(["cake", text, "boy"], normalize=True)
    assert rows.shape == (3, 14)
    assert (rows[1] == 0).all()
    assert np.allclose(np.linalg.norm(rows[[0, 2]], axis=1), 1)


@pytest.mark.parametrize(
    "encode",
    [
        lambda: ENCODER.encode("zzqx"),
        lambda: ENCODER.encode(["zzqx", "cake"]),
        lambda: ENCODER.encode(text for text in ["zzqx"]),
        lambda: ENCODER.encode_tokens([[]]),
        lambda: list(ENCODER.encode_iter(["zzqx"])),
        lambda: ENCODER.similarity("zzqx", "cake"),
        lambda: noppa.WordVectors(["a", "a"], np.eye(2)),
    ],
)
def test_a_warning_points_at_the_line_that_called(encode: Any) -> None:
    with pytest.warns(noppa.NoppaWarning) as told:
        encode()
    assert {warning.filename for warning in told} == {__file__}


def test_similarity_with_nothing_is_zero() -> None:
    with pytest.warns(noppa.NoppaWarning):
        assert ENCODER.similarity("", "cake") == 0.0
    with pytest.warns(noppa.NoppaWarning):
        assert ENCODER.similarity("", "") == 0.0


@pytest.mark.parametrize(
    ("collection", "message"),
    [
        (["a", None], r"item 1 is missing \(NoneType\)"),
        (["a", float("nan")], r"item 1 is missing \(float\)"),
        (["a", pd.NA], r"item 1 is missing \(NAType\)"),
        (["a", b"a"], "item 1 is bytes: decode it first"),
        (b"a", "bytes are not text: decode them first"),
        (["a", 5], "item 1 is a int: every text must be a str"),
        (["a", 5.5], "item 1 is a float"),
        ({"a": 1}, "a dict has no order of rows"),
        ({"a", "b"}, "a set has no order of rows"),
        (pd.DataFrame({"text": TEXTS}), "a table has several columns"),
        (pl.DataFrame({"text": TEXTS}), "a table has several columns"),
        ([["a", "b"]], "item 0 is a list: lists of tokens go to encode_tokens"),
        (np.array([["a"]]), "an array of 2 dimensions"),
        (None, "None is neither a text nor a collection"),
        (5, "a int is neither a text nor a collection"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused(collection: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ENCODER.encode(collection)
    with pytest.raises(noppa.NoppaError, match=message):
        ENCODER.encode(collection)


def test_missing_values_may_count_as_empty() -> None:
    with pytest.warns(noppa.NoppaWarning):
        rows = ENCODER.encode(["cake", None, float("nan"), pd.NA], on_error="empty")
    assert (rows[1:] == 0).all()
    with pytest.raises(noppa.NoppaError, match="item 1 is a int"):
        ENCODER.encode([None, 5], on_error="empty")
    with pytest.raises(noppa.NoppaError, match="on_error must be one of raise, empty"):
        ENCODER.encode(["a"], on_error="skip")


def test_tokens_as_they_are() -> None:
    rows = ENCODER.encode_tokens([["the", "girl", "eats"], ("a", "boy"), np.array(["cake"])])
    assert rows.tobytes() == ROWS.tobytes()
    assert ENCODER.encode_tokens([]).shape == (0, 14)


@pytest.mark.parametrize(
    ("collection", "message"),
    [
        (["a", "b"], "item 0 is a str, and encode_tokens takes lists of tokens"),
        ("a b", "item 0 is a str"),
        ([["a"], ["a", 5]], "token 1 of item 1 is a int"),
        ([["a"], None], "None is neither a text nor a collection of item 1"),
    ],
)
def test_what_is_no_list_of_tokens_is_refused(collection: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ENCODER.encode_tokens(collection)


@pytest.mark.parametrize("text", ["the\ngirl\teats", "the girl\r\neats", " the  girl eats\x0b"])
def test_line_breaks_are_white_space(text: str) -> None:
    rows = ENCODER.encode(["a boy", text, "cake"])
    assert (rows == ROWS[[1, 0, 2]]).all()


@pytest.mark.parametrize(
    "text", ["\ud83d the girl eats", "the girl \udc00 eats", "the\x00girl eats\ufeff"]
)
def test_broken_characters_do_no_harm(text: str) -> None:
    assert (ENCODER.encode(text) == ROWS[0]).all()


def test_normal_forms_give_one_vector() -> None:
    for form in ("NFC", "NFD"):
        assert (ENCODER.encode(unicodedata.normalize(form, "Café")) == ENCODER.encode("café")).all()
    assert (ENCODER.encode("is\u2019n\u2019t") == ENCODER.encode("is'n't")).all()


def test_duplicates_are_equal_bit_for_bit() -> None:
    rows = ENCODER.encode(["the girl eats", "cake"] * 50)
    assert len({row.tobytes() for row in rows}) == 2


def test_no_warning_where_all_is_well() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ENCODER.encode(TEXTS)
