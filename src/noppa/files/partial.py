"""Files that only one run at a time may write: the hidden partial output of a job, the lock of a cluster run."""

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

#: Errors of file systems without locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)


@contextmanager
def locked_file(path: Path, target: str) -> Iterator[IO[bytes]]:
    """The file at `path`, created where missing, locked for the block; a second run to `target` is refused."""
    while True:
        # O_NOFOLLOW: a symbolic link planted here would let this overwrite its target.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o666), "r+b") as file:
            if not _lock(file.fileno()):
                raise FileError(
                    f"another run is writing {target}: wait for it, or choose another output"
                )
            # The run before may have renamed or removed the file between open and lock.
            if is_at(file, path):
                yield file
                return


def is_at(file: IO[bytes], path: Path) -> bool:
    """Whether a path still names an open file."""
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
    """Make a rename durable, where the system can."""
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
