"""The numbers of /metrics: `prometheus_client` writes the text; the counts are one record that workers share by a file.

Not prometheus_client's own multiprocess mode: it maps sparse files, so that a full disk ends a worker with SIGBUS, and it
keeps the files of every worker that ever died. Labels here are bounded, so that all counts fit in a small record from the
start. Each of several workers maps its record into a file of a common folder, and the one that is scraped adds them up. A
worker that replaces a dead one goes on with its file.
"""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import noppa
from noppa import _native as kernels
from noppa.serve import logs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
MOST_ROUTES = 64
CODES = (
    "200", "204", "304", "400", "401", "403", "404", "405", "408", "413", "415", "421", "429", "431", "499", "500", "503", OTHER
)  # fmt: skip
SECONDS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # fmt: skip
#: The one histogram by route.
DURATION = "request_duration_seconds"
#: What each counts, and the upper bounds of its buckets.
HISTOGRAMS: dict[str, tuple[str, tuple[float, ...]]] = {
    DURATION: ("From the end of the head to the end of the answer, by route.", SECONDS),
    "queue_duration_seconds": ("How long a request waited for its turn to be encoded.", SECONDS),
    "encode_duration_seconds": ("The work of a request once its turn has come: encoding, and writing the answer.", SECONDS),
    "batch_size": ("Texts of a request.", (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)),
}  # fmt: skip
COUNTERS = {
    "inputs": "Texts encoded.",
    "tokens": "Tokens of the texts encoded.",
    "oov_tokens": "Tokens that the vocabulary does not know.",
    "empty_inputs": "Texts without a known token, which became rows of zeros.",
    "dropped_requests": "Requests given up because the client had left.",
    "dropped_log_lines": "Log lines dropped because nobody read them in time.",
}
GAUGES = {
    "connections": "Open connections.",
    "held_bytes": "Bytes of bodies, texts and answers in memory.",
    "queue_depth": "Requests that wait for the encoder.",
    "running": "Requests that are being encoded.",
    "sessions": "Browsers whose lines are kept in memory.",
}
#: The counts of one process. A histogram holds a count for each bucket, one beyond the last bound, and the sum.
RECORD = np.dtype(
    [("requests", "f8", (MOST_ROUTES, len(CODES)))]
    + [
        (name, "f8", (MOST_ROUTES if name == DURATION else 1, len(bounds) + 2))
        for name, (_, bounds) in HISTOGRAMS.items()
    ]
    + [(name, "f8") for name in (*COUNTERS, *GAUGES, "pid")]
)


