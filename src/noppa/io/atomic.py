"""Files and folders that appear under their name whole or not at all, even where the process is killed or the power fails.

What is being written lies beside its target as `.NAME.RANDOM.unfinished`, locked by its writer, until it is complete and on
the disk. A folder then changes places with the old one in one step (Linux: renameat2). Where the system cannot do that,
the old one is renamed to `.NAME.RANDOM.replaced` first, and is read from there if the process dies between the two steps.
Every write removes what killed ones left behind: whatever nobody holds a lock on.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from noppa.errors import FileError

UNFINISHED, REPLACED = "unfinished", "replaced"
#: What a system or a file system answers that cannot exchange two folders.
CANNOT_EXCHANGE = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its place when the block ends well, and vanishes otherwise."""
    target = target.absolute()
    with _explained(target), _unfinished(target, _make_folder) as new:
        yield new
        if target.parent.suffix == f".{UNFINISHED}":  # whose writer syncs all that is in it
            return _put_in_place(new, target)
        for folder, _, files in os.walk(new, topdown=False):
            for name in files:
                _sync(Path(folder, name))
            _sync(Path(folder))
        _put_in_place(new, target)
        _sync(target.parent)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that takes its place when the block ends well, and vanishes otherwise."""
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
    """A temporary folder beside `target`, on the disk that has room for it if any has; the next writer removes it where
    this one is killed.
    """
    target = target.absolute()
    with _explained(target), _unfinished(target, _make_folder) as new:
        yield new


def replaced_copy(target: Path) -> Path | None:
    """The old folder of a target that is missing because a save was killed between its two renames."""
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
    """A new path beside the target, made and locked; at the end it is removed, with whatever killed writers left."""
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
            pass  # another writer took it for a leftover before it was locked: make another one
        except BaseException:
            _remove(new)
            raise


def _make_folder(path: Path) -> None:
    os.mkdir(path)  # the kernel applies the umask, as to every folder


def make_file(path: Path) -> None:
    """A new file, with the rights that the umask leaves it."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))


def _beside(target: Path, state: str) -> Path:
    return target.with_name(f".{target.name}.{os.urandom(4).hex()}.{state}")


def lock_path(path: Path) -> int | None:
    """A descriptor that locks a path until it is closed, None where nothing can be locked; BlockingIOError if it is."""
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
    except OSError:  # some network file systems have no locks
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
    """Remove what killed writers of a target left, but not the only copy of it."""
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
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name == "nt":  # which syncs only what is open for writing, and no folder
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


def _put_in_place(new: Path, target: Path) -> None:
    """Rename a folder to the target; an old one there is then under the name of the new one, or gone."""
    while True:
        if not os.path.lexists(target):
            try:
                return os.rename(new, target)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                    raise  # else another writer was quicker
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
    """Swap two paths in one step."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # no Linux, or an old libc
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2(here, os.fsencode(new), here, os.fsencode(target), swap):
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
