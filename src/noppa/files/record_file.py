"""What a record format reads from: a file on disk or standard input here, a `Place` on any file system of fsspec."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from noppa.errors import ParameterError
from noppa.io.compression import Source, open_plain

STDIN = "-"


class WholeFile(Protocol):
    """A file that can be read from its beginning to its end."""

    @property
    def address(self) -> str:
        """Its name in messages."""

    def size(self) -> int: ...

    def source(self) -> Source:
        """Its content, decompressed."""

    def random_access(self) -> Any:
        """What pyarrow can seek in: a path, or an open file, which the caller closes."""


class CuttableFile(WholeFile, Protocol):
    """A file of which any range of bytes can be read."""

    def content(self, start: int | None = None, stop: int | None = None) -> bytes: ...

    def stream(self) -> Any:
        """An open binary file of its bytes as they are stored."""


@dataclass(frozen=True)
class DiskFile:
    """A file of this machine; a `WholeFile`."""

    address: str

    def size(self) -> int:
        return Path(self.address).stat().st_size

    def source(self) -> Source:
        return open_plain(Path(self.address))

    def random_access(self) -> str:
        return self.address


class StandardInput:
    """Standard input; a `WholeFile`."""

    address = "standard input"

    def size(self) -> int:
        return 0

    def source(self) -> Source:
        return _Pipe()

    def random_access(self) -> Any:
        raise ParameterError(
            "a Parquet file is read from its end and cannot come from standard input: name the file"
        )


@dataclass(frozen=True)
class SpooledInput:
    """Standard input that was copied to a file, so that it can be read twice; a `WholeFile`."""

    copy: Path
    address = StandardInput.address

    @classmethod
    def of(cls, copy: Path) -> SpooledInput:
        """Copy what arrives on standard input to a new file."""
        with copy.open("wb") as file:
            shutil.copyfileobj(_unbuffered_stdin(), file)
        return cls(copy)

    def size(self) -> int:
        return self.copy.stat().st_size

    def source(self) -> Source:
        return open_plain(self.copy)

    def random_access(self) -> str:
        return str(self.copy)


def record_file(path: str, stdin: WholeFile | None = None) -> WholeFile:
    """The file of a path; `stdin` is read in place of standard input."""
    return (stdin or StandardInput()) if path == STDIN else DiskFile(path)


class _Pipe(Source):
    """Gives what has arrived, so that a slow writer's lines are not held back; left open."""

    def __init__(self) -> None:
        stream = _unbuffered_stdin()
        super().__init__(stream, "none", stream, 0)

    def read(self, size: int) -> bytes:
        if self._ahead:
            ahead, self._ahead = self._ahead[:size], self._ahead[size:]
            return ahead
        return bytes(self.stream.read(size) or b"")

    def position(self) -> int:
        return 0

    def close(self) -> None:
        pass


def _unbuffered_stdin() -> Any:
    """Unbuffered, because a thread waiting in a buffered read holds its lock when the interpreter exits."""
    try:
        return open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
    except (OSError, ValueError):  # a stand-in without a descriptor, as in tests
        return sys.stdin.buffer
