"""Saved folders: a JSON header with checksums, and memory-mapped arrays as `.npy` files.

A saved folder is untrusted input: its checksums detect damage, not intent. So the size of the header is bounded, file names
come from the schema and never from the header, and every dtype, shape and row number is checked before use. NumPy's own
reader accepts pickles, nested Python literals and shapes larger than the file; ours accepts only what we write: little-endian
numbers in C order that fill the file exactly.

Opening a folder compares the size of every file with the header and, up to `VERIFIED_BYTES`, its checksum. Comparing the
checksum of a larger file means reading all of it, and is done on request.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, NoppaError
from noppa.io import schema
from noppa.io.atomic import atomic_folder, previous_if_missing
from noppa.io.schema import Check
from noppa.parameters import path_of

FORMAT = 2
HEADER = "noppa.json"
MOST_HEADER_BYTES = 1 << 20
VERIFIED_BYTES = 16 << 20
EVERY_BYTE = 1 << 62
#: For folders inside the package: the installer verified the files.
INSTALLED = 0
#: How often to read a folder again that is replaced while it is read.
ATTEMPTS = 10

ARRAY_MAGIC = b"\x93NUMPY\x01\x00"
LONGEST_ARRAY_HEADER = 1024
#: More elements than memory can hold.
LONGEST_AXIS = 1 << 48
#: Smaller files are read, larger ones mapped.
MAPPED_BYTES = 4096
_ARRAY_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z][1248])', 'fortran_order': False, 'shape': \(((?:\d{1,19},? ?)*)\), \} *\n"
)

T = TypeVar("T")


@dataclass(frozen=True)
class Folder:
    """An open saved folder: its checked header, and access to its arrays."""

    path: Path
    header: dict[str, Any]
    header_checksum: str
    verified: int

    def read(
        self, declared: Mapping[str, str], sizes: dict[str, int], prefix: str = ""
    ) -> dict[str, NDArray[Any]]:
        """Map the declared arrays (see `schema`), read-only; `prefix` starts their file names."""
        arrays = {}
        for marked_name, declared_array in declared.items():
            name = marked_name.lstrip("?")
            file = self.path / f"{prefix}{name}.npy"
            entry = self.header["files"].get(file.name)
            if entry is not None:
                content = read_file(file, entry, self.verified)
                array = _parse_array(file, content, declared_array.split()[0])
                check_values = entry["bytes"] <= self.verified
                schema.check_array(array, declared_array, sizes, check_values, file)
                arrays[name] = array
            elif name == marked_name:
                raise FileError(f"{self.path} is damaged: it lacks {file.name}; copy it again")
        return arrays

    def file(self, name: str) -> Path:
        """Return the path of an array."""
        return self.path / f"{name}.npy"


# Writing


def write_folder(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    inside: Callable[[Path], Mapping[str, Any]] | None = None,
) -> None:
    """Write a folder atomically; replace an existing one of the same kind.

    `inside` adds more files to the folder being written, and returns more header fields.
    """
    target = path_of(path)
    if target.exists() and kind_of(target) != kind:
        raise FileError(
            f"{target} exists and is not a saved {kind}: choose another name or remove it first"
        )
    with atomic_folder(target) as new:
        files = {
            f"{name}.npy": write_array(new / f"{name}.npy", array) for name, array in arrays.items()
        }
        more = {} if inside is None else inside(new)
        write_header(new / HEADER, kind, {**header, **more}, files)


def write_header(
    path: Path, kind: str, header: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write a header: its fields, its files with sizes and checksums, and a checksum of all that."""
    import json

    content = {"format": FORMAT, "kind": kind, **header, "files": files}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a field may hold a file name that is not UTF-8
        text = json.dumps(content, indent=1, allow_nan=False)
    path.write_text(f"{text}\n{sha256(text.encode())}\n", encoding="utf-8", newline="\n")


def write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Write an `.npy` file; return its size and checksum for the header."""
    import hashlib
    import io

    array = np.ascontiguousarray(array)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    data = array.reshape(-1).view(np.uint8).data
    digest = hashlib.sha256(header.getvalue())
    digest.update(data)
    with path.open("wb") as file:
        file.write(header.getvalue())
        file.write(data)
    return {"bytes": header.tell() + array.nbytes, "sha256": digest.hexdigest()}


def downcast_if_lossless(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return the array in a smaller dtype if that changes no value, else as it is."""
    small = array.astype(dtype)
    return small if np.array_equal(small.astype(array.dtype), array) else array


# Reading


def read_folder(
    path: Path, kind: str, fields: Mapping[str, Check], verified: int = VERIFIED_BYTES
) -> Folder:
    """Open a saved folder of the given kind and check its header fields; `Folder.read` reads the arrays.

    The checksums of files up to `verified` bytes are compared; of larger ones, only the size.
    """
    header, checksum = read_header(path)
    if header["kind"] != kind:
        raise FileError(f"{path} holds a saved {header['kind']}, not a saved {kind}")
    schema.check_fields(header, fields, path / HEADER)
    return Folder(path, header, checksum, verified)


def read_snapshot(path: str | os.PathLike[str], read: Callable[[Path], T]) -> T:
    """Return `read(folder)`; if a save replaces the folder meanwhile, read again.

    Otherwise the header of the old folder could meet large arrays of the new one, of which only the size is compared.
    """
    folder = path_of(path)
    for _ in range(ATTEMPTS):
        place = previous_if_missing(folder)
        before = _identity(place)
        try:
            result = read(place)
        except NoppaError:
            if _identity(place) == before:
                raise
        else:
            if _identity(place) == before:
                return result
    raise FileError(
        f"{folder} keeps changing while it is read: try again when no other process saves to it"
    )