class Metrics(Collector):
    """Counts of one process, and the sum over all processes of a server."""

    def __init__(self, file: str | None = None) -> None:
        self.routes = {OTHER: 0}
        self.codes = {code: at for at, code in enumerate(CODES)}
        self.file = None if file is None else Path(file)
        self.record: NDArray[Any] = np.zeros(1, RECORD)
        if self.file is not None:
            self._share(self.file)
        # Views of the record, made once: looking up a field each time would cost several times as much.
        self.cells = {name: self.record[name].reshape(-1) for name in RECORD.names or ()}
        for name in GAUGES:
            self.gauge(name, 0)
        self.cells["pid"][0] = os.getpid()

    def _share(self, file: Path) -> None:
        """Map the record into a file that the other processes read; without room for it this one counts alone."""
        try:
            if not file.exists() or file.stat().st_size != RECORD.itemsize:
                # Written, not only made longer: on a full disk this fails here, and not as a SIGBUS later.
                file.write_bytes(self.record.tobytes())
            self.record = np.asarray(np.memmap(file, RECORD, "r+"))
        except OSError as error:
            logs.write("metrics of this process alone", error=error.strerror)
            self.file = None

    # Counting

    def add_route(self, path: str) -> None:
        """Give a route a label of its own; all workers of a server add the same ones in the same order."""
        self.routes.setdefault(path, len(self.routes))
        assert len(self.routes) <= MOST_ROUTES

    def request(self, route: str, status: int, seconds: float) -> None:
        number = self.routes.get(route, 0)
        code = self.codes.get(str(status), len(CODES) - 1)
        self.cells["requests"][number * len(CODES) + code] += 1
        self.observe(DURATION, seconds, number)

    def encoded(self, inputs: int, tokens: int, unknown: int, empty: int) -> None:
        for name, count in zip(COUNTERS, (inputs, tokens, unknown, empty), strict=False):
            self.cells[name][0] += count
        self.observe("batch_size", inputs)

    def dropped(self, name: str = "dropped_requests") -> None:
        self.cells[name][0] += 1

    def gauge(self, name: str, value: float) -> None:
        self.cells[name][0] = value

    def observe(self, name: str, value: float, route: int = 0) -> None:
        """Count a value in a histogram."""
        bounds, counts = HISTOGRAMS[name][1], self.cells[name]
        start = route * (len(bounds) + 2)
        counts[start + bisect_left(bounds, value)] += 1
        counts[start + len(bounds) + 1] += value

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Count the seconds of what stands inside, also where it fails."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.observe(name, time.perf_counter() - began)

    # Reporting

    def text(self) -> str:
        """Everything in Prometheus' text format."""
        return generate_latest(self).decode()

    def collect(self) -> Iterator[Metric]:
        """The metrics, summed over all processes."""
        records = self._records()
        total = {name: records[name].sum(axis=0) for name in RECORD.names or ()}
        pids = [int(pid) for pid in records["pid"] if pid]
        requests = CounterMetricFamily(
            "noppa_requests", "Requests answered, by route and status.", labels=("route", "code")
        )
        counts = total["requests"][: len(self.routes)].ravel()
        for labels, count in zip(product(self.routes, CODES), counts, strict=True):
            requests.add_metric(labels, count)
        yield requests
        for name, (text, bounds) in HISTOGRAMS.items():
            by_route = name == DURATION
            histogram = HistogramMetricFamily(
                f"noppa_{name}", text, labels=("route",) if by_route else ()
            )
            for route, (*counts, observed) in zip(self.routes, total[name].tolist(), strict=False):
                buckets = [*zip([*map(str, bounds), "+Inf"], accumulate(counts), strict=True)]
                histogram.add_metric((route,) if by_route else (), buckets, observed)
            yield histogram
        for name, text in COUNTERS.items():
            yield CounterMetricFamily(f"noppa_{name}", text, total[name])
        for name, text in GAUGES.items():
            yield GaugeMetricFamily(f"noppa_{name}", text, total[name])
        info = GaugeMetricFamily(
            "noppa_info",
            "The version and the instruction set in use.",
            labels=("version", "instructions"),
        )
        info.add_metric((noppa.__version__, kernels.instruction_set()), 1)
        yield info
        yield GaugeMetricFamily("noppa_processes", "Processes of this server.", len(pids))
        yield GaugeMetricFamily(
            "noppa_resident_memory_bytes",
            "Memory of all processes of this server.",
            sum(map(resident_bytes, pids)),
        )

    def _records(self) -> NDArray[Any]:
        """The record of each process; what the dead counted stays counted, and the rest of theirs is zero."""
        files = sorted(self.file.parent.glob("*.cells")) if self.file is not None else []
        others = [_stored(file) for file in files if file != self.file]
        records = np.concatenate([self.record, *others])
        dead = [not alive(int(pid)) for pid in records["pid"]]
        for name in (*GAUGES, "pid"):
            records[name][dead] = 0
        return records


def _stored(file: Path) -> NDArray[Any]:
    """The record in a file; none while it is being made, without a free file descriptor, or after its folder was cleared."""
    try:
        return np.fromfile(file, RECORD)
    except OSError:
        return np.empty(0, RECORD)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def resident_bytes(pid: int) -> int:
    """Memory that a process holds, 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
