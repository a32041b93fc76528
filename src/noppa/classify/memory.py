"""Whether this machine has the memory for what is about to be done, asked before it is begun."""

from __future__ import annotations

from pathlib import Path

from noppa.errors import ParameterError

MEMINFO = Path("/proc/meminfo")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))


def available_memory() -> int | None:
    """Bytes that this process can still take: of the machine, or of its control group; None where nobody tells."""
    found = [*_of_machine(), *_of_group()]
    return min(found) if found else None


def _of_machine() -> list[int]:
    try:
        lines = MEMINFO.read_text().splitlines()
    except OSError:
        return []
    return [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]


def _of_group() -> list[int]:
    found = []
    for path in LIMITS:
        try:
            found.append(int(path.read_text()))
        except (OSError, ValueError):  # no such file, or `max`
            continue
    return found


def require_memory(size: int, what: str, instead: str) -> None:
    """Refuse what needs more bytes than there are."""
    there = available_memory()
    if there is not None and size > there:
        raise ParameterError(
            f"{what} needs about {size / 1e9:.1f} GB of memory, and {there / 1e9:.1f} GB are free: {instead}"
        )
