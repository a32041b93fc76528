"""The numbers of /metrics: a fixed set of cells, all there from the start, in an array that several processes can share.

Labels are bounded, so every counter has its place in one array from the beginning. With several processes each has a
file of its own in a common folder, mapped into memory, and whichever is asked adds them up. A worker that takes the
place of a dead one goes on with its file.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.serve import logs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
CODES = (
    "200", "204", "304", "400", "401", "404", "405", "408", "413", "415", "429", "431", "499", "500", "503", OTHER
)  # fmt: skip
SECONDS = (
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0
)  # fmt: skip
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
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


class Metrics:
    """Counts of one process, and the sum over all of a server."""

    def __init__(self, routes: tuple[str, ...], file: str | None = None) -> None:
        self.routes = {route: at for at, route in enumerate((*routes, OTHER))}
        self.codes = {code: at for at, code in enumerate(CODES)}
        self.counters = {name: at for at, name in enumerate(COUNTERS)}
        self.gauges = {name: at for at, name in enumerate(GAUGES)}
        sizes = {
            "requests": len(self.routes) * len(CODES),
            "seconds": len(SECONDS) + 2,
            "sizes": len(SIZES) + 2,
            "counters": len(COUNTERS),
            "gauges": len(GAUGES),
            "process": 1,
        }
        ends = np.cumsum([*sizes.values()])
        self.places = {
            name: slice(int(end) - size, int(end))
            for (name, size), end in zip(sizes.items(), ends, strict=True)
        }
        self.file = None if file is None else Path(file)
        self.cells = np.zeros(int(ends[-1]))
        self.cells[self.places["process"]] = os.getpid()
        if self.file is not None:
            self._share(self.file)
        self.cells[self.places["gauges"]] = 0
        self.cells[self.places["process"]] = os.getpid()

    def _share(self, file: Path) -> None:
        """Map the cells into a file that the other processes read; without room for it this one counts alone."""
        try:
            if not file.exists() or file.stat().st_size != self.cells.nbytes:
                # Written, not only made longer: on a full disk this fails here, and not as a SIGBUS later.
                file.write_bytes(self.cells.tobytes())
            self.cells = np.memmap(file, np.float64, "r+")
        except OSError as error:
            logs.write("metrics of this process alone", error=error.strerror)
            self.file = None

    # Counting

    def request(self, route: str, status: int, seconds: float) -> None:
        at = self.routes.get(route, len(self.routes) - 1)
        code = self.codes.get(str(status), len(CODES) - 1)
        self.cells[self.places["requests"].start + at * len(CODES) + code] += 1
        self._observe("seconds", SECONDS, seconds)

    def encoded(self, inputs: int, tokens: int, unknown: int, empty: int) -> None:
        start = self.places["counters"].start
        self.cells[start : start + 4] += (inputs, tokens, unknown, empty)
        self._observe("sizes", SIZES, inputs)

    def dropped(self, name: str = "dropped_requests") -> None:
        self.cells[self.places["counters"].start + self.counters[name]] += 1

    def gauge(self, name: str, value: float) -> None:
        self.cells[self.places["gauges"].start + self.gauges[name]] = value

    def _observe(self, name: str, bounds: tuple[float, ...], value: float) -> None:
        """A histogram holds one count a bucket, one beyond the last bound, and the sum."""
        start = self.places[name].start
        self.cells[start + bisect_left(bounds, value)] += 1
        self.cells[start + len(bounds) + 1] += value

    # Telling

    def text(self) -> str:
        """Everything in Prometheus' text format."""
        cells, resident, processes = self._sum()
        part = {name: cells[place] for name, place in self.places.items()}
        lines = _head("requests_total", "counter", "Requests answered, by route and status.")
        requests = part["requests"].reshape(len(self.routes), len(CODES))
        for route, row in zip(self.routes, requests, strict=True):
            lines += [
                f'noppa_requests_total{{route="{route}",code="{code}"}} {value:.0f}'
                for code, value in zip(CODES, row, strict=True)
            ]
        lines += _histogram(
            "request_duration_seconds",
            "From the end of the head to the end of the answer.",
            SECONDS,
            part["seconds"],
        )
        lines += _histogram("batch_size", "Texts of a request.", SIZES, part["sizes"])
        for name, at in self.counters.items():
            lines += _head(f"{name}_total", "counter", COUNTERS[name])
            lines.append(f"noppa_{name}_total {part['counters'][at]:.0f}")
        for name, at in self.gauges.items():
            lines += _head(name, "gauge", GAUGES[name])
            lines.append(f"noppa_{name} {part['gauges'][at]:.0f}")
        lines += _head("processes", "gauge", "Processes of this server.")
        lines.append(f"noppa_processes {processes}")
        lines += _head("resident_memory_bytes", "gauge", "Memory of all processes of this server.")
        lines.append(f"noppa_resident_memory_bytes {resident}")
        return "\n".join(lines) + "\n"

    def _sum(self) -> tuple[NDArray[np.float64], int, int]:
        """All cells, the memory and the number of the living processes; what the dead counted stays counted."""
        total, resident, processes = self.cells.copy(), resident_bytes(os.getpid()), 1
        others = self.file.parent.glob("*.cells") if self.file is not None else ()
        for file in sorted(others):
            cells = _stored(file)
            if file == self.file or len(cells) != len(total):
                continue  # this process, or just being made
            pid = int(cells[self.places["process"]][0])
            if alive(pid):
                resident += resident_bytes(pid)
                processes += 1
            else:
                cells[self.places["gauges"]] = 0
            total += cells
        return total, resident, processes


def _stored(file: Path) -> NDArray[np.float64]:
    try:
        return np.fromfile(file, np.float64)
    except OSError:  # without a free file descriptor, or somebody cleared the temporary folder
        return np.empty(0)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def resident_bytes(pid: int) -> int:
    """Memory that a process holds, 0 where the system does not tell."""
    try:
        pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    except (OSError, IndexError):
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _head(name: str, kind: str, told: str) -> list[str]:
    return [f"# HELP noppa_{name} {told}", f"# TYPE noppa_{name} {kind}"]


def _histogram(
    name: str, told: str, bounds: tuple[float, ...], cells: NDArray[np.float64]
) -> list[str]:
    lines = _head(name, "histogram", told)
    counts = np.cumsum(cells[: len(bounds) + 1])
    for bound, count in zip(bounds, counts, strict=False):
        lines.append(f'noppa_{name}_bucket{{le="{bound}"}} {count:.0f}')
    lines.append(f'noppa_{name}_bucket{{le="+Inf"}} {counts[-1]:.0f}')
    return [*lines, f"noppa_{name}_sum {cells[-1]:.9g}", f"noppa_{name}_count {counts[-1]:.0f}"]
