"""Fuzz the native scanner, lookup and segmentation against their Python implementation in tests/oracle."""

from __future__ import annotations

import numpy as np

from noppa import _native as kernels
from noppa.text.rules import FOLD, FORM, RULE_SET, RUN
from tests import oracle
from tests.oracle.text import Splitting, tokenize

SCANNER_SEEDS = [
    b"1It's 3.50 dollars, isn't it? Mail a.b@c.org, see www.x.com/y.",
    b"1U.S. e.g. Mr. --- ... ''quoted'' ``x`` AT&T 1,000:3/4 don't've",
    "2café naïve 漢字 \u200b\u00ad \u2028 \ufeff".encode("utf-16-le"),
    "4\U0001f600 \U00020000 \ud800 \udfff a\u0301\u0323".encode("utf-32-le", "surrogatepass"),
]
WORDS = (
    "l' d' -je 's homme aujourd'hui arc-en-ciel straße strasse ırmak istanbul 我 喜欢 音乐 中国 中 国人 東京 京都 東京都 に "
    "ฉัน รัก ประเทศไทย ไทย ខ្មែរ မြန်မာ ລາວ کتاب ها"
).split()
TEXT = np.frombuffer("".join(WORDS).encode(), np.uint8)
BOUNDS = np.cumsum([0, *(len(word.encode()) for word in WORDS)], dtype=np.int64)
TOKENIZERS_SEEDS = [
    b"\x01\x01\x00\x00" + "中国人喜欢東京都ฉันรักประเทศไทย x1ខ្មែរ".encode("utf-16-le"),
    b"\x02\x00\x02\x01" + "L'homme d'aujourd'hui dis-je Straße".encode("utf-16-le"),
    b"\x01\x02\x01\x02" + "İSTANBUL ISPARTA کتاب\u200cها e\u0301".encode("utf-16-le"),
]


def decode(data: bytes) -> str:
    """Return code points of 1, 2 or 4 bytes, as the first byte says; lone surrogates are possible."""
    width = {"2": 2, "4": 4}.get(chr(data[0]), 1) if data else 1
    rest = data[width:]
    numbers = (int.from_bytes(rest[at : at + width], "little") for at in range(0, len(rest), width))
    return "".join(chr(number % 0x110000) for number in numbers)


def scanner(data: bytes) -> None:
    text = decode(data)
    # The native scanner returns UTF-8, so lone surrogates become U+FFFD.
    expected = ["".join(map(replace_surrogate, token)) for token in tokenize(text)]
    actual = kernels.tokenize(text)
    assert actual == expected, f"{text!r}: native {actual}, Python {expected}"


def replace_surrogate(character: str) -> str:
    return "\ufffd" if 0xD800 <= ord(character) < 0xE000 else character


def tokenizers(data: bytes) -> None:
    """Four bytes choose the tokenizer; the rest is the text."""
    if len(data) < 4:
        return
    limits = map(len, (RULE_SET, RUN, FOLD, FORM))
    how = Splitting(*(byte % limit for byte, limit in zip(data, limits, strict=False)))
    text = decode(b"2\0" + data[4:])
    assert kernels.tokenize(text, how) == tokenize(text, how), f"{text!r} by {how}"
    slots = kernels.build_slots(TEXT, BOUNDS)[0]
    native, python = (
        module.Vocabulary(TEXT, BOUNDS, slots, data[0] // 4 % 3, -1, how=how)
        for module in (kernels, oracle)
    )
    assert native.tokenize(text) == python.tokenize(text), f"{text!r} by {how}"
    rows = [vocabulary.look_up([text], 1)[0].tolist() for vocabulary in (native, python)]
    assert rows[0] == rows[1], f"{text!r} by {how}"
