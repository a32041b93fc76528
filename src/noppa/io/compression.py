"""Compressed files as plain streams, recognized by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, AnyStr

from noppa.errors import FileError, ParameterError
from noppa.extras import needs

MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x28\xb5\x2f\xfd": "zst",
}

BUFFER = 1 << 20
#: Compressed bytes read at a time. zstd expands them up to 32768 times at once; the others bound their output.
PIECE, ZSTD_PIECE = 1 << 17, 1 << 12
#: Bytes read at a time from zip methods for which zipfile does not bound the size of the output.
UNBOUNDED_PIECE = 1 << 12
#: `xz -9` needs 65 MB; a header may ask for 4 GB.
XZ_MEMORY = 1 << 28
ENCRYPTED = 1


class _Readable(io.RawIOBase):
    """A raw stream by its `read`, which `io.BufferedReader` does not call."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part = self.read(len(buffer)) or b""
        buffer[: len(part)] = part
        return len(part)


class Source(_Readable):
    """The plain content of a file, and the position in the file itself for a progress bar."""

    def __init__(
        self, stream: Any, compression: str, file: IO[bytes], size: int, name: str = "the input"
    ) -> None:
        self.stream = stream
        self.compression = compression
        self.file = file
        self.name = name
        self.size = size
        self._ahead = b""
        self._error: FileError | None = None

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes, fewer only at the end; an error is raised after all readable bytes."""
        parts = [self._ahead[:size]]
        self._ahead = self._ahead[size:]
        missing = 0 if self._error else size - len(parts[0])
        try:
            # In steps of BUFFER: read1(size) allocates all of `size` before it knows how much there is.
            while missing and (part := self.stream.read1(min(missing, BUFFER))):
                parts.append(part)
                missing -= len(part)
        except FileError as error:
            self._error = error
        except (OSError, ValueError) as error:
            self._error = FileError(f"{self.name} {damage(error)}: fetch it again")
            self._error.__cause__ = error
        if self._error is not None and size and not any(parts):
            raise self._error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, size: int) -> bytes:
        """Return up to `size` bytes, which `read` returns again."""
        start = self.read(size)
        self._ahead = start + self._ahead
        return start

    def position(self) -> int:
        return self.file.tell() if self.file.seekable() else 0

    def close(self) -> None:
        self.stream.close()
        self.file.close()


def damage(error: BaseException | None) -> str:
    """Return the predicate of an error message about a file that cannot be read to its end."""
    return f"is damaged or cut short ({str(error) or type(error).__name__})"


def open_plain(path: Path, member: str | None = None) -> Source:
    """Open a file and decompress it; `member` chooses a file of a zip archive."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    return plain(file, str(path), os.fstat(file.fileno()).st_size, member)


def plain(file: io.BufferedReader, name: str, size: int, member: str | None = None) -> Source:
    """Decompress an open file of `size` bytes; close it on an error."""
    try:
        start = file.peek(8)
        kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "none")
        if member is not None and kind != "zip":
            raise ParameterError(f"member={member!r} is given, but {name} is not a zip archive")
        if kind == "none":
            return Source(file, kind, file, size, name)
        stream: Any
        most = BUFFER
        if kind == "zip":
            stream, most = _open_zip(file, name, member)
        elif kind == "gz":
            stream = gzip.GzipFile(fileobj=file)
        else:
            stream = _Members(file, *_DECOMPRESSORS[kind](name))
        return Source(
            io.BufferedReader(_Stream(stream, name, most), BUFFER), kind, file, size, name
        )
    except BaseException:
        file.close()
        raise


class _Stream(_Readable):
    """A decompressed stream that raises whatever a library raises as a FileError."""

    def __init__(self, inner: Any, name: str, most: int) -> None:
        self._inner, self._name, self._most = inner, name, most
        # GzipFile.read discards what it has read if the file ends too early.
        self._read = inner.read1 if isinstance(inner, gzip.GzipFile) else inner.read

    def read(self, size: int = -1) -> bytes:
        try:
            return bytes(self._read(min(size, self._most)))
        # zlib, lzma, zipfile and zstandard each have their own errors.
        except Exception as error:
            raise FileError(f"{self._name} {damage(error)}: fetch it again") from error

    def close(self) -> None:
        self._inner.close()
        super().close()


