"""Blocks of bytes, cut where lines end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def whole_lines(blocks: Iterable[bytes], longest: int | None = None) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines; the last one may lack its newline.

    longest: how many bytes of a line to hold. Of a longer one the beginning is given, without a newline, and no more.
    """
    # Joined once: adding to bytes would copy a long line for each of its blocks.
    held: list[bytes] = []
    size = 0
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join([*held, block[:end]])
            held, size = [], 0
        held.append(block[end:])
        size += len(block) - end
        if longest is not None and size > longest:
            break
    if size:
        yield b"".join(held)
