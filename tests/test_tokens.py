"""Tokenize English: rules, and comparison with the oracle on any text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from noppa import _native
from tests.oracle.text import tokenize

RULES = {
    "": [],
    " \t\r\n\x00\u2028\u3000": [],
    "the girl eats a cake": ["the", "girl", "eats", "a", "cake"],
    "Hello, world!": ["Hello", ",", "world", "!"],
    "It's, isn't it?": ["It", "'s", ",", "is", "n't", "it", "?"],
    "can't won't DON'T": ["ca", "n't", "wo", "n't", "DO", "N'T"],
    "do n't it 's": ["do", "n't", "it", "'s"],
    "they'll've shouldn't've": ["they", "'ll", "'ve", "should", "n't", "'ve"],
    "don’t “quote” ‘x’": ["do", "n't", '"', "quote", '"', "'", "x", "'"],
    "``quoted'' text": ['"', "quoted", '"', "text"],
    "dogs' o'clock rock'n'roll": ["dogs", "'", "o'clock", "rock'n'roll"],
    "3.14 1,000.50 10:30 1/2 .5 1990's 50% $3": [
        *["3.14", "1,000.50", "10:30", "1/2", ".5", "1990", "'s", "50", "%", "$", "3"]
    ],
    "well-known mid-1990s and/or": ["well-known", "mid-1990s", "and", "/", "or"],
    "U.S. e.g. J.R.R. plan b.": ["U.S.", "e.g.", "J.R.R.", "plan", "b", "."],
    "Mr. Smith vs. St. Ives": ["Mr.", "Smith", "vs.", "St.", "Ives"],
    "AT&T R&D": ["AT&T", "R&D"],
    "mail me@foo.co.uk, or a.b+c@x.org.": ["mail", "me@foo.co.uk", ",", "or", "a.b+c@x.org", "."],
    "(https://x.org/a?b=c,d) noppa.io.": ["(", "https://x.org/a?b=c,d", ")", "noppa.io", "."],
    "see google.com/foo. End.Start": ["see", "google.com/foo", ".", "End", ".", "Start"],
    "wait.... what--no": ["wait", "...", "what", "--", "no"],
    "日本語 text": ["日", "本", "語", "text"],
    "cafe\u0301": ["café"],
    "x\u200by\ufeff so\u00adft": ["xy", "soft"],
    "👩\u200d👧 ❤\ufe0f": ["👩", "👧", "❤"],
    "\ud83d lone": ["\ufffd", "lone"],
    "snake_case @me #tag": ["snake_case", "@", "me", "#", "tag"],
}


@pytest.mark.parametrize("text", RULES)
def test_rules(text: str) -> None:
    assert tokenize(text) == RULES[text]
    assert _native.tokenize(text) == RULES[text]


# Text that looks like text, and text that looks like nothing.
pieces = st.sampled_from(
    [*".,:;!?'\"`-–—_/&@#$%()[]<>\\|~^*+= \t\n", "n't", "'s", "'ll", "'VE", "www.", "http://", "HTTPS://", "Mr", "a.b", ".com",
     ".de", "...", "--", "''", "x@y", "a", "b", "I", "the", "Zürich", "ΣΑΣ", "İ", "ǅ", "1", "22", "٣", "½", "日", "가", "é", "\u0301",
     "👍🏽", *"\u200d\ufe0f\u2019\u201c\u2011\x00\ud800\udfff\u2028"]
)  # fmt: skip


@settings(max_examples=500)
@given(st.lists(pieces, max_size=30).map("".join) | st.text(max_size=40))
@example("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.b")
@example("x" * 70 + "@y.com")
@example("a" + ".b" * 200 + ".com")
def test_native_equals_the_oracle(text: str) -> None:
    assert _native.tokenize(text) == tokenize(text)


@given(st.text(max_size=60))
def test_normal_forms_give_the_same_tokens(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    assert tokenize(unicodedata.normalize("NFD", text)) == tokenize(
        unicodedata.normalize("NFC", text)
    )


@pytest.mark.parametrize("unit", ["a", "a.", "a-", "'s", "a@", "1.", "www.", "n't'", "x.com"])
def test_a_megabyte_without_spaces(unit: str) -> None:
    """Every look-ahead is bounded, so this returns."""
    text = unit * (1_000_000 // len(unit))
    tokens = _native.tokenize(text)
    assert sum(map(len, tokens)) <= len(text)
    assert _native.tokenize(unit * 500) == tokenize(unit * 500)
