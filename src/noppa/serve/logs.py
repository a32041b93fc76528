"""Logs as JSON lines on standard error. Texts, keys, addresses and paths that nobody defined never stand in them."""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from typing import Any


def write(event: str, **facts: Any) -> None:
    """One line."""
    now = time.time()
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
    sys.stderr.write(json.dumps({"time": stamp, "event": event, **facts}) + "\n")
    sys.stderr.flush()


def places_of(error: BaseException) -> list[str]:
    """Where an error came from. Its message may quote a text, so only its kind and the places are told."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class JsonFormatter(logging.Formatter):
    """uvicorn's own messages in the same form."""

    def format(self, record: logging.LogRecord) -> str:
        facts: dict[str, Any] = {"level": record.levelname.lower(), "message": record.getMessage()}
        if record.exc_info and record.exc_info[1] is not None:
            facts["error"] = type(record.exc_info[1]).__name__
            facts["places"] = places_of(record.exc_info[1])
        now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        stamp = f"{now}.{int(record.msecs):03d}Z"
        return json.dumps({"time": stamp, "event": "server", **facts})


def configuration() -> dict[str, Any]:
    """What uvicorn takes as `log_config`."""
    handler = {"class": "logging.StreamHandler", "formatter": "json", "stream": "ext://sys.stderr"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": f"{__name__}.JsonFormatter"}},
        "handlers": {"json": handler},
        "loggers": {
            "uvicorn": {"handlers": ["json"], "level": "WARNING", "propagate": False},
            "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        },
    }
