"""Atomic writes of files and folders: complete under their name or not there at all, even after a kill or power loss.

What is being written lies beside its target as `.NAME.RANDOM.unfinished`, locked by its writer, until it is complete and
synced. A folder is then exchanged with the old one in one system call (Linux: renameat2). Where that is not available,
the old one is renamed to `.NAME.RANDOM.replaced` first, and is read from there if the process dies between the two renames.
Every write removes the leftovers of killed writers: those that nobody holds a lock on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noppa.errors import FileError

UNFINISHED, REPLACED = "unfinished", "replaced"
#: Errors of a system or a file system that cannot exchange two folders.
CANNOT_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that replaces it when the block succeeds, and is removed otherwise."""
    target = target.absolute()
    with _explained(target), _unfinished(target, _make_folder) as new:
        yield new
        if target.parent.suffix == f".{UNFINISHED}":
            # Inside a folder that is being written, whose writer will sync all of it.
            return _put_in_place(new, target)
        for folder, _, files in os.walk(new, topdown=False):
            for name in files:
                _sync(Path(folder, name))
            _sync(Path(folder))
        _put_in_place(new, target)
        _sync(target.parent)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that replaces it when the block succeeds, and is removed otherwise."""
    target = target.absolute()
    if target.exists() and not target.is_file():
        kind = "a folder" if target.is_dir() else "no regular file"
        raise FileError(f"cannot write {target}: it is {kind}")
    with _explained(target), _unfinished(target, make_file) as new:
        yield new
        _sync(new)
        os.replace(new, target)
        _sync(target.parent)


@contextmanager
def scratch_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target`, on the disk that must have room for it anyway; after a kill the next writer
    removes it.
    """
    target = target.absolute()
    with _explained(target), _unfinished(target, _make_folder) as new:
        yield new


def replaced_copy(target: Path) -> Path | None:
    """The previous folder of a target that is missing since a save was killed between its two renames."""
    copies = [path for path in _leftovers(target) if path.suffix == f".{REPLACED}"]
    return max(copies, key=lambda path: path.stat().st_mtime_ns, default=None)


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    try:
        yield
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error


@contextmanager
def _unfinished(target: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new locked path beside the target; removed at the end, as are the leftovers of killed writers."""
    _clear(target)
    new, lock = _make_locked(target, make)
    try:
        yield new
    finally:
        if lock is not None:
            os.close(lock)
        _remove(new)
        _clear(target)


def _make_locked(target: Path, make: Callable[[Path], None]) -> tuple[Path, int | None]:
    while True:
        new = _beside(target, UNFINISHED)
        make(new)
        try:
            lock = lock_path(new)
            if lock is None or os.path.samestat(os.fstat(lock), os.stat(new)):
                return new, lock
            os.close(lock)
        except (BlockingIOError, FileNotFoundError):
            pass  # another writer removed it as a leftover before it was locked: retry
        except BaseException:
            _remove(new)
            raise


def _make_folder(path: Path) -> None:
    os.mkdir(path)  # with the umask, which tempfile.mkdtemp ignores


def make_file(path: Path) -> None:
    """A new file, with the permissions that the umask leaves."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _beside(target: Path, state: str) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.{state}")


def lock_path(path: Path) -> int | None:
    """A descriptor that locks a path until it is closed, None where there are no locks; BlockingIOError if it is locked."""
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a network file system without locks
        os.close(handle)
        return None
    return handle


def _leftovers(target: Path) -> list[Path]:
    import re

    name = re.compile(
        rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.({UNFINISHED}|{REPLACED})", re.DOTALL
    )
    with suppress(OSError), os.scandir(target.absolute().parent) as entries:
        return [Path(entry.path) for entry in entries if name.fullmatch(entry.name)]
    return []


def _clear(target: Path) -> None:
    """Remove the leftovers of killed writers, but never the only copy of the target."""
    for path in _leftovers(target):
        if path.suffix == f".{REPLACED}" and not target.exists():
            continue
        with suppress(OSError):
            lock = lock_path(path)
            if lock is not None:
                _remove(path)
                os.close(lock)


def _remove(path: Path) -> None:
    import shutil

    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    """fsync a file, or the names in a folder."""
    if os.name == "nt":  # syncs only files that are open for writing, and no folders
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system without fsync
            raise
    finally:
        os.close(handle)


def _put_in_place(new: Path, target: Path) -> None:
    """Move a folder to the target; an old folder there ends up under the name of the new one, or removed."""
    while True:
        if not os.path.lexists(target):
            try:
                return os.rename(new, target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise  # otherwise another writer was faster
        try:
            return exchange(new, target)
        except FileNotFoundError:
            if not new.exists():
                raise
        except OSError as error:
            if error.errno not in CANNOT_EXCHANGE:
                raise
            return _replace_in_two_steps(new, target)


def exchange(new: Path, target: Path) -> None:
    """Swap two paths atomically."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old libc
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    at_fdcwd, rename_exchange = -100, 2
    if renameat2(at_fdcwd, os.fsencode(new), at_fdcwd, os.fsencode(target), rename_exchange):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(target))


def _replace_in_two_steps(new: Path, target: Path) -> None:
    old = _beside(target, REPLACED)
    os.rename(target, old)
    try:
        os.rename(new, target)
    except BaseException:
        os.rename(old, target)
        raise
    _remove(old)
