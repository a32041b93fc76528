"""Compressed files as plain streams, recognised by their first bytes."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

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

#: What the libraries raise on a stream that is cut short or damaged.
BROKEN = (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)

BUFFER = 1 << 20


class Source:
    """The plain content of a file, and where the file itself stands for a progress bar."""

    def __init__(self, stream: Any, compression: str, file: IO[bytes], size: int) -> None:
        self.stream = stream
        self.compression = compression
        self.file = file
        self.size = size
        self._ahead = b""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end; a damaged stream raises after all it had was given."""
        parts = [self._ahead[:size]]
        self._ahead = self._ahead[size:]
        wanted = size - len(parts[0])
        try:
            while wanted and (part := self.stream.read1(wanted)):
                parts.append(part)
                wanted -= len(part)
        except BROKEN as error:
            if not any(parts):
                raise FileError(f"is damaged or cut short ({error})") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, size: int) -> bytes:
        """Up to `size` bytes that `read` will give again."""
        self._ahead = self.read(size)
        return self._ahead

    def position(self) -> int:
        return self.file.tell() if self.file.seekable() else 0

    def close(self) -> None:
        self.stream.close()
        self.file.close()


def open_plain(path: Path, member: str | None = None) -> Source:
    """The content of a file, whatever it is compressed with."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from error
    return plain(file, path, path.stat().st_size, member)


def plain(file: io.BufferedReader, path: Path, size: int, member: str | None = None) -> Source:
    """The content of an open file of `size` bytes, which is closed where that fails."""
    try:
        start = file.peek(8)
        kind = next((name for magic, name in MAGIC.items() if start.startswith(magic)), "none")
        if member is not None and kind != "zip":
            raise ParameterError(
                f"member={member!r} chooses a file of a zip archive, and {path} is none"
            )
        stream = _OPENERS[kind](file, path, member)
        return Source(stream, kind, file, size)
    except BaseException:
        file.close()
        raise


def _zstandard(file: IO[bytes], path: Path, member: str | None) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found, unused-ignore]  # Python 3.14

        return zstd.ZstdFile(file)
    except ImportError:
        pass
    with needs("zst", f"{path}, which is compressed with zstd,"):
        import zstandard
    reader: Any = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
    return io.BufferedReader(reader, BUFFER)


def _zip(file: IO[bytes], path: Path, member: str | None) -> Any:
    if not file.seekable():
        raise FileError(
            f"{path} is a zip archive in a pipe, and its table stands at its end: save it first"
        )
    try:
        archive = zipfile.ZipFile(file)
    except zipfile.BadZipFile as error:
        raise FileError(
            f"{path} is a zip archive that is damaged or cut short ({error}): download it again"
        ) from error
    names = [name for name in archive.namelist() if not name.endswith("/")]
    if any(name.endswith("data.pkl") for name in names):
        raise FileError(
            f"{path} is a PyTorch file, which noppa does not unpickle: "
            "save its matrix with numpy.save and its words one a line"
        )
    if member is None and len(names) != 1:
        raise FileError(
            f"{path} holds {len(names)} files: choose one with member=, from {', '.join(names[:10])}"
        )
    if member is not None and member not in names:
        raise FileError(f"{path} holds no {member!r}, only {', '.join(names[:10])}")
    return archive.open(member or names[0])


_OPENERS: dict[str, Callable[[IO[bytes], Path, str | None], Any]] = {
    "none": lambda file, path, member: file,
    "gz": lambda file, path, member: gzip.GzipFile(fileobj=file),
    "bz2": lambda file, path, member: bz2.BZ2File(file),
    "xz": lambda file, path, member: lzma.LZMAFile(file),  # noqa: SIM115
    "zip": _zip,
    "zst": _zstandard,
}
