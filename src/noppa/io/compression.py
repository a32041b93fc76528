"""Compressed files as plain streams, recognized by their first bytes."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from noppa.errors import FileError, ParameterError
from noppa.io.members import Members, bz2_members, gzip_members, xz_members, zstd_members

MAGIC = {
    b"\x1f\x8b": "gz",
    b"BZh": "bz2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x28\xb5\x2f\xfd": "zst",
}

#: What documents that are zip archives hold: what they are, and what to do.
DOCUMENTS = {
    "xl/workbook.xml": (
        "an Excel workbook",
        "save it as CSV in UTF-8, or run soffice --headless --convert-to csv {name}",
    ),
    "word/document.xml": (
        "a Word document",
        "save it as plain text in UTF-8, or run soffice --headless --convert-to txt {name}",
    ),
    "ppt/presentation.xml": ("a PowerPoint document", "save its text as plain text in UTF-8"),
    "META-INF/manifest.xml": (
        "an OpenDocument file",
        "save it as CSV or as plain text in UTF-8, with LibreOffice: soffice --headless --convert-to csv {name}",
    ),
    "META-INF/container.xml": (
        "an e-book",
        "get its text first: pandoc {name} -t plain -o {name}.txt",
    ),
}

BUFFER = 1 << 20

#: Bytes read at a time from zip methods for which zipfile does not bound the size of the output.
UNBOUNDED_PIECE = 1 << 12
ENCRYPTED = 1


class _Stream(io.RawIOBase):
    """Decompressed content; the errors of the libraries below become a FileError."""

    def __init__(self, inner: Any, name: str, most: int = BUFFER) -> None:
        self._inner = inner
        self._name = name
        self._most = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            part = self._inner.read(min(len(buffer), self._most))
        # zlib, lzma, zipfile and zstandard each raise errors of their own.
        except Exception as error:
            raise FileError(f"{self._name} {damage(error)}: fetch it again") from error
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._inner.close()
        super().close()


def damage(error: BaseException | None) -> str:
    """The predicate of an error message about a file that cannot be read on."""
    return f"is damaged or cut short ({str(error) or type(error).__name__})"


class Source:
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

    def read(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end; a damaged stream raises once all readable bytes were returned."""
        parts = [self._ahead[:size]]
        self._ahead = self._ahead[size:]
        missing = size - len(parts[0])
        try:
            # In steps of BUFFER: read1(size) allocates all of `size` before it knows how much there is.
            while missing and (part := self.stream.read1(min(missing, BUFFER))):
                parts.append(part)
                missing -= len(part)
        except (OSError, ValueError) as error:
            if not any(parts):
                if isinstance(error, FileError):
                    raise
                raise FileError(f"{self.name} {damage(error)}: fetch it again") from error
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def peek(self, size: int) -> bytes:
        """Up to `size` bytes, which `read` returns again."""
        start = self.read(size)
        self._ahead = start + self._ahead
        return start

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
    return plain(file, str(path), os.fstat(file.fileno()).st_size, member)


def plain(file: io.BufferedReader, name: str, size: int, member: str | None = None) -> Source:
    """The content of an open file of `size` bytes; closes the file on an error."""
    try:
        start = file.peek(8)
        kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "none")
        if member is not None and kind != "zip":
            raise ParameterError(
                f"member={member!r} chooses a file of a zip archive, and {name} is none"
            )
        if kind == "none":
            return Source(file, kind, file, size, name)
        stream = (
            _zip(file, name, member) if kind == "zip" else _Stream(_OPENERS[kind](file, name), name)
        )
        return Source(io.BufferedReader(stream, BUFFER), kind, file, size, name)
    except BaseException:
        file.close()
        raise


_OPENERS: dict[str, Callable[[IO[bytes], str], Members]] = {
    "gz": lambda file, name: gzip_members(file),
    "bz2": lambda file, name: bz2_members(file),
    "xz": lambda file, name: xz_members(file),
    "zst": zstd_members,
}


def _zip(file: IO[bytes], name: str, member: str | None) -> _Stream:
    if not file.seekable():
        raise FileError(
            f"{name} is a zip archive in a pipe, and its table stands at its end: save it first"
        )
    try:
        archive = zipfile.ZipFile(file)
    except Exception as error:  # a damaged directory makes zipfile raise errors of many kinds
        raise FileError(
            f"{name} is a zip archive that is damaged or cut short ({error}): download it again"
        ) from error
    names = [inside for inside in archive.namelist() if not inside.endswith("/")]
    listed = ", ".join(inside if inside.isprintable() else repr(inside) for inside in names[:10])
    if any(inside.endswith("data.pkl") for inside in names):
        raise FileError(
            f"{name} is a PyTorch file, which noppa does not unpickle: "
            "save its matrix with numpy.save and its words one a line"
        )
    for inside, (what, advice) in DOCUMENTS.items():
        if inside in names:
            raise FileError(f"{name} is {what} and no text: {advice.format(name=name)}")
    if member is None and len(names) != 1:
        raise FileError(
            f"{name} holds {len(names)} files: choose one with member=, from {listed or 'none'}"
        )
    if member is not None and member not in names:
        raise FileError(f"{name} holds no {member!r}, only {listed or 'nothing'}")
    entry = archive.getinfo(member or names[0])
    if entry.flag_bits & ENCRYPTED:
        raise FileError(f"{name} is an encrypted zip archive: unpack it with its password first")
    try:
        content = archive.open(entry)
    except Exception as error:
        raise FileError(f"{name} {damage(error)}: download it again") from error
    bounded = entry.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return _Stream(content, name, BUFFER if bounded else UNBOUNDED_PIECE)
