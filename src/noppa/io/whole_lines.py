"""Blocks of bytes, split at the ends of lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def whole_lines(blocks: Iterable[bytes], longest: int | None = None) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines; the last one may lack its newline.

    longest: the buffer for one line, in bytes. Of a longer line only the beginning is yielded, without a newline, and then
    nothing more.
    """
    # Joined once per line: appending to bytes would copy a long line for each of its blocks.
    pending: list[bytes] = []
    size = 0
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*pending, block[:end]])
            pending, size = [], 0
        pending.append(block[end:])
        size += len(block) - end
        if longest is not None and size > longest:
            break
    if size:
        yield b"".join(pending)
