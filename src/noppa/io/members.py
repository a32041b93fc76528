"""Streams of concatenated compressed members, without the silent truncation of the standard library's readers."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol

from noppa.extras import needs

#: Compressed bytes read at a time. zstd expands them up to 32768 times at once; the others bound their output.
PIECE, ZSTD_PIECE = 1 << 17, 1 << 12

#: `xz -9` needs 65 MB; a header may ask for 4 GB.
XZ_MEMORY = 1 << 28


class Decompressor(Protocol):
    """One member; input that did not fit into the output of `size` bytes is used by the next call."""

    def decompress(self, data: bytes, size: int, /) -> bytes: ...

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class Members(io.RawIOBase):
    """The decompressed members (frames, streams) of a file, one after the other.

    The readers of the standard library end silently at a truncated zstd frame, and ignore a bz2 or xz member whose
    beginning is damaged as trailing garbage. Here only another member or zero bytes may follow a member.
    """

    def __init__(self, file: IO[bytes], start: Callable[[], Decompressor], piece: int) -> None:
        self._file = file
        self._start = start
        self._piece = piece
        self._member: Decompressor | None = None
        self._compressed = b""
        self._decompressed = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._decompressed:
            self._decompressed = memoryview(self._next(len(buffer)))
        part = self._decompressed[: len(buffer)]
        self._decompressed = self._decompressed[len(part) :]
        buffer[: len(part)] = part
        return len(part)

    def _next(self, size: int) -> bytes:
        """About `size` decompressed bytes at most; none at the end of the file."""
        while (member := self._member or self._next_member()) is not None:
            output = member.decompress(self._compressed, size)
            self._compressed, self._member = b"", member
            if member.eof:
                self._compressed, self._member = member.unused_data, None
            if output:
                return bytes(output)
            if not member.eof:
                self._compressed = self._file.read(self._piece)
                if not self._compressed:
                    raise EOFError("the compressed data ends too early")
        return b""

    def _next_member(self) -> Decompressor | None:
        """A decompressor for the next member if there is one, after the zero bytes that pad blocks of tapes and of xz."""
        self._compressed = self._compressed.lstrip(b"\0")
        while not self._compressed:
            piece = self._file.read(self._piece)
            if not piece:
                return None
            self._compressed = piece.lstrip(b"\0")
        return self._start()


def gzip_members(file: IO[bytes]) -> Members:
    return Members(file, GzipMember, PIECE)


def bz2_members(file: IO[bytes]) -> Members:
    return Members(file, bz2.BZ2Decompressor, PIECE)


def xz_members(file: IO[bytes]) -> Members:
    return Members(file, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY), PIECE)


def zstd_members(file: IO[bytes], name: str) -> Members:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return Members(file, zstd.ZstdDecompressor, PIECE)
    except ImportError:
        pass
    with needs("zst", f"{name}, which is compressed with zstd,"):
        import zstandard
    return Members(
        file, lambda: ZstdFrame(zstandard.ZstdDecompressor().decompressobj()), ZSTD_PIECE
    )


class GzipMember:
    """A zlib decompressor that holds its unused input itself, as those of bz2 and lzma do."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, size: int, /) -> bytes:
        return self._zlib.decompress(self._zlib.unconsumed_tail + data, size)

    @property
    def eof(self) -> bool:
        return self._zlib.eof

    @property
    def unused_data(self) -> bytes:
        return self._zlib.unused_data


class ZstdFrame:
    """A zstandard decompressor with the interface of those of the standard library."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def decompress(self, data: bytes, size: int, /) -> bytes:
        return bytes(self._frame.decompress(data)) if data else b""

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)
