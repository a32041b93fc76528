"""Calls in a thread of their own, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Behind:
    """Runs calls in order behind the caller; after one that failed, every later one fails with the same error.

    A write after a failed one would leave a hole, and a checkpoint after it would call the hole done.
    """

    def __init__(self) -> None:
        self._executor = ThreadPoolExecutor(1)
        self._error: BaseException | None = None

    def submit(self, call: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return self._executor.submit(self._run, call, arguments)

    def _run(self, call: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        if self._error is not None:
            raise self._error
        try:
            return call(*arguments)
        except BaseException as error:
            self._error = error
            raise

    def __enter__(self) -> Behind:
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
