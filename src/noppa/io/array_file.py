"""One array in an `.npy` file of a saved folder: written as NumPy does, read as untrusted input.

NumPy's reader accepts pickles, nested Python literals and shapes larger than the file. Ours accepts only what we write:
little-endian numbers in C order that fill the file exactly.
"""

from __future__ import annotations

import math
import os
import re
import stat
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError

MAGIC = b"\x93NUMPY\x01\x00"
#: More elements than memory can hold.
LONGEST_AXIS = 1 << 48
LONGEST_HEADER = 1024
#: A file of up to this many bytes is read, a larger one mapped.
READ_BYTES = 4096
_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,19},? ?)*)\), \} *\n"
)


def write(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Write an array; returns the size and the checksum of the file for the header."""
    import hashlib
    import io

    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    data = array.reshape(-1).view(np.uint8)
    digest = hashlib.sha256(header.getvalue())
    digest.update(data)  # type: ignore[arg-type]
    with path.open("wb") as file:
        file.write(header.getvalue())
        file.write(data)  # type: ignore[arg-type]
    return {"bytes": header.tell() + array.nbytes, "sha256": digest.hexdigest()}


def read(
    path: Path, size: int, checksum: str, verified: int, types: str, links: bool
) -> NDArray[Any]:
    """The read-only array of a file of `size` bytes; the checksum is compared up to `verified` bytes.

    types: the allowed dtypes, as "f4|f8". links: see `content`.
    """
    data = content(path, size, links)
    if len(data) != size:
        raise FileError(
            f"{path} is damaged: {len(data)} bytes where {size} were written; copy it again"
        )
    if size <= verified:
        import hashlib

        if hashlib.sha256(data).hexdigest() != checksum:
            raise FileError(f"{path} is damaged: its checksum does not match; copy it again")
    dtype, shape, start = _parsed_header(path, bytes(memoryview(data)[:LONGEST_HEADER]), types)
    # Of an array of no numbers any other dimension would fit, also one that NumPy cannot count.
    if start + dtype.itemsize * math.prod(shape) != size or max(shape, default=0) > LONGEST_AXIS:
        raise FileError(
            f"{path} is damaged: it is said to hold {dtype} {shape}, which {size} bytes are not; copy it again"
        )
    return np.frombuffer(data, dtype, offset=start).reshape(shape)


def _parsed_header(
    path: Path, head: bytes, types: str
) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """The dtype, the shape and the offset of the data."""
    begin = len(MAGIC) + 2
    start = begin + int.from_bytes(head[begin - 2 : begin], "little")
    match = _HEADER.fullmatch(head[begin:start])
    if not head.startswith(MAGIC) or match is None or start % 16:
        raise FileError(f"{path} is damaged: it does not begin as a saved array; copy it again")
    kind = match[1][1:].decode()
    if kind not in types.split("|"):
        raise FileError(f"{path} is damaged: it holds {kind} where {types} belongs; copy it again")
    shape = tuple(int(size) for size in match[2].replace(b",", b" ").split())
    return np.dtype(match[1].decode()), shape, start


def content(path: Path, most: int, links: bool = False) -> Any:
    """The bytes of a regular file of up to `most` bytes, mapped if there are more than `READ_BYTES`.

    Opening never blocks on a pipe or a device. links: whether to follow a symbolic link, which may leave the folder.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    if not links:
        if os.path.islink(path):
            raise FileError(
                f"{path} is a symbolic link, and a saved folder holds its files itself: "
                "copy the folder with its links followed (cp -rL)"
            )
        flags |= getattr(os, "O_NOFOLLOW", 0)
    try:
        handle = os.open(path, flags)
        try:
            return _read(handle, path, most)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} cannot be read: {error}; copy the folder again") from error


def _read(handle: int, path: Path, most: int) -> Any:
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        raise FileError(f"{path} is no regular file: copy the folder again")
    if status.st_size > most:
        raise FileError(
            f"{path} is damaged: {status.st_size} bytes where {most} are expected at most; copy it again"
        )
    if status.st_size <= READ_BYTES:
        return os.read(handle, READ_BYTES)
    import mmap

    return mmap.mmap(handle, status.st_size, access=mmap.ACCESS_READ)
