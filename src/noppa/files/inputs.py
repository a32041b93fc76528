"""Open inputs: local files, standard input and remote files, as bytes or as decoded text."""

from __future__ import annotations

import codecs
import io
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noppa.errors import FileError
from noppa.extras import needs
from noppa.io.compression import BUFFER, Source, open_plain, plain, whole_lines

STDIN = "-"
#: Bytes to read at a time.
PIECE = 1 << 18
#: Characters of the longest line: a device or a file without line feeds must not fill the memory.
LONGEST_LINE = 1 << 28
#: Bytes that decide whether a file is text, and the largest share of zero bytes in text.
SAMPLE = 1 << 13
MOST_ZEROS = 0.3
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: The first bytes of files that are not text.
BINARY_FORMATS = {
    b"%PDF-": "a PDF document",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"\x93NUMPY": "a NumPy array",
    b"\xd0\xcf\x11\xe0": "an Office document",
    b"{\\rtf": "a rich text document",
    b"SQLite format 3\0": "an SQLite database",
}


@dataclass(frozen=True)
class InputFile:
    """A file on disk, a remote file such as `s3://bucket/key`, or standard input (`-`)."""

    path: str
    copy: Path | None = None
    """A copy of standard input, if it has to be read twice."""

    @property
    def name(self) -> str:
        """The name in messages."""
        return "standard input" if self.path == STDIN else self.path

    def open(self) -> Source:
        """Return the content, decompressed."""
        if self.path == STDIN and self.copy is None:
            return _Pipe()
        if "://" in self.path:
            stream = self.open_remote()
            return plain(io.BufferedReader(stream, BUFFER), self.path, stream.size or 0)
        return open_plain(self.copy or Path(self.path))

    def open_remote(self) -> Any:
        """Open a remote file for random access."""
        with needs("dask", "a remote file"):
            import fsspec
        return fsspec.open(self.path, "rb").open()


def copy_stdin(path: Path) -> InputFile:
    """Copy standard input to a file, so that it can be read twice."""
    with path.open("wb") as file:
        shutil.copyfileobj(_unbuffered_stdin(), file)
    return InputFile(STDIN, path)


class _Pipe(Source):
    """Standard input. Returns what has arrived, so that the lines of a slow writer are not held back."""

    def __init__(self) -> None:
        stream = _unbuffered_stdin()
        super().__init__(stream, "none", stream, 0)

    def read(self, size: int = -1) -> bytes:
        if self._ahead:
            ahead, self._ahead = self._ahead[:size], self._ahead[size:]
            return ahead
        return bytes(self.stream.read(size) or b"")

    def position(self) -> int:
        return 0

    def close(self) -> None:
        pass


def _unbuffered_stdin() -> Any:
    """Open standard input unbuffered: a thread in a buffered read would hold its lock when the interpreter exits."""
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (OSError, ValueError):  # a replacement without a descriptor, as in tests
        return sys.stdin.buffer


class Text:
    """The text of a file. Bytes that are not UTF-8 become lone surrogates, unless the user names the encoding."""

    def __init__(self, file: InputFile, encoding: str | None = None) -> None:
        self.name = file.name
        self.source = file.open()
        try:
            start = self.source.peek(SAMPLE)
            marks = BYTE_ORDER_MARKS.items()
            encoding = encoding or next(
                (name for mark, name in marks if start.startswith(mark)), None
            )
            if encoding is None:
                _check_text(start, self.name)
        except BaseException:
            self.source.close()
            raise
        self.errors = "surrogateescape" if encoding is None else "strict"
        is_utf8 = encoding is None or codecs.lookup(encoding).name == "utf-8"
        self.encoding = "utf-8-sig" if is_utf8 else encoding or ""

    def __enter__(self) -> Text:
        return self

    def __exit__(self, *_: object) -> None:
        self.source.close()

    def blocks(self) -> Iterator[str]:
        """Yield the text in blocks."""
        decoder = codecs.getincrementaldecoder(self.encoding)(self.errors)
        while block := self.source.read(PIECE):
            yield decoder.decode(block)
        yield decoder.decode(b"", True)

    def line_blocks(self) -> Iterator[list[str]]:
        """Yield the lines in blocks. Only line feeds end a line, so that no other character splits a record."""
        for block in whole_lines(self.blocks(), "\n", LONGEST_LINE):
            if len(block) > LONGEST_LINE and "\n" not in block:
                raise FileError(
                    f"{self.name}: a line is longer than {LONGEST_LINE >> 20} million characters",
                    "is this a text file?",
                )
            lines = block.removesuffix("\n").split("\n")
            yield [line.removesuffix("\r") for line in lines] if "\r" in block else lines

    def stream(self) -> io.TextIOWrapper:
        """Return a text stream, for the csv module."""
        stream = io.BufferedReader(self.source, PIECE)
        return io.TextIOWrapper(stream, self.encoding, self.errors, newline="")


def _check_text(start: bytes, name: str) -> None:
    """Raise if the first bytes of a file are not text."""
    kind = next((kind for magic, kind in BINARY_FORMATS.items() if start.startswith(magic)), None)
    zeros = start.count(0)
    if kind is None and zeros:
        try:
            codecs.getincrementaldecoder("utf-8")().decode(start)
            kind = "a binary file" if zeros > MOST_ZEROS * len(start) else None
        except UnicodeDecodeError:
            kind = "a binary file"
    if kind is not None:
        raise FileError(
            f"{name} is {kind}, not text",
            "save it as plain text, CSV, JSON or Parquet; if it is UTF-16, pass encoding='utf-16-le'",
        )
