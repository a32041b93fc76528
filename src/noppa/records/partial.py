"""The output while it is being written: a hidden file beside its place, which one run at a time may hold."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from noppa.errors import FileError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: What a file system answers that has no locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def held(path: Path, target: str) -> Iterator[IO[bytes]]:
    """The file at `path`, made where there is none, locked until the block ends; a second run is refused."""
    while True:
        # a link planted here must not be followed: what it points to would be overwritten
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o666), "r+b") as file:
            if not _lock(file.fileno()):
                raise FileError(
                    f"another run is writing {target}: wait for it, or choose another output"
                )
            if is_at(file, path):  # the run before may have renamed or removed it since
                yield file
                return


def is_at(file: IO[bytes], path: Path) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except OSError:
        return False


def _lock(descriptor: int) -> bool:
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in NO_LOCKS
    return True


def sync_folder(folder: Path) -> None:
    """Force a rename to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def changed_at(path: Path) -> str:
    """When a file was last written, for a message."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(path.stat().st_mtime))
    except (OSError, OverflowError, ValueError):
        return "an unknown time"
