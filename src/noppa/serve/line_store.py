"""The one place for the lines of browsers where a server has several processes: a file each in a private folder.

Whichever worker a request meets reads them there, and one that dies loses nothing. The supervisor makes the folder, which
nobody else can read, and removes it at the end. Files are bounded as sessions in memory are: in number, bytes and age.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from noppa.serve import logs
from noppa.serve.problems import busy


class Name(NamedTuple):
    """A browser's secret, and the hash of its lines, both from a cookie whose signature was checked."""

    secret: str
    mark: str


class LineStore:
    """Lines by name, in a folder."""

    def __init__(self, folder: Path, most: int, most_bytes: int, seconds: float) -> None:
        self.folder = folder
        self.most, self.most_bytes, self.seconds = most, most_bytes, seconds

    def write(self, name: Name, lines: list[str]) -> None:
        """Store a browser's lines in place of its earlier ones; 503 where there is no room."""
        file = self._file(name)
        new = self.folder / f"{os.getpid()}.{os.urandom(8).hex()}.new"
        try:
            with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
                # One by one: a long call of json holds the GIL, and with it the event loop.
                opened.writelines(json.dumps(line).encode() + b"\n" for line in lines)
            new.replace(file)
        except OSError as error:
            with suppress(OSError):
                new.unlink()
            logs.write("lines not stored", error=error.strerror)
            raise busy("there is no room for lines now: try again later", code="no_room") from None
        self._drop(name.secret, but=file)
        self.forget()

    def read(self, name: Name) -> list[str]:
        """The lines, none where there is no such file."""
        try:
            with self._file(name).open("rb") as opened:
                return [*map(json.loads, opened)]
        except FileNotFoundError:
            return []
        except OSError as error:
            logs.write("lines not read", error=error.strerror)
            raise busy("the lines cannot be read now: try again later") from None

    def has(self, name: Name) -> bool:
        """Whether lines are there and not too old; they are then used, and live on."""
        file = self._file(name)
        try:
            if file.stat().st_mtime < time.time() - self.seconds:
                return False
            os.utime(file)
        except FileNotFoundError:
            return False
        return True

    def drop(self, secret: str) -> None:
        self._drop(secret)

    def forget(self) -> None:
        """Remove the files that are too old, too many or too large together, the longest unused first."""
        found = []
        for file in self.folder.iterdir():
            with suppress(FileNotFoundError):  # another worker was here first
                status = file.stat()
                found.append((status.st_mtime, status.st_size, file))
        total, oldest = sum(size for _, size, _ in found), time.time() - self.seconds
        for at, (used, size, file) in enumerate(sorted(found)):
            left = len(found) - at
            if used >= oldest and left <= self.most and (total <= self.most_bytes or left == 1):
                break
            file.unlink(missing_ok=True)
            total -= size

    def _file(self, name: Name) -> Path:
        # Hashed: whoever sees the names of files must not learn a cookie.
        return self.folder / f"{_hash(name.secret)}.{name.mark}"

    def _drop(self, secret: str, but: Path | None = None) -> None:
        for file in self.folder.glob(f"{_hash(secret)}.*"):
            if file != but:
                file.unlink(missing_ok=True)


def mark_of(lines: list[str]) -> str:
    """A hash of lines, which may hold half characters."""
    digest = hashlib.sha256()
    for line in lines:
        digest.update(json.dumps(line).encode())
    return digest.hexdigest()[:16]


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()[:32]
