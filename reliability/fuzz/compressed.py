"""Compressed files: what is read equals what the standard library reads, and what is cut is never taken for whole."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

import zstandard

from noppa import NoppaError
from noppa.io.compression import MAGIC, open_plain
from reliability.fuzz._vector_files import assert_sentence

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

#: A file; or a zero byte, where to cut, and what to compress.
SEEDS = [
    *(pack(TEXT) for pack in PACK.values()),
    *(pack(TEXT) + pack(TEXT * 9) + bytes(4) for pack in PACK.values()),
    *(zipped(TEXT, method) for method in (0, 8, 12, 14)),
    b"\0\x07" + TEXT,
]


def once(data: bytes) -> None:
    if data[:1] == b"\0":
        return cut(data[1:2], data[2:])
    content = content_of(data)
    kind = next((kind for magic, kind in MAGIC.items() if data.startswith(magic)), "none")
    if content is None or kind not in UNPACK or len(content) >= MOST:
        return
    try:
        expected = UNPACK[kind](data)
    except (OSError, EOFError, lzma.LZMAError):  # as at zero bytes between members of xz
        return
    assert expected == content, f"{kind} is read in another way than by Python"


def cut(place: bytes, content: bytes) -> None:
    for kind, pack in PACK.items():
        packed = pack(content)
        assert content_of(packed) == content, f"{kind} is not read back"
        size = max(8, len(packed) * (place or b"\0")[0] // 256)
        assert content_of(packed[:size]) is None, f"{kind} cut at {size} is taken for whole"


def content_of(data: bytes) -> bytes | None:
    """The first megabyte of what a file holds, None where it is refused."""
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
            return assert_sentence(error)
