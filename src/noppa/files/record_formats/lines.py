"""Plain text: one record a line, split at line feeds alone, so that no other character breaks a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

from noppa.errors import FileError
from noppa.files.batch import Batch, is_clean
from noppa.files.columns import TEXT, Fields, Selection
from noppa.files.record_file import CuttableFile, WholeFile
from noppa.files.record_formats.byte_ranges import LineFormat, open_lines
from noppa.files.text_source import not_utf8, text_source
from noppa.io.compression import Source, whole_lines

#: Bytes to read at a time.
PIECE = 1 << 18
#: Bytes of the longest line that is read: a device or a file without line feeds must not fill the memory.
LONGEST_LINE = 1 << 28
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Lines(LineFormat):
    unit = "line"

    def stream(self, file: WholeFile, selection: Selection) -> Iterator[Batch]:
        with closing(text_source(file, selection.encoding)) as source:
            for batch in line_batches(source, file.address):
                if selection.records:
                    batch.column = selection.column or TEXT
                    batch.records = [{batch.column: text} for text in batch.texts]
                yield batch

    def fields(self, files: Sequence[CuttableFile], selection: Selection) -> Fields:
        import pyarrow

        text = selection.column or TEXT
        schema = pyarrow.schema([(text, pyarrow.string())])
        return Fields.of("lines", text, schema, selection)

    def read(self, file: CuttableFile, start: int, stop: int, fields: Fields) -> Iterator[Batch]:
        import pyarrow

        with closing(open_lines(file, start, stop, fields.encoding)) as source:
            for batch in line_batches(source, file.address, first=start == 0):
                arrays = [pyarrow.array(batch.texts, pyarrow.string()) for _ in fields.schema]
                batch.columns = pyarrow.record_batch(arrays, schema=fields.schema)
                yield batch


def line_batches(source: Source, address: str, first: bool = True) -> Iterator[Batch]:
    """The lines of a source, some at a time; `first` says that it may begin with a byte order mark."""
    for piece in whole_lines(_blocks(source), LONGEST_LINE):
        if len(piece) > LONGEST_LINE and b"\n" not in piece:
            raise FileError(
                f"{address}: a line is longer than {LONGEST_LINE >> 20} MB; is this a file of text lines?"
            )
        if first:
            piece, first = piece.removeprefix(BYTE_ORDER_MARK), False
        texts, bad = _decoded(piece)
        yield Batch(texts, bad, source.position())


def _blocks(source: Source) -> Iterator[bytes]:
    while block := source.read(PIECE):
        yield block


def _decoded(piece: bytes) -> tuple[list[str | None], list[tuple[int, str]]]:
    bad: list[tuple[int, str]] = []
    try:
        texts: list[str | None] = list(_split(piece.decode()))
    except UnicodeDecodeError:
        texts = list(_split(piece.decode("utf-8", "surrogateescape")))
        for at, text in enumerate(texts):
            if text is not None and not is_clean(text):
                bad.append((at, not_utf8(text)))
                texts[at] = None
    return texts, bad


def _split(text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines
