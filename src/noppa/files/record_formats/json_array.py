"""One JSON array of objects or strings, read element by element; a `.json` file that begins otherwise is JSON lines."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator, Sequence
from itertools import islice

from noppa.errors import FileError
from noppa.files.batch import Batch
from noppa.files.columns import Fields, Selection
from noppa.files.record_file import CuttableFile
from noppa.files.record_formats.jsonl import JsonLines
from noppa.files.record_formats.record_format import WHOLE, Section
from noppa.io.compression import Source

#: Bytes to read at a time, and elements of a batch.
PIECE = 1 << 18
ELEMENTS = 4096
#: Characters of the longest element that is read.
LONGEST = 1 << 28
#: Characters of what may be cut at the end of a piece: an escape, `false`, a number behind its point.
TAIL = 32
_SPACE = re.compile(r"[ \t\r\n]*")


class JsonArray(JsonLines):
    """As `JsonLines`, where each element of the array is a line; cannot be cut, so that a file is one section."""

    name = "json"
    unit = "record"

    def batches(self, source: Source, address: str, first: bool = True) -> Iterator[Batch]:
        """The elements as they are written, some at a time."""
        if not is_array(source):
            yield from super().batches(source, address, first)
            return
        found = elements(source, address)
        while some := list(islice(found, ELEMENTS)):
            yield Batch([*some], position=source.position())

    def divide(
        self,
        files: Sequence[CuttableFile],
        sizes: Sequence[int],
        selection: Selection,
        section_size: int,
    ) -> tuple[Fields, list[list[Section]]]:
        whole = [[Section(0, WHOLE, size, 0)] if size else [] for size in sizes]
        return self.fields(files, selection), whole


def is_array(source: Source) -> bool:
    return source.peek(PIECE).removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def elements(source: Source, address: str) -> Iterator[str]:
    """The elements of a JSON array as they are written."""
    text = _Ahead(source, address)
    text.take("[")
    if text.next() == "]":
        text.take("]")
    else:
        while True:
            yield text.element()
            if text.next() != ",":
                break
            text.take(",")
        text.take("]")
    if text.next():
        raise text.broken("something follows its end")


class _Ahead:
    """Text that is read on when it does not suffice."""

    def __init__(self, source: Source, address: str) -> None:
        self.source, self.address = source, address
        self.decoder = codecs.getincrementaldecoder("utf-8-sig")()
        self.text, self.at, self.count = "", 0, 0
        self.is_whole = False

    def more(self) -> bool:
        """Read on; False at the end."""
        if self.is_whole:
            return False
        # As much again as is there: an element that is read in vain is parsed from its beginning each time.
        block = self.source.read(max(PIECE, len(self.text) - self.at))
        self.is_whole = not block
        try:
            new = self.decoder.decode(block, self.is_whole)
        except UnicodeDecodeError as error:
            raise FileError(
                f"{self.address} is not UTF-8 ({error.reason}): pass --encoding with the name of what it is"
            ) from error
        self.text, self.at = self.text[self.at :] + new, 0
        return True

    def next(self) -> str:
        """The next character that is no space, "" at the end."""
        while True:
            match = _SPACE.match(self.text, self.at)
            self.at = self.at if match is None else match.end()
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more():
                return ""

    def take(self, sign: str) -> None:
        if self.next() != sign:
            what = "it ends early" if not self.next() else f"{self.next()!r} stands where {sign!r} should"  # fmt: skip
            raise self.broken(what)
        self.at += 1

    def element(self) -> str:
        self.next()
        while True:
            try:
                _, end = json.JSONDecoder().raw_decode(self.text, self.at)
            except RecursionError as error:
                raise self.broken("it is nested too deeply") from error
            except ValueError as error:
                cut = error.pos >= len(self.text) - TAIL or "Unterminated" in str(error)  # type: ignore[attr-defined]
                if len(self.text) - self.at > LONGEST or not (cut and self.more()):
                    raise self.broken(str(error)) from error
                continue
            # A number at the end of what is there may go on behind it, after a point too.
            if end > len(self.text) - TAIL and self.more():
                continue
            written, self.at = self.text[self.at : end], end
            self.count += 1
            return written

    def broken(self, what: str) -> FileError:
        return FileError(
            f"{self.address} is no JSON array behind record {self.count}: {what}; mend it"
        )
