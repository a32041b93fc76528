"""The native scanner against its Python twin, on any sequence of code points."""

from __future__ import annotations

from noppa import _native as kernels
from tests.oracle.text import tokenize

SEEDS = [
    b"1It's 3.50 dollars, isn't it? Mail a.b@c.org, see www.x.com/y.",
    b"1U.S. e.g. Mr. --- ... ''quoted'' ``x`` AT&T 1,000:3/4 don't've",
    "2café naïve 漢字 \u200b\u00ad \u2028 \ufeff".encode("utf-16-le"),
    "4\U0001f600 \U00020000 \ud800 \udfff a\u0301\u0323".encode("utf-32-le", "surrogatepass"),
]


def text_of(data: bytes) -> str:
    """Code points of 1, 2 or 4 bytes, as the first byte says: any of the 1,114,112, lone surrogates too."""
    width = {"2": 2, "4": 4}.get(chr(data[0]), 1) if data else 1
    rest = data[width:]
    numbers = (int.from_bytes(rest[at : at + width], "little") for at in range(0, len(rest), width))
    return "".join(chr(number % 0x110000) for number in numbers)


def once(data: bytes) -> None:
    text = text_of(data)
    # Lone surrogates leave the native scanner as U+FFFD, because its tokens are UTF-8.
    expected = ["".join(map(visible, token)) for token in tokenize(text)]
    actual = kernels.tokenize(text)
    assert actual == expected, f"{text!r}: native {actual}, twin {expected}"


def visible(character: str) -> str:
    return "\ufffd" if 0xD800 <= ord(character) < 0xE000 else character
