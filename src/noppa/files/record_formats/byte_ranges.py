"""Formats of text lines: a file is cut at any byte, and a line belongs to the section that it begins in."""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import pairwise

from noppa.files.columns import Fields, Selection
from noppa.files.record_file import CuttableFile
from noppa.files.record_formats.record_format import WHOLE, Section, in_parallel
from noppa.files.text_source import marked_encoding, text_source
from noppa.io.compression import MAGIC, Source

#: Bytes to read at a time for the end of a line that goes on behind its section.
TAIL = 1 << 16
#: Bytes to read at a time for counting lines.
COUNTED = 1 << 20


class LineFormat(ABC):
    """What the formats of text lines share: how they divide files."""

    @abstractmethod
    def fields(self, files: Sequence[CuttableFile], selection: Selection) -> Fields:
        """The columns that all files share."""

    def divide(
        self,
        files: Sequence[CuttableFile],
        sizes: Sequence[int],
        selection: Selection,
        section_size: int,
    ) -> tuple[Fields, list[list[Section]]]:
        fields = self.fields(files, selection)

        def sections(pair: tuple[CuttableFile, int]) -> list[Section]:
            file, size = pair
            if size == 0:
                return []
            start = file.content(0, 8)
            encoded = selection.encoding is not None or marked_encoding(start) is not None
            if encoded or any(start.startswith(magic) for magic in MAGIC):
                return [Section(0, WHOLE, size, 0)]
            count = -(-size // section_size)
            return self.cut(file, [size * at // count for at in range(count + 1)], fields)

        return fields, in_parallel(sections, zip(files, sizes, strict=True))

    def cut(self, file: CuttableFile, cuts: list[int], fields: Fields) -> list[Section]:
        """The sections between evenly spaced bytes, the first and last of which are the ends of the file."""
        return [
            Section(start, stop, stop - start, None if start else 0)
            for start, stop in pairwise(cuts)
        ]


def open_lines(file: CuttableFile, start: int, stop: int, encoding: str | None = None) -> Source:
    """The lines that begin in a section, the last of them whole."""
    if stop == WHOLE:
        return text_source(file, encoding)
    # From one byte before: a line feed there means that a line begins right at `start`.
    content = file.content(max(start - 1, 0), stop)
    if start:
        content = content[content.find(b"\n") + 1 :] if b"\n" in content else b""
    if content and not content.endswith(b"\n"):
        content += _rest_of_line(file, stop)
    return in_memory(content)


def in_memory(content: bytes) -> Source:
    stream = io.BytesIO(content)
    return Source(stream, "none", stream, len(content))


def _rest_of_line(file: CuttableFile, at: int) -> bytes:
    parts = []
    while part := file.content(at, at + TAIL):
        end = part.find(b"\n") + 1
        parts.append(part[:end] if end else part)
        if end or len(part) < TAIL:
            break
        at += len(part)
    return b"".join(parts)


def lines_before(file: CuttableFile, start: int) -> int:
    """How many lines of a file begin before the section that starts at a byte."""
    lines, left = 0, start
    block = b""
    with file.stream() as stream:
        while left and (block := stream.read(min(left, COUNTED))):
            lines, left = lines + block.count(b"\n"), left - len(block)
    # A line that goes on across `start` belongs to the section before.
    return lines + bool(block and not block.endswith(b"\n"))
