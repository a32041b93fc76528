"""Validation of an index's graph in usearch's file format, before usearch follows any link in it.

usearch does not check what it loads: a link to a missing node is an out-of-bounds read. The layout (format 2): rows and
bytes a row, the vectors, 64 bytes that describe them, five numbers of the graph, the level of each node, and the nodes:
key, level and, for each level from 0 up, the number of links and an array of the greatest possible number of links.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError

DESCRIPTION = 64
#: usearch's codes for inner product, float32, 64-bit keys and 32-bit links; they follow its name and version.
KINDS = bytes([105, 11, 14, 15])
HEAD = 10
MOST_LINKS, MOST_LEVELS = 1 << 12, 64
BLOCK = 1 << 15


def check_graph(graph: NDArray[np.uint8], rows: int, dim: int, file: Path) -> None:
    """Refuse a graph that is not one of `rows` vectors (rows, dim) with every link inside it."""
    if not _holds(graph, rows, dim):
        raise FileError(f"{file} is no graph of {rows} vectors of {dim} dimensions: make it again")


def _holds(graph: NDArray[np.uint8], rows: int, dim: int) -> bool:
    described = 8 + rows * dim * 4
    numbers = described + DESCRIPTION
    first = numbers + 5 * 8 + rows * 2
    if rows < 1 or len(graph) < first or _values(graph, 0, "<u4", 2) != [rows, dim * 4]:
        return False
    kinds = graph[described + 13 : described + 17].tobytes()
    about = _values(graph, described + 17, "<u8", 3)
    if graph[described : described + 7].tobytes() != b"usearch" or kinds != KINDS:
        return False
    size, links, links_below, top, entry = _values(graph, numbers, "<u8", 5)
    if about != [rows, 0, dim] or size != rows or entry >= rows or top > MOST_LEVELS:
        return False
    if not (0 < links <= MOST_LINKS and 0 < links_below <= MOST_LINKS):
        return False
    levels = np.frombuffer(graph, "<i2", rows, numbers + 5 * 8).astype(np.int64)
    if levels.min() < 0 or levels.max() != top or levels[entry] != top:
        return False
    below, above = 4 + 4 * links_below, 4 + 4 * links
    starts = first + np.append(0, np.cumsum(HEAD + below + levels * above))
    if starts[-1] != len(graph) or not _heads_hold(graph, starts[:-1], levels):
        return False
    return _links_hold(graph, starts[:-1] + HEAD, levels, 0, links_below) and all(
        _links_hold(graph, starts[:-1] + HEAD + below + (level - 1) * above, levels, level, links)
        for level in range(1, top + 1)
    )


def _heads_hold(
    graph: NDArray[np.uint8], starts: NDArray[np.int64], levels: NDArray[np.int64]
) -> bool:
    """Whether every key occurs once, and every node has its listed level."""
    seen = np.zeros(len(starts), bool)
    for at in range(0, len(starts), BLOCK):
        heads = _gathered(graph, starts[at : at + BLOCK], HEAD)
        keys = np.ascontiguousarray(heads[:, :8]).view("<u8")[:, 0]
        own = np.ascontiguousarray(heads[:, 8:]).view("<i2")[:, 0]
        if keys.max() >= len(starts) or (own != levels[at : at + BLOCK]).any():
            return False
        seen[keys] = True
    return bool(seen.all())


def _links_hold(
    graph: NDArray[np.uint8],
    starts: NDArray[np.int64],
    levels: NDArray[np.int64],
    level: int,
    most: int,
) -> bool:
    """Whether all links of a level lead to nodes that have this level."""
    starts = starts[levels >= level]
    for at in range(0, len(starts), BLOCK):
        lists = _gathered(graph, starts[at : at + BLOCK], 4 + 4 * most).view("<u4")
        linked = lists[:, 1:][np.arange(most) < lists[:, :1]]
        if lists[:, 0].max() > most or (linked >= len(levels)).any():
            return False
        if (levels[linked] < level).any():
            return False
    return True


def _gathered(graph: NDArray[np.uint8], starts: NDArray[np.int64], count: int) -> NDArray[np.uint8]:
    """`count` bytes from each start, (starts, count)."""
    return np.asarray(graph[starts[:, None] + np.arange(count)])


def _values(graph: NDArray[np.uint8], at: int, dtype: str, count: int) -> list[Any]:
    return list(
        np.frombuffer(graph[at : at + count * np.dtype(dtype).itemsize].tobytes(), dtype).tolist()
    )
