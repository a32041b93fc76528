"""Where results may be written: never onto what they are made from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from noppa.errors import FileError

PathLike = str | os.PathLike[str]
STREAM = "-"


def refuse_input_as_output(target: PathLike, sources: Iterable[PathLike | None]) -> None:
    """Refuse a target that is one of the sources, lies in one that is a folder, or is a folder around one.

    Symbolic and hard links are followed. None and `-` stand for no file; a target `-` is compared with the file that
    standard output goes to.
    """
    for source in sources:
        if source is None or os.fspath(source) == STREAM:
            continue
        if os.fspath(target) == STREAM:
            if _is_standard_output(source):
                raise FileError(
                    f"standard output goes to {source}, which is an input: choose another file"
                )
        elif _same(target, source):
            raise FileError(
                f"{target} is an input ({source}) and would be replaced: choose another output"
            )
        elif _inside(source, target):
            raise FileError(
                f"{target} holds the input {source} and would be replaced: choose another output"
            )
        elif Path(source).is_dir() and _inside(target, source):
            raise FileError(f"{target} lies in the input {source}: choose another output")


def folders_of(encoder: Any) -> list[Path | None]:
    """The saved folders that an encoder maps into memory."""
    return [getattr(encoder, "path", None), getattr(getattr(encoder, "words", None), "path", None)]


def _same(one: PathLike, other: PathLike) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist; it may still be the end of the other's link
        return os.path.realpath(one) == os.path.realpath(other)


def _inside(path: PathLike, folder: PathLike) -> bool:
    real = os.path.realpath(path)
    return os.path.realpath(folder) in map(str, Path(real).parents)


def _is_standard_output(source: PathLike) -> bool:
    try:
        return os.path.samestat(os.fstat(1), os.stat(source)) and Path(source).is_file()
    except OSError:
        return False
