"""Inject faults as SQLite does: let each call that touches a folder fail in turn.

>>> for call, error in each_fault(lambda: encoder.save(folder / "model"), folder):
...     # `call` failed, and `error` is what save raised: check what is left on the disk
"""

from __future__ import annotations

import builtins
import errno
import io
import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

#: Kinds of calls that can fail. Only calls from Python are seen: `array.tofile` and C libraries bypass them.
KINDS = ("open", "write", "fsync", "rename", "mkdir")
ALLOCATION = "allocation"
KILLED = 137
_ALLOCATING = ("empty", "zeros", "full", "concatenate", "ascontiguousarray", "stack", "hstack")


class Faults:
    """Count the calls on paths under `folder`, and let call number `at` fail with `code`.

    Args:
        kinds: Which of `KINDS` and `ALLOCATION` count.
        lasting: All later calls fail too, as on a full disk.
        killed: The process ends at the call, as by kill -9.
    """

    def __init__(
        self,
        folder: Path,
        at: int | None,
        code: int = errno.ENOSPC,
        kinds: tuple[str, ...] = KINDS,
        lasting: bool = False,
        killed: bool = False,
    ) -> None:
        self.folder, self.at, self.code = os.path.realpath(folder), at, code
        self.kinds, self.lasting, self.killed = kinds, lasting, killed
        self.calls: list[str] = []
        self._patches = ExitStack()

    @property
    def hit(self) -> bool:
        """Return whether the failing call was reached."""
        return self.at is not None and len(self.calls) > self.at

    def reach(self, kind: str, path: str | None = None) -> None:
        """Record a call, and fail if it is its turn."""
        if kind not in self.kinds or (path is not None and not self._concerns(path)):
            return
        number = len(self.calls)
        self.calls.append(kind if path is None else f"{kind} {os.path.basename(path)}")
        if self.at is None or number < self.at or (number > self.at and not self.lasting):
            return
        if self.killed:
            os._exit(KILLED)
        if kind == ALLOCATION:
            raise MemoryError("injected")
        raise OSError(self.code, os.strerror(self.code), path)

    def _concerns(self, path: str) -> bool:
        return os.path.abspath(path).startswith(self.folder)

    def __enter__(self) -> Faults:
        for module in (builtins, io):
            self._patch(module, "open", self._opened)
        for kind, names in {
            "open": ["open"],
            "write": ["write", "ftruncate"],
            "fsync": ["fsync", "fdatasync"],
            "rename": ["rename", "replace", "link"],
            "mkdir": ["mkdir"],
        }.items():
            for name in names:
                self._patch(os, name, self._failing(kind, getattr(os, name)))
        if ALLOCATION in self.kinds:
            for name in _ALLOCATING:
                self._patch(np, name, self._allocating(getattr(np, name)))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def _patch(self, module: Any, name: str, replacement: Any) -> None:
        self._patches.enter_context(mock.patch.object(module, name, replacement))

    def _failing(self, kind: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(first: Any, *rest: Any, **options: Any) -> Any:
            self.reach(kind, _path_of(first, options.get("dir_fd")))
            return real(first, *rest, **options)

        return call

    def _allocating(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self.reach(ALLOCATION)
            return real(*arguments, **options)

        return call

    def _opened(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        """Open a file whose writes are counted."""
        if not isinstance(file, int):
            self.reach("open", _path_of(file))
        raw = _File(file, mode.replace("b", "").replace("t", ""), closefd, opener)
        raw.faults, raw.path = self, _path_of(raw.fileno())
        if buffering == 0:
            return raw
        kind = io.BufferedRandom if "+" in mode else (
            io.BufferedReader if raw.readable() else io.BufferedWriter
        )  # fmt: skip
        buffered = kind(raw)
        if "b" in mode:
            return buffered
        return io.TextIOWrapper(buffered, encoding, errors, newline, buffering == 1)


class _File(io.FileIO):
    faults: Faults
    path: str

    def write(self, data: Any) -> int:
        self.faults.reach("write", self.path)
        return super().write(data) or 0


def _path_of(target: Any, dir_fd: int | None = None) -> str:
    """Return the path of a descriptor, or of a name relative to one."""
    if isinstance(target, int):
        with suppress(OSError):
            return os.readlink(f"/proc/self/fd/{target}")
        return ""
    name = os.fsdecode(target)
    return name if dir_fd is None else os.path.join(_path_of(dir_fd), name)


def each_fault(
    run: Callable[[], object],
    folder: Path,
    code: int = errno.ENOSPC,
    kinds: tuple[str, ...] = KINDS,
    lasting: bool = False,
) -> Iterator[tuple[str, Exception | None]]:
    """Run with the first call failing, then with the second, until a run makes no more calls.

    Yields the failed call and the exception that `run` raised, if any. The caller checks what is left on disk and resets it.
    The last run has no fault and must succeed.
    """
    for at in itertools.count():
        faults, error = Faults(folder, at, code, kinds, lasting), None
        with faults:
            try:
                run()
            except Exception as raised:
                error = raised
        if not faults.hit:
            if error is not None:
                raise error
            return
        yield faults.calls[at], error


def each_kill(
    run: Callable[[], object], folder: Path, kinds: tuple[str, ...] = KINDS
) -> Iterator[int]:
    """Like `each_fault`, but in a child process that is killed just before the call; yields the number of the call.

    The process must have one thread: a lock held by another thread would stay locked in the child.
    """
    for at in itertools.count():
        child = os.fork()
        if child == 0:
            try:
                with Faults(folder, at, kinds=kinds, killed=True):
                    run()
                os._exit(0)
            finally:
                os._exit(1)  # an exception: the parent reports it
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return
        assert code == KILLED, f"the run ended with {code} before call {at}"
        yield at