def _identity(folder: Path) -> object:
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_mtime_ns


def is_saved_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder with our header."""
    return os.path.isfile(previous_if_missing(Path(path)) / HEADER)


def kind_of(path: Path) -> str | None:
    """Return the kind of a saved folder, or None for anything else."""
    try:
        return str(read_header(path)[0]["kind"])
    except FileError:
        return None


def is_file_entry(entry: Any) -> bool:
    """Whether a header entry has the size and the checksum of a file."""
    if type(entry) is not dict:
        return False
    size, checksum = entry.get("bytes"), entry.get("sha256")
    is_size = type(size) is int and 0 <= size < EVERY_BYTE
    return is_size and type(checksum) is str and len(checksum) == 64


COMMON_FIELDS: dict[str, Check] = {
    "kind": schema.is_text,
    "files": lambda files: type(files) is dict and all(map(is_file_entry, files.values())),
}


def read_header(folder: Path) -> tuple[dict[str, Any], str]:
    """Return the header of a folder and its checksum."""
    import json

    text, checksum = _split_header(folder)
    try:
        header = json.loads(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{folder / HEADER} is damaged: {error}; copy the folder again") from error
    if type(version) is not int or version > FORMAT:
        raise FileError(
            f"{folder} has format {version!r} and this noppa reads up to {FORMAT}: upgrade noppa"
        )
    if sha256(text.encode()) != checksum:
        raise FileError(f"{folder / HEADER} is damaged: its checksum does not match; copy it again")
    schema.check_fields(header, COMMON_FIELDS, folder / HEADER)
    return header, checksum


def header_checksum(folder: Path) -> str:
    """Return the checksum stored in a header, which lists those of the files and so identifies all content."""
    return _split_header(folder)[1]


def _split_header(folder: Path) -> tuple[str, str]:
    """Return the JSON of a header and the checksum after it."""
    if not folder.exists():
        raise FileError(f"{folder} does not exist")
    if not os.path.lexists(folder / HEADER):
        raise FileError(f"{folder} is not a saved noppa folder: it has no {HEADER}")
    content = bytes(_open_bytes(folder / HEADER, MOST_HEADER_BYTES))
    try:
        text, _, checksum = content.decode().replace("\r\n", "\n").rstrip("\n").rpartition("\n")
    except ValueError as error:
        raise FileError(f"{folder / HEADER} is damaged: {error}; copy the folder again") from error
    return text, checksum


def read_file(path: Path, entry: Mapping[str, Any], verified: int) -> Any:
    """Return the bytes of a file that a header lists; raise if its size differs or, up to `verified` bytes, its checksum."""
    content = _open_bytes(path, entry["bytes"])
    if len(content) != entry["bytes"]:
        raise FileError(
            f"{path} is damaged: it has {len(content)} of {entry['bytes']} bytes; copy it again"
        )
    if len(content) <= verified and sha256(content) != entry["sha256"]:
        raise FileError(f"{path} is damaged: its checksum does not match; copy it again")
    return content


def _parse_array(path: Path, content: Any, dtypes: str) -> NDArray[Any]:
    """Return the array in the bytes of an `.npy` file; `dtypes` are the allowed ones, such as "f4|f8"."""
    head = bytes(memoryview(content)[:LONGEST_ARRAY_HEADER])
    begin = len(ARRAY_MAGIC) + 2
    start = begin + int.from_bytes(head[begin - 2 : begin], "little")
    match = _ARRAY_HEADER.fullmatch(head[begin:start])
    if not head.startswith(ARRAY_MAGIC) or match is None or start % 16:
        raise FileError(f"{path} is damaged: it has no header of a saved array; copy it again")
    kind = match[1][1:].decode()
    if kind not in dtypes.split("|"):
        raise FileError(f"{path} is damaged: its dtype is {kind}, expected {dtypes}; copy it again")
    dtype = np.dtype(match[1].decode())
    shape = tuple(map(int, match[2].replace(b",", b" ").split()))
    # An empty array matches its size in bytes whatever its other dimensions are, even if NumPy cannot count them.
    size = start + dtype.itemsize * math.prod(shape)
    if size != len(content) or max(shape, default=0) > LONGEST_AXIS:
        raise FileError(
            f"{path} is damaged: {dtype} of shape {shape} does not fit its {len(content)} bytes; copy it again"
        )
    return np.frombuffer(content, dtype, offset=start).reshape(shape)


def _open_bytes(path: Path, most: int) -> Any:
    """Return the bytes of a regular file of at most `most` bytes, mapped if they are more than `MAPPED_BYTES`.

    Opening never blocks on a pipe or a device. Symbolic links are followed: the cache of the hub consists of them.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):
                raise FileError(f"{path} is not a regular file: copy the folder again")
            if status.st_size > most:
                raise FileError(
                    f"{path} is damaged: it has {status.st_size} bytes, expected at most {most}; copy it again"
                )
            if status.st_size <= MAPPED_BYTES:
                return os.read(handle, MAPPED_BYTES)
            import mmap

            return mmap.mmap(handle, status.st_size, access=mmap.ACCESS_READ)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path} cannot be read: {error}; copy the folder again") from error


def sha256(content: Any) -> str:
    """Return the SHA-256 of bytes, or of the file at a path."""
    import hashlib

    if not isinstance(content, Path):
        return hashlib.sha256(content).hexdigest()
    digest = hashlib.sha256()
    with content.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
