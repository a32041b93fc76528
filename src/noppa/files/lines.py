"""Blocks of bytes, cut where lines end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks of whole lines; the last one may lack its newline."""
    rest = b""
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
    if rest:
        yield rest
