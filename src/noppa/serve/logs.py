"""Logs as JSON lines on standard error. Never logs texts, API keys, client addresses or unmatched URL paths.

A background thread writes them: behind a full pipe or disk, lines are dropped and counted, and no request waits.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
import time
import traceback
from typing import Any

#: Lines in the queue of a slow reader; beyond it they are dropped.
MOST_LINES = 4096
#: Lines are collected for this long before they are written, so that a busy server rarely wakes the thread.
GATHER_SECONDS = 0.02
STANDARD_ERROR = 2
#: The innermost frames of a stack that are logged: that of an endless recursion has thousands.
MOST_PLACES = 40


class Writer:
    """A bounded queue of lines in front of a file descriptor."""

    def __init__(self, descriptor: int = STANDARD_ERROR, most: int = MOST_LINES) -> None:
        self.descriptor, self.most = descriptor, most
        self.dropped = 0
        self._lines: list[bytes] = []
        self._writing = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, line: str) -> bool:
        """Queue a line, False if it was dropped; never waits for the reader."""
        with self._changed:
            if self._thread is None:
                # A daemon: a write that blocks for ever must not keep the process alive.
                self._thread = threading.Thread(target=self._run, name="log", daemon=True)
                self._thread.start()
                atexit.register(self.flush)
            if len(self._lines) >= self.most:
                self.dropped += 1
                return False
            self._lines.append(line.encode() + b"\n")
            self._changed.notify_all()
        return True

    def flush(self, seconds: float = 2.0) -> bool:
        """Wait until everything is written, up to `seconds`; whether it was."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._lines and not self._writing, seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._lines)
                self._writing = True
            time.sleep(GATHER_SECONDS)
            with self._changed:
                lines, self._lines = self._lines, []
                dropped, self.dropped = self.dropped, 0
            if dropped:
                lines.append(line_of("log lines dropped", count=dropped).encode() + b"\n")
            lost = self._write(lines)
            with self._changed:
                self.dropped += lost

    def _write(self, lines: list[bytes]) -> int:
        """Write each line by itself, so that lines of several processes do not interleave; how many were lost."""
        lost = 0
        for line in lines:
            rest = memoryview(line)
            while rest:
                try:
                    rest = rest[os.write(self.descriptor, rest) :]
                except BlockingIOError:
                    time.sleep(GATHER_SECONDS)
                except OSError:  # the reader is gone, or the disk full
                    lost += 1
                    break
        return lost


_writer = Writer()


def line_of(event: str, **facts: Any) -> str:
    return json.dumps({"time": _stamp(time.time()), "event": event, **facts})


def write(event: str, **facts: Any) -> bool:
    """Log one line; False if it had to be dropped."""
    return _writer.add(line_of(event, **facts))


def flush() -> None:
    """Write the queued lines, as far as somebody reads them."""
    _writer.flush()


def _stamp(seconds: float) -> str:
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{now}.{int(seconds % 1 * 1000):03d}Z"


def places_of(error: BaseException) -> list[str]:
    """The stack of an error, without its message, which may quote a text."""
    frames = traceback.extract_tb(error.__traceback__)[-MOST_PLACES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class Handler(logging.Handler):
    """Messages of uvicorn and asyncio in the same form and through the same queue."""

    def emit(self, record: logging.LogRecord) -> None:
        # The first line only: asyncio's other lines show transports, with client addresses.
        message = record.getMessage().partition("\n")[0]
        facts: dict[str, Any] = {"level": record.levelname.lower(), "message": message}
        if record.exc_info and record.exc_info[1] is not None:
            facts["error"] = type(record.exc_info[1]).__name__
            facts["places"] = places_of(record.exc_info[1])
        write("server", **facts)


def configuration() -> dict[str, Any]:
    """What uvicorn takes as `log_config`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"json": {"()": f"{__name__}.Handler"}},
        "root": {"handlers": ["json"], "level": "WARNING"},
        "loggers": {
            "uvicorn": {"handlers": ["json"], "level": "WARNING", "propagate": False},
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }
