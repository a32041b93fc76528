"""Checks of input and output paths, and the folder for downloads."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from noppa.errors import FileError

HOME_VARIABLE = "NOPPA_HOME"
#: Stands for standard input or standard output.
STREAM = "-"
PathLike = str | os.PathLike[str]


def home() -> Path:
    """Return the folder for downloads: NOPPA_HOME, or one in the user's cache folder."""
    if HOME_VARIABLE in os.environ:
        return Path(os.environ[HOME_VARIABLE])
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "noppa"
    except RuntimeError as error:
        raise FileError(
            "there is no home folder to download to", f"set {HOME_VARIABLE} to a folder"
        ) from error


def require_readable(path: Path, name: str) -> None:
    """Raise if a path, which the error calls `name`, is missing, a folder, a device or a socket; a pipe is fine."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        raise FileError(f"{name} does not exist") from error
    except (OSError, ValueError) as error:  # too long, a loop of links, a null byte
        reason = error.strerror if isinstance(error, OSError) else None
        raise FileError(f"{name} cannot be opened: {reason or error}") from error
    if stat.S_ISDIR(mode):
        raise FileError(f"{name} is a folder, not a file")
    if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
        raise FileError(f"{name} is a device, not a file")


def read_bytes(path: Path, name: str) -> bytes:
    """Return the content of a small file, which errors call `name`."""
    require_readable(path, name)
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"{name} cannot be opened: {error.strerror or error}") from error


def folders_of(encoder: Any) -> list[Path | None]:
    """Return the saved folders that an encoder maps into memory."""
    return [encoder.path, encoder.words.path]


def refuse_input_as_output(target: PathLike, sources: Iterable[PathLike | None]) -> None:
    """Raise if an output is an input, is inside an input folder, or is a folder that contains an input.

    Links are followed. A source that is None or `-` is not a file; a target `-` is the file to which standard output is
    redirected.
    """
    output = Path(os.path.realpath(target))
    for source in sources:
        if source is None or os.fspath(source) == STREAM:
            continue
        path = Path(os.path.realpath(source))
        both_exist = os.path.exists(path) and os.path.exists(output)
        problem = ""
        if os.fspath(target) == STREAM:
            if os.path.isfile(path) and os.path.samestat(os.fstat(1), os.stat(path)):
                problem = f"standard output goes to {source}, which is an input"
        elif path == output or (both_exist and os.path.samefile(path, output)):  # or a hard link
            problem = f"{target} is an input"
        elif output in path.parents:
            problem = f"{target} contains the input {source}"
        elif path in output.parents:
            problem = f"{target} is inside the input {source}"
        if problem:
            raise FileError(problem, "choose another output")
