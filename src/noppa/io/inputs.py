"""Readable paths: folders, devices and missing files are refused in one sentence."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from noppa.errors import FileError


def require_readable(path: Path, name: str, missing: str = "check the name") -> None:
    """Refuse folders, devices and sockets; a pipe is fine.

    name: what the error calls the path. missing: what to do if it does not exist.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        raise FileError(f"{name} does not exist: {missing}") from error
    except (OSError, ValueError) as error:  # too long, a loop of links, a null byte
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileError(f"{name} cannot be opened: {reason or error}") from error
    if stat.S_ISDIR(mode):
        raise FileError(f"{name} is a folder and no file: give the file itself")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise FileError(f"{name} is a device and no file: give a file")


def read_whole(path: Path, name: str) -> bytes:
    """The content of a file that is small enough to be read at once."""
    require_readable(path, name)
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{name} cannot be opened: {error.strerror or error}") from error
