"""Compressed data in one or more members, the last of which ends where the file does."""

from __future__ import annotations

import bz2
import io
import lzma
import zlib
from collections.abc import Callable
from typing import IO, Any

from noppa.extras import needs

#: Bytes that are decompressed at a time. zstd gives up to 32768 times as many at once, the others as many as asked for.
PIECE, ZSTD_PIECE = 1 << 17, 1 << 12

#: `xz -9` needs 65 MB; a header may ask for 4 GB.
XZ_MEMORY = 1 << 28


class Members(io.RawIOBase):
    """A stream of what the members (frames, streams) of a file hold, one after the other.

    The readers of the standard library end in silence at a cut member of zstd, and take one of bz2 or xz whose beginning
    is cut for garbage that may be left out. Here what follows a member is another one, or zero bytes.
    """

    def __init__(self, file: IO[bytes], decompressor: Callable[[], Any], piece: int) -> None:
        self._file = file
        self._new = decompressor
        self._piece = piece
        self._member: Any = None
        self._coming = b""  # compressed
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._ready:
            self._ready = memoryview(self._next(len(buffer)))
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _next(self, size: int) -> bytes:
        """Some bytes, about `size` at most; none at the end of the file."""
        while True:
            if self._member is None and not self._begin():
                return b""
            given = self._member.decompress(self._coming, size)
            self._coming = getattr(self._member, "unconsumed_tail", b"")  # of zlib; others keep it
            if self._member.eof:
                self._coming, self._member = self._member.unused_data, None
            if given:
                return bytes(given)
            if self._member is not None and not self._coming:
                self._coming = self._file.read(self._piece)
                if not self._coming:
                    raise EOFError("the compressed data ends too early")

    def _begin(self) -> bool:
        """Begin a member where there is one, behind zero bytes, which fill up blocks of tapes and of xz."""
        self._coming = self._coming.lstrip(b"\0")
        while not self._coming:
            piece = self._file.read(self._piece)
            if not piece:
                return False
            self._coming = piece.lstrip(b"\0")
        self._member = self._new()
        return True


def gzip_members(file: IO[bytes]) -> Members:
    return Members(file, lambda: zlib.decompressobj(wbits=31), PIECE)


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
    return Members(file, lambda: _Frame(zstandard.ZstdDecompressor().decompressobj()), ZSTD_PIECE)


class _Frame:
    """A frame of zstd under the names that the standard library has for such things."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def decompress(self, data: bytes, size: int) -> Any:
        return self._frame.decompress(data) if data else b""

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data)
