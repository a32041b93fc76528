"""Fuzz the readers of compressed files and of records: what is read is complete, or refused with a one-line error."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow
import pyarrow.parquet
import zstandard

from noppa import NoppaError
from noppa.files import FORMATS, Input, read
from noppa.io.compression import MAGIC as COMPRESSION_MAGIC
from noppa.io.compression import open_plain
from reliability.fuzz.vector_files import check_error

MOST = 1 << 20


def zipped(content: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        archive.writestr("v.txt", content)
    return file.getvalue()


PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda content: gzip.compress(content, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.compress,
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "xz": lzma.decompress,
}
TEXT = b"the 0.1 0.2\ncake 0.3 0.4\n"

#: A compressed file; or a zero byte, the place to cut, and the content to compress.
COMPRESSED_SEEDS = [
    *(pack(TEXT) for pack in PACK.values()),
    *(pack(TEXT) + pack(TEXT * 9) + bytes(4) for pack in PACK.values()),
    *(zipped(TEXT, method) for method in (0, 8, 12, 14)),
    b"\0\x07" + TEXT,
]


def compressed(data: bytes) -> None:
    if data[:1] == b"\0":
        return cut(data[1:2], data[2:])
    content = content_of(data)
    kind = next(
        (kind for magic, kind in COMPRESSION_MAGIC.items() if data.startswith(magic)), "none"
    )
    if content is None or kind not in UNPACK or len(content) >= MOST:
        return
    try:
        expected = UNPACK[kind](data)
    except (OSError, EOFError, lzma.LZMAError):  # for example zero bytes between members of xz
        return
    assert expected == content, f"{kind} is read differently from Python"


def cut(place: bytes, content: bytes) -> None:
    for kind, pack in PACK.items():
        packed = pack(content)
        assert content_of(packed) == content, f"{kind} is not read back"
        size = max(8, len(packed) * (place or b"\0")[0] // 256)
        assert content_of(packed[:size]) is None, f"{kind} cut at {size} is taken for whole"


def content_of(data: bytes) -> bytes | None:
    """Return the first megabyte of a compressed file, or None if it is refused."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        try:
            source = open_plain(Path(file.name))
            try:
                parts = []
                while sum(map(len, parts)) < MOST and (part := source.read(1 << 16)):
                    parts.append(part)
                return b"".join(parts)
            finally:
                source.close()
        except NoppaError as error:
            return check_error(error)


# Records

FORMS = tuple(FORMATS)
COLUMNS = (None, "text", "1", "b")
_FOLDER = tempfile.TemporaryDirectory(prefix="noppa-fuzz-records-")


def _parquet(**options: object) -> bytes:
    file = io.BytesIO()
    texts = ["a cake", None, "é", "a cake"]
    pyarrow.parquet.write_table(pyarrow.table({"text": texts, "b": [1, 2, 3, 4]}), file, **options)
    return file.getvalue()


def _first(form: str, header: bool = True, column: int = 0) -> bytes:
    return bytes([FORMS.index(form) + 8 * header + 16 * column])


RECORDS_SEEDS = [
    _first("lines") + b"\xef\xbb\xbfa cake\r\nthe girl\n\n\xff\x00\n\xe2\x80\xa8",
    _first("jsonl")
    + b'{"text": "a"}\n"b"\n\n[[[[1]]]]\n{"text": "\\ud800"}\n{"text": 1e999}\nnull',
    _first("csv") + b'\xef\xbb\xbfid,text\n1,"a, ""cake""\nthe"\n2\n\n3,\xff\n',
    _first("csv", False, 2) + b'"open\n',
    _first("tsv", True, 3) + b'label\tb\r\n1\t"x\r\n',
    _first("parquet") + _parquet(compression="none"),
    _first("parquet", True, 1) + _parquet(use_dictionary=False, row_group_size=2),
]


def records(data: bytes) -> None:
    if not data:
        return
    form = FORMS[(data[0] & 7) % len(FORMS)]
    path = Path(_FOLDER.name, f"input-{os.getpid()}")
    path.write_bytes(data[1:])
    source = Input([str(path)], form, COLUMNS[data[0] >> 4 & 3], bool(data[0] & 8))
    count = 0
    try:
        for batch in read(source):
            count += len(batch.texts)
            bad = [at for at, why in batch.bad]
            assert bad == sorted(set(bad)), "a record is bad once"
            assert bad == [at for at, text in enumerate(batch.texts) if text is None]
            for text in batch.texts:
                assert text is None or text.encode() is not None
            assert all("\n" not in why for _, why in batch.bad), "a fault is one line"
    except NoppaError:
        return
    if (
        form in ("lines", "jsonl")
        and path.stat().st_size
        and not data[1:].startswith(PACKED + WIDE)
    ):
        plain = data[1:].removeprefix(b"\xef\xbb\xbf")
        assert count == plain.count(b"\n") + (not plain.endswith(b"\n")), "one line, one record"


#: Beginnings of compressed files, and of text in UTF-16 and UTF-32: their bytes are not those of their lines.
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7z", b"PK\x03", b"PK\x05", b"\x28\xb5\x2f")
WIDE = (b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")
