"""The supervisor of the worker processes behind one port: starts them, restarts them with backoff, stops them.

Not `uvicorn.supervisors.Multiprocess`: it restarts without a pause, stops the whole server when one worker fails at its
start, and does not survive a worker that cannot be started for lack of memory or file descriptors.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from noppa.serve import logs
from noppa.serve.port import keep_out
from noppa.serve.settings import VARIABLE, Settings

#: Backoff: a worker that dies younger than this is restarted after half a second, doubled each time.
YOUNG_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TICK_SECONDS = 0.1
#: Workers close the port when the parent has kept newcomers out and all who had connected are accepted; they wait this
#: long for a parent that does not, because it is a worker alone that was told to stop.
LAG_SECONDS = 2.0


@dataclass
class Worker:
    """A worker process, or the pause before its restart."""

    settings: Settings
    listener: socket.socket
    process: subprocess.Popen[Any] | None = None
    born: float = 0.0
    due: float = 0.0
    failures: int = 0

    def tend(self) -> None:
        """Note that the process has ended, and start it when it is due."""
        if self.process is not None and self.process.poll() is not None:
            logs.write("worker ended", code=self.process.returncode)
            self.process = None
            self._pause()
        if self.process is None and time.monotonic() >= self.due:
            self._start()

    def _start(self) -> None:
        self.born = time.monotonic()
        try:
            self.process = _process(self.settings, self.listener)
        except OSError as error:  # out of processes, memory or file descriptors
            logs.write("worker not started", error=error.strerror)
            self._pause()

    def _pause(self) -> None:
        now = time.monotonic()
        self.failures = self.failures + 1 if now - self.born < YOUNG_SECONDS else 0
        if self.failures:
            pause = min(FIRST_PAUSE * 2.0 ** (self.failures - 1), LONGEST_PAUSE)
            logs.write("worker waits", seconds=pause, failures=self.failures)
            self.due = now + pause


@contextmanager
def shared_folder() -> Iterator[str | None]:
    """A private temporary folder for what all workers share, metrics and lines; None if it cannot be made.

    Each worker then counts alone, and keeps no lines.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix="noppa-", ignore_cleanup_errors=True)
    except OSError as error:
        logs.write("no folder for metrics and lines", error=error.strerror)
        yield None
        return
    with folder as name:
        yield name


def supervise(
    settings: Settings,
    listener: socket.socket,
    count: int,
    folder: str | None,
    ready: Callable[[], None],
) -> None:
    """Keep `count` workers running until SIGTERM or SIGINT, then stop them; `ready` is called once a signal does that."""
    stopping = False

    def stop(sig: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    handlers = {sig: signal.signal(sig, stop) for sig in (signal.SIGTERM, signal.SIGINT)}
    ready()
    workers = [Worker(_shared(settings, folder, count, at), listener) for at in range(count)]
    try:
        while not stopping:
            for worker in workers:
                worker.tend()
            time.sleep(TICK_SECONDS)
    finally:
        logs.write("stopping", drain_seconds=settings.drain_seconds)
        running = [worker.process for worker in workers if worker.process is not None]
        closes = time.monotonic() + settings.drain_seconds
        for process in running:
            process.send_signal(signal.SIGTERM)
        while time.monotonic() < closes and any(process.poll() is None for process in running):
            time.sleep(TICK_SECONDS)
        keep_out(listener)
        listener.close()  # the workers still have it, and accept who waits there
        for process in running:
            process.wait()
        for sig, handler in handlers.items():
            signal.signal(sig, handler)


def _shared(settings: Settings, folder: str | None, count: int, number: int) -> Settings:
    """The settings of one of `count` workers, with its places in the folder."""
    settings = replace(settings, processes=count)
    if folder is None:
        return settings
    lines = Path(folder) / "lines"
    lines.mkdir(mode=0o700, exist_ok=True)
    return replace(settings, counters=f"{folder}/{number}.cells", lines_folder=str(lines))


def _process(settings: Settings, listener: socket.socket) -> subprocess.Popen[Any]:
    number = listener.fileno()
    # In the environment: settings hold API keys, and everybody can read the arguments of a process.
    environment = {**os.environ, VARIABLE: settings.to_json()}
    return subprocess.Popen(
        [sys.executable, "-m", "noppa.serve.run", str(number), str(os.getpid())],
        pass_fds=[number],
        env=environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
