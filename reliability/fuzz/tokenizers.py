"""The native scanner, look-up and segmentation by the rules of any tokenizer against their Python twins, with a small vocabulary."""

from __future__ import annotations

import numpy as np

from noppa import _native as kernels
from noppa.text.rules import FOLD, FORM, RULE_SET, RUN
from reliability.fuzz.scanner import text_of
from tests import oracle
from tests.oracle.text import Splitting, tokenize

WORDS = (
    "l' d' -je 's homme aujourd'hui arc-en-ciel straße strasse ırmak istanbul 我 喜欢 音乐 中国 中 国人 東京 京都 東京都 に "
    "ฉัน รัก ประเทศไทย ไทย ខ្មែរ မြန်မာ ລາວ کتاب ها"
).split()
TEXT = np.frombuffer("".join(WORDS).encode(), np.uint8)
BOUNDS = np.cumsum([0, *(len(word.encode()) for word in WORDS)], dtype=np.int64)
SEEDS = [
    b"\x01\x01\x00\x00" + "中国人喜欢東京都ฉันรักประเทศไทย x1ខ្មែរ".encode("utf-16-le"),
    b"\x02\x00\x02\x01" + "L'homme d'aujourd'hui dis-je Straße".encode("utf-16-le"),
    b"\x01\x02\x01\x02" + "İSTANBUL ISPARTA کتاب\u200cها e\u0301".encode("utf-16-le"),
]


def once(data: bytes) -> None:
    """Four bytes choose the tokenizer, the rest is the text."""
    if len(data) < 4:
        return
    limits = map(len, (RULE_SET, RUN, FOLD, FORM))
    how = Splitting(*(byte % limit for byte, limit in zip(data, limits, strict=False)))
    text = text_of(b"2\0" + data[4:])
    assert kernels.tokenize(text, how) == tokenize(text, how), f"{text!r} by {how}"
    slots = kernels.build_slots(TEXT, BOUNDS)[0]
    native, twin = (
        module.Vocabulary(TEXT, BOUNDS, slots, data[0] // 4 % 3, -1, how=how)
        for module in (kernels, oracle)
    )
    assert native.tokenize(text) == twin.tokenize(text), f"{text!r} by {how}"
    rows = [vocabulary.look_up([text], 1)[0].tolist() for vocabulary in (native, twin)]
    assert rows[0] == rows[1], f"{text!r} by {how}"
