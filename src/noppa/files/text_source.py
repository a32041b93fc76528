"""A file of text as UTF-8, whatever its encoding; what holds no text is named, with what to do about it."""

from __future__ import annotations

import codecs
import io
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.record_file import WholeFile
from noppa.io.compression import Source

#: Bytes that are looked at to tell text from anything else.
SAMPLE = 1 << 13
#: Share of zero bytes above which a file is no text.
ZEROS = 0.3
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: First bytes of files that hold no lines of text: what they are, and what to do.
KINDS = {
    b"%PDF-": ("a PDF document", "get its text first: pdftotext {name} {name}.txt"),
    b"PAR1": ("a Parquet file", "pass --from parquet"),
    b"ARROW1": ("an Arrow file", "write it as Parquet first"),
    b"\x93NUMPY": ("an array of NumPy", "give the file with the texts"),
    b"\xd0\xcf\x11\xe0": (
        "an Excel or Word file of the old kind",
        "save it as CSV or as plain text in UTF-8",
    ),
    b"{\\rtf": ("a rich text document", "save it as plain text in UTF-8"),
    b"SQLite format 3\0": (
        "an SQLite database",
        "export a table first: sqlite3 -header -csv {name} 'select * from TABLE' > {name}.csv",
    ),
}
#: What stands beside letters in Western text in Windows-1252.
PUNCTUATION = frozenset("€‚„…‘’“”•–—™¡¢£§©ª«®°±²³´µ·º»¼½¾¿×÷\xa0")


#: Share of letters with accents in Western text.
MOST_ACCENTS = 0.3


def checked_encoding(name: str | None) -> str | None:
    """The name of a text encoding that Python has, or None."""
    if name is None:
        return None
    try:
        "".encode(name)
        codecs.getincrementaldecoder(name)
    except (LookupError, ValueError):
        raise ParameterError(
            f"there is no encoding {name!r}: give one such as cp1252, latin-1, utf-16 or shift_jis"
        ) from None
    return name


def text_source(file: WholeFile, encoding: str | None = None) -> Source:
    """The content of a file as UTF-8; a byte order mark of UTF-16 or UTF-32 tells the encoding where none is given."""
    source = file.source()
    try:
        start = source.peek(SAMPLE)
        encoding = encoding or marked_encoding(start)
        if encoding is None:
            _refuse_other_kinds(start, file.address)
            return source
        return _Decoded(source, encoding, file.address)
    except BaseException:
        source.close()
        raise


def marked_encoding(start: bytes) -> str | None:
    """The encoding that a byte order mark tells, UTF-8 aside."""
    return next((name for mark, name in BYTE_ORDER_MARKS.items() if start.startswith(mark)), None)


def _refuse_other_kinds(start: bytes, name: str) -> None:
    for magic, (what, advice) in KINDS.items():
        if start.startswith(magic):
            raise FileError(f"{name} is {what} and no text: {advice.format(name=name)}")
    zeros = start.count(0)
    if not zeros or (zeros <= ZEROS * len(start) and _is_utf8(start)):
        return
    # Of Western text in UTF-16, one byte of two is zero.
    half, even = len(start) / 2, start[::2].count(0)
    for order, many, few in (("le", zeros - even, even), ("be", even, zeros - even)):
        if many > 0.4 * half and few <= 0.05 * half:
            raise FileError(f"{name} looks like UTF-16: pass --encoding utf-16-{order}")
    raise FileError(
        f"{name} is a binary file and no text: give lines, CSV, TSV, JSON or Parquet with texts"
    )


def _is_utf8(start: bytes) -> bool:
    """Whether bytes are UTF-8, which may be cut in its last character."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def not_utf8(text: str) -> str:
    """The fault of a text with bytes that are not UTF-8, which are surrogates in it."""
    if _is_western(text.encode("utf-8", "surrogateescape")):
        return "it is not UTF-8 (it reads as Latin-1: pass --encoding cp1252)"
    return "it is not UTF-8 (pass --encoding if it is something else)"


def _is_western(content: bytes) -> bool:
    """Whether bytes are letters and punctuation of Windows-1252, which holds Latin-1."""
    try:
        text = content.decode("cp1252")
    except UnicodeDecodeError:
        return False
    high = [one for one in text if not one.isascii()]
    known = all(one.isalpha() or one in PUNCTUATION for one in high)
    return known and len(high) <= MOST_ACCENTS * len(text)


class _Decoded(Source):
    """Another source, from its encoding to UTF-8."""

    def __init__(self, inner: Source, encoding: str, address: str) -> None:
        super().__init__(inner.stream, inner.compression, inner.file, inner.size, address)
        self.inner, self.encoding = inner, encoding
        self.decoder = codecs.getincrementaldecoder(encoding)()

    def read(self, size: int) -> bytes:
        if self._ahead:
            ahead, self._ahead = self._ahead[:size], self._ahead[size:]
            return ahead
        while block := self.inner.read(size):
            if text := self._decode(block):
                return text
        return self._decode(b"")

    def _decode(self, block: bytes) -> bytes:
        try:
            return self.decoder.decode(block, not block).encode("utf-8", "replace")
        except UnicodeError as error:
            raise FileError(
                f"{self.name} is not {self.encoding} ({getattr(error, 'reason', error)}): pass another --encoding"
            ) from error

    def position(self) -> int:
        return self.inner.position()

    def close(self) -> None:
        self.inner.close()


class SourceStream(io.RawIOBase):
    """A source as a raw stream, for readers that want one."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self._source.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)
