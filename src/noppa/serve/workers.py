"""The workers behind one port: started, started again when they die, with growing pauses, and told to stop."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any

from noppa.serve import logs
from noppa.serve.settings import VARIABLE, Settings

#: A worker that dies younger than this waits before it is started again: half a second, doubled each time.
YOUNG_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
TICK_SECONDS = 0.1


@dataclass
class Worker:
    """A process, or the pause before its next start."""

    settings: Settings
    listener: socket.socket
    process: subprocess.Popen[Any] | None = None
    born: float = 0.0
    due: float = 0.0
    failures: int = 0

    def tend(self) -> None:
        """Start the process if it is time, or note its death."""
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
        except OSError as error:  # no process, memory or file descriptor to be had
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
    """A temporary folder for the counters of all workers; None where there is no room, and each counts alone."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="noppa-", ignore_cleanup_errors=True)
    except OSError as error:
        logs.write("no folder for shared metrics", error=error.strerror)
        yield None
        return
    with folder as name:
        yield name


def supervise(
    settings: Settings, listener: socket.socket, count: int, folder: str | None = None
) -> None:
    """Keep `count` workers running until a signal says stop, then stop them."""
    stopping = False

    def stop(sig: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True

    before = {sig: signal.signal(sig, stop) for sig in (signal.SIGTERM, signal.SIGINT)}
    files = [None if folder is None else f"{folder}/{number}.cells" for number in range(count)]
    workers = [Worker(replace(settings, counters=file), listener) for file in files]
    try:
        while not stopping:
            for worker in workers:
                worker.tend()
            time.sleep(TICK_SECONDS)
    finally:
        running = [worker.process for worker in workers if worker.process is not None]
        for process in running:
            process.send_signal(signal.SIGTERM)
        for process in running:
            process.wait()
        for sig, handler in before.items():
            signal.signal(sig, handler)


def _process(settings: Settings, listener: socket.socket) -> subprocess.Popen[Any]:
    number = listener.fileno()
    # Settings hold keys, which must not stand in the list of processes.
    environment = {**os.environ, VARIABLE: settings.to_json()}
    return subprocess.Popen(
        [sys.executable, "-m", "noppa.serve.run", str(number), str(os.getpid())],
        pass_fds=[number],
        env=environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
