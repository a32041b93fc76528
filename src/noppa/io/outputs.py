"""Output paths: an output never overwrites one of its inputs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from noppa.errors import FileError

PathLike = str | os.PathLike[str]
STREAM = "-"


def refuse_input_as_output(target: PathLike, sources: Iterable[PathLike | None]) -> None:
    """Refuse a target that is a source, lies inside a source folder, or is a folder that contains a source.

    Symbolic and hard links are followed. A source None or `-` is no file; a target `-` is the file that standard output
    is redirected to.
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


class Saved(Protocol):
    """Something that may be mapped from a saved folder, which is then its path."""

    @property
    def path(self) -> Path | None: ...


class SavedWithWords(Saved, Protocol):
    """An encoder, as far as its folders go."""

    @property
    def words(self) -> Saved: ...


def folders_of(encoder: SavedWithWords) -> list[Path | None]:
    """The saved folders that an encoder maps into memory."""
    return [encoder.path, encoder.words.path]


def _same(one: PathLike, other: PathLike) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them does not exist, but may be what a link of the other points to
        return os.path.realpath(one) == os.path.realpath(other)


def _inside(path: PathLike, folder: PathLike) -> bool:
    real = os.path.realpath(path)
    return os.path.realpath(folder) in map(str, Path(real).parents)


def _is_standard_output(source: PathLike) -> bool:
    try:
        return os.path.samestat(os.fstat(1), os.stat(source)) and Path(source).is_file()
    except OSError:
        return False
