"""Atomic writes: a file or folder is complete under its name, or the old one is still there.

New content is written beside its target as `.NAME.XXXXXXXX.unfinished`, synced to disk and renamed. A folder cannot be
replaced by one rename, so the old one is first renamed to `.NAME.previous`; if the process dies between the two renames, it
is read from there (`previous_if_missing`). Apart from that, a killed process leaves at most hidden files to delete.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from noppa.errors import FileError

UNFINISHED = ".unfinished"


@contextmanager
def atomic_file(target: Path) -> Iterator[Path]:
    """Yield a temporary path that replaces the file `target` if the block succeeds."""
    target = target.absolute()
    if target.exists() and not target.is_file():
        raise FileError(f"cannot write {target}: it exists and is not a regular file")
    with _unfinished(target) as new:
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        yield new
        sync(new)
        os.replace(new, target)
        sync(target.parent)


@contextmanager
def atomic_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that replaces the folder `target` if the block succeeds."""
    target = target.absolute()
    with _unfinished(target) as new:
        os.mkdir(new)
        yield new
        if target.parent.suffix == UNFINISHED:  # part of a folder that will be synced as a whole
            os.rename(new, target)
            return
        for folder, _, files in os.walk(new, topdown=False):
            for name in files:
                sync(Path(folder, name))
            sync(Path(folder))
        previous = _previous(target)
        if target.exists():
            remove(previous)
            os.rename(target, previous)
        try:
            os.rename(new, target)
        except OSError:
            if previous.exists() and not target.exists():
                os.rename(previous, target)
            raise
        remove(previous)
        sync(target.parent)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """Yield a temporary folder beside `target`, on the disk that must have room for it anyway."""
    with _unfinished(target.absolute()) as new:
        os.mkdir(new)
        yield new


def previous_if_missing(folder: Path) -> Path:
    """Return the folder, or its previous version if a save was killed between its two renames."""
    previous = _previous(folder)
    # os.path, since Path.exists raises for names that are too long
    return previous if os.path.exists(previous) and not os.path.exists(folder) else folder


def _previous(folder: Path) -> Path:
    folder = folder.absolute()
    return folder.with_name(f".{folder.name}.previous")


@contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """Yield a new hidden path beside the target, and remove whatever is left there at the end."""
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    new = target.with_name(f".{target.name}.{os.urandom(4).hex()}{UNFINISHED}")
    try:
        yield new
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        remove(new)


def remove(path: Path) -> None:
    """Delete a file or folder if it exists and can be deleted."""
    import shutil
    from contextlib import suppress

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
    if os.name == "nt":  # Windows syncs only files that are open for writing, and no folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without fsync
            raise
    finally:
        os.close(handle)