class _Members(_Readable):
    """The members (streams, frames) of a bz2, xz or zstd file, one after the other.

    The usual readers lose data silently: bz2 and lzma of the standard library ignore a member whose beginning is damaged as
    trailing garbage, and zstandard ends at a truncated frame. Here only another member or zero bytes may follow a member.
    """

    def __init__(self, file: IO[bytes], start: Callable[[], Any], piece: int) -> None:
        self._file, self._start, self._piece = file, start, piece
        self._member: Any = None
        self._compressed = b""
        self._decompressed = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        if not self._decompressed:
            self._decompressed = memoryview(self._next(size))
        part = self._decompressed[:size]
        self._decompressed = self._decompressed[len(part) :]
        return bytes(part)

    def _next(self, size: int) -> bytes:
        """Return about `size` decompressed bytes at most, none at the end of the file."""
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

    def _next_member(self) -> Any:
        """Return a decompressor for the next member, after the zero bytes that pad blocks of tapes and of xz."""
        self._compressed = self._compressed.lstrip(b"\0")
        while not self._compressed:
            piece = self._file.read(self._piece)
            if not piece:
                return None
            self._compressed = piece.lstrip(b"\0")
        return self._start()


def _zstd(name: str) -> tuple[Callable[[], Any], int]:
    with suppress(ImportError):  # before Python 3.14
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]

        return zstd.ZstdDecompressor, PIECE
    with needs("zst", f"{name}, which is compressed with zstd,"):
        import zstandard
    return lambda: _ZstdFrame(zstandard.ZstdDecompressor().decompressobj()), ZSTD_PIECE


class _ZstdFrame:
    """A zstandard decompressor with the interface of those of the standard library."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def decompress(self, data: bytes, size: int, /) -> bytes:
        return bytes(self._frame.decompress(data)) if data else b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._frame, name)


_DECOMPRESSORS: dict[str, Callable[[str], tuple[Callable[[], Any], int]]] = {
    "bz2": lambda name: (bz2.BZ2Decompressor, PIECE),
    "xz": lambda name: (lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY), PIECE),
    "zst": _zstd,
}


def _open_zip(file: IO[bytes], name: str, member: str | None) -> tuple[IO[bytes], int]:
    """Open a file of a zip archive; return how many bytes to read at a time, too."""
    if not file.seekable():
        raise FileError(f"{name} is a zip archive in a pipe, which cannot be read: save it first")
    try:
        archive = zipfile.ZipFile(file)
        names = [inside for inside in archive.namelist() if not inside.endswith("/")]
    except Exception as error:  # a damaged directory raises errors of many kinds
        raise FileError(f"{name} {damage(error)}: fetch it again") from error
    listed = ", ".join(inside if inside.isprintable() else repr(inside) for inside in names[:10])
    if member is None and len(names) != 1:
        raise FileError(
            f"{name} holds {len(names)} files", f"choose one with member=, from {listed or 'none'}"
        )
    if member is not None and member not in names:
        raise FileError(f"{name} holds no {member!r}, only {listed or 'nothing'}")
    entry = archive.getinfo(member or names[0])
    if entry.flag_bits & ENCRYPTED:
        raise FileError(f"{name} is an encrypted zip archive", "unpack it with its password first")
    try:
        content = archive.open(entry)
    except Exception as error:
        raise FileError(f"{name} {damage(error)}: fetch it again") from error
    bounded = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return content, BUFFER if bounded else UNBOUNDED_PIECE


def whole_lines(blocks: Iterable[AnyStr], newline: AnyStr, longest: int) -> Iterator[AnyStr]:
    """Yield the same content in blocks that end at the end of a line; the last one may lack its newline.

    Of a line that is longer than `longest`, yield only the beginning, and then nothing more.
    """
    # Joined once per line: appending would copy a long line for each of its blocks.
    pending: list[AnyStr] = []
    size = 0
    for block in blocks:
        end = block.rfind(newline) + 1
        if end:
            pending.append(block[:end])
            yield newline[:0].join(pending)
            pending, size = [], 0
        pending.append(block[end:])
        size += len(block) - end
        if size > longest:
            break
    if size:
        yield newline[:0].join(pending)
