"""Logs as JSON lines on standard error, and metrics for Prometheus.

Never logs texts, API keys, client addresses or unmatched URL paths.
"""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from pathlib import Path
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

import noppa
from noppa import _native as kernels

#: A folder that all workers share; prometheus_client reads this variable when it is imported.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
#: The innermost frames of a stack trace that are logged: an endless recursion has thousands.
MAX_FRAMES = 40
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)  # fmt: skip
logger = logging.getLogger("noppa.serve")


def log(event: str, **facts: Any) -> None:
    logger.info(event, extra={"facts": facts})


class JsonFormatter(logging.Formatter):
    """Format records as JSON: the event, its facts, and the stack of an exception without its message."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry: dict[str, Any] = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
        }
        # The first line only: asyncio's other lines show transports, with client addresses.
        entry["event"] = record.getMessage().partition("\n")[0]
        entry |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]  # its message may quote a text
            frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
            entry["error"] = type(error).__name__
            entry["stack"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return json.dumps(entry)


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"json": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"handlers": ["json"], "level": "WARNING"},
    "loggers": {"noppa.serve": {"level": "INFO"}, "_granian": {"propagate": True}},
}

registry = CollectorRegistry()
disable_created_metrics()  # type: ignore[no-untyped-call]


def _counter(name: str, text: str, *labels: str) -> Counter:
    return Counter(f"noppa_{name}", text, labels, registry=registry)


def _gauge(name: str, text: str) -> Gauge:
    return Gauge(f"noppa_{name}", text, registry=registry, multiprocess_mode="livesum")


def _histogram(name: str, text: str, *labels: str, buckets: tuple[float, ...] = SECONDS) -> Histogram:  # fmt: skip
    return Histogram(f"noppa_{name}", text, labels, registry=registry, buckets=buckets)


requests = _counter("requests", "Requests by route and status.", "route", "code")
inputs = _counter("inputs", "Texts encoded.")
tokens = _counter("tokens", "Tokens of the encoded texts.")
oov_tokens = _counter("oov_tokens", "Tokens that are not in the vocabulary.")
empty_inputs = _counter("empty_inputs", "Texts without a known token, whose vectors are zeros.")
dropped_requests = _counter("dropped_requests", "Requests whose client disconnected.")
request_seconds = _histogram("request_duration_seconds", "From the headers to the end of the answer.", "route")  # fmt: skip
queue_seconds = _histogram("queue_duration_seconds", "Time that a request waited for a thread.")
encode_seconds = _histogram("encode_duration_seconds", "Time to encode the texts and write the answer.")  # fmt: skip
batch_size = _histogram("batch_size", "Texts per request.", buckets=tuple(1 << n for n in range(14)))  # fmt: skip
queue_depth = _gauge("queue_depth", "Requests that wait for a thread.")
running = _gauge("running", "Requests that are being worked on.")
held_bytes = _gauge("held_bytes", "Bytes of the bodies and answers in memory.")
workers = _gauge("workers", "Worker processes.")
info = Gauge("noppa_info", "Version and instruction set.", ("version", "instructions"), registry=registry, multiprocess_mode="max")  # fmt: skip


def start_metrics() -> None:
    """Set the metrics that describe this worker."""
    workers.set(1)
    info.labels(noppa.__version__, kernels.instruction_set()).set(1)
    if SHARED_FOLDER not in os.environ:
        ProcessCollector(registry=registry)


def metrics_text() -> bytes:
    """Return all metrics in Prometheus' text format, summed over the workers."""
    if SHARED_FOLDER not in os.environ:
        return generate_latest(registry)
    folder = os.environ[SHARED_FOLDER]
    # Workers that were killed could not remove their gauges.
    for file in Path(folder).glob("gauge_live*_*.db"):
        pid = int(file.stem.rpartition("_")[2])
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            mark_process_dead(pid, folder)  # type: ignore[no-untyped-call]
    total = CollectorRegistry()
    MultiProcessCollector(total, folder)  # type: ignore[no-untyped-call]
    return generate_latest(total)
