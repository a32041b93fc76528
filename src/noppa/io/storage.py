"""Saved folders: a JSON header, arrays as `.npy`, checksums, a format version; written atomically.

A saved folder is untrusted input: its checksums detect damage, not intent. So the size of the header is bounded, file names
come from the schema and never from the header, and every dtype, shape and row number is checked before use.
Arrays are memory-mapped on reading. The size of every file and, up to `VERIFIED_BYTES`, its checksum are verified on
opening; verifying larger files means reading them whole, and is done on request.

Modules that only some functions need are imported lazily, so that `import noppa` stays fast.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, NoppaError
from noppa.io import array_file, schema
from noppa.io.atomic import replaced_copy, whole_folder
from noppa.io.schema import Field
from noppa.parameters import path_of

FORMAT = 2
HEADER = "noppa.json"
MOST_HEADER_BYTES = 1 << 20
VERIFIED_BYTES = 16 << 20
EVERY_BYTE = 1 << 62
#: For folders inside the package: the installer verified the files, and may have made them symbolic links.
INSTALLED = 0
#: How often to retry a folder that is replaced while it is read.
ATTEMPTS = 100

T = TypeVar("T")


@dataclass(frozen=True)
class Folder:
    """An open saved folder: its checked header, and its arrays by their schema."""

    path: Path
    header: dict[str, Any]
    header_checksum: str
    verified: int
    read_files: set[str] = field(default_factory=set)

    def read(
        self,
        declared: Mapping[str, str],
        sizes: dict[str, int],
        prefix: str = "",
        verified: int | None = None,
    ) -> dict[str, NDArray[Any]]:
        """The declared arrays (see `schema`), mapped and read-only; `prefix` is that of their file names.

        verified: overrides that of `read_folder` for these arrays.
        """
        limit = self.verified if verified is None else verified
        arrays = {}
        for optional, line in declared.items():
            name = optional.lstrip("?")
            file = self.file(prefix + name)
            if file.name in self.header["files"]:
                arrays[name] = self._read(file, line, sizes, limit)
            elif name == optional:
                raise FileError(f"{self.path} is damaged: it lacks {file.name}; copy it again")
        return arrays

    def _read(
        self, file: Path, declared: str, sizes: dict[str, int], verified: int
    ) -> NDArray[Any]:
        self.read_files.add(file.name)
        entry, types = self.header["files"][file.name], schema.types_of(declared)
        array = array_file.read(
            file, entry["bytes"], entry["sha256"], verified, types, verified == INSTALLED
        )
        schema.check_array(array, declared, sizes, entry["bytes"] <= verified, file)
        return array

    def check_nothing_else(self) -> None:
        """Refuse files that the header lists but no schema declares."""
        if surplus := self.header["files"].keys() - self.read_files:
            raise FileError(
                f"{self.path / HEADER} lists {min(surplus)!r}, which does not belong to this {self.header['kind']}"
            )

    def file(self, name: str) -> Path:
        """The file of an array."""
        return self.path / f"{name}.npy"


def write_folder(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    inside: Callable[[Path], Mapping[str, Any]] | None = None,
) -> None:
    """Write a folder atomically; an existing one of the same kind is replaced.

    inside: called with the folder being written, to add folders to it; returns more fields of the header.
    """
    target = path_of(path)
    if target.exists() and kind_of(target) != kind:
        raise FileError(
            f"{target} exists and is not a saved {kind}: choose another name or remove it first"
        )
    with whole_folder(target) as new:
        files = {
            f"{name}.npy": array_file.write(new / f"{name}.npy", array)
            for name, array in arrays.items()
        }
        more = {} if inside is None else inside(new)
        write_header(new / HEADER, kind, {**header, **more}, files)


def write_header(
    path: Path, kind: str, header: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]
) -> None:
    """Write the header of a folder: its fields, its files with their sizes and checksums, and a checksum of all that."""
    import json

    content = {"format": FORMAT, "kind": kind, **header, "files": files}
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    if not _is_utf8(text):  # a source may be a file name that is not UTF-8
        text = json.dumps(content, indent=1, allow_nan=False)
    checksum = checksum_of(text)
    path.write_text(f"{text}\n{checksum}\n", encoding="utf-8", newline="\n")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_folder(
    path: Path, kind: str, fields: Mapping[str, Field], verified: int = VERIFIED_BYTES
) -> Folder:
    """Open a saved folder of the given kind and check its header fields; `Folder.read` reads the arrays.

    verified: the checksum of a file is compared up to this many bytes; of a larger one, only the size.
    """
    header, checksum = read_header(path, links=verified == INSTALLED)
    if header["kind"] != kind:
        raise FileError(f"{path} holds a saved {header['kind']}, not a saved {kind}")
    schema.check_fields(header, fields, path / HEADER)
    return Folder(path, header, checksum, verified)


def consistently(path: str | os.PathLike[str], read: Callable[[Path], T]) -> T:
    """The result of `read` for a folder that others may replace meanwhile: all of the old one, or all of the new one.

    An open descriptor keeps the inode from being reused, so that the same inode before and after is the same folder.
    """
    folder = path_of(path)
    for _ in range(ATTEMPTS):
        place = existing(folder)
        try:
            # O_DIRECTORY: opening a pipe would block.
            descriptor = os.open(place, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        except FileNotFoundError:
            if existing(folder).exists():
                continue
            return read(place)  # raises that it is missing
        except OSError:  # a system that cannot open folders
            return read(place)
        try:
            result = read(place)
            if _is_still(descriptor, place):
                return result
        except NoppaError:
            if _is_still(descriptor, place):
                raise
        finally:
            os.close(descriptor)
    raise FileError(f"{folder} is replaced again and again: load it when nobody saves to it")


def _is_still(descriptor: int, place: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(place))
    except OSError:
        return False


def existing(folder: Path) -> Path:
    """The folder, or its previous version where a save was killed between two renames (see `atomic`)."""
    if folder.exists():
        return folder
    return replaced_copy(folder) or folder


def narrowed(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """The array in a smaller dtype if that is lossless, else as it is."""
    small = array.astype(dtype)
    return small if np.array_equal(small.astype(array.dtype), array) else array


def kind_of(path: Path) -> str | None:
    """The kind of a saved folder, None for anything else."""
    try:
        return str(read_header(path)[0]["kind"])
    except FileError:
        return None


#: The fields that every header has.
COMMON = ("format", "kind", "files")
COMMON_FIELDS = {
    "kind": schema.TEXT,
    "files": Field(
        lambda files: type(files) is dict and all(map(is_entry, files.values())),
        "an object of files with their bytes and their sha256",
    ),
}


def is_entry(entry: Any) -> bool:
    """Whether a header says of a file how large it is and what its checksum is."""
    return (
        type(entry) is dict
        and type(entry.get("bytes")) is int
        and 0 <= entry["bytes"] < EVERY_BYTE
        and schema.CHECKSUM.holds(entry.get("sha256"))
    )


def read_header(folder: Path, links: bool = False) -> tuple[dict[str, Any], str]:
    """The header and its checksum."""
    text, checksum = _split_header(folder, links)
    try:
        header = _parsed(text)
        version = header["format"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{folder / HEADER} is damaged: {error}; copy the folder again") from error
    if type(version) is not int or version > FORMAT:
        raise FileError(
            f"{folder} has format {version!r} and this noppa reads up to {FORMAT}: upgrade noppa"
        )
    if checksum_of(text) != checksum:
        raise FileError(f"{folder / HEADER} is damaged: its checksum does not match; copy it again")
    schema.check_fields(header, COMMON_FIELDS, folder / HEADER)
    return header, checksum


def _parsed(text: str) -> dict[str, Any]:
    import json

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            raise ValueError("a field stands twice")
        return fields

    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no number")

    header = json.loads(text, object_pairs_hook=once, parse_constant=no_number)
    if not isinstance(header, dict):
        raise ValueError("it holds no object")
    return header


def _split_header(folder: Path, links: bool = False) -> tuple[str, str]:
    """The JSON of a header, and the checksum after it."""
    if not folder.exists():
        raise FileError(f"{folder} does not exist")
    try:
        os.lstat(folder / HEADER)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise FileError(f"{folder} is not a saved noppa folder: it has no {HEADER}") from error
    except OSError as error:
        raise FileError(f"{folder / HEADER} cannot be read: {error.strerror}") from error
    content = bytes(array_file.content(folder / HEADER, MOST_HEADER_BYTES, links))
    try:
        text, _, checksum = content.decode().replace("\r\n", "\n").rstrip("\n").rpartition("\n")
    except ValueError as error:
        raise FileError(f"{folder / HEADER} is damaged: {error}; copy the folder again") from error
    return text, checksum


def header_checksum(folder: Path) -> str:
    """The checksum at the end of a folder's header: since that lists the files' checksums, it identifies all content."""
    return _split_header(folder, links=True)[1]


def checksum_of(text: str) -> str:
    """The SHA-256 of a short text, by CPython's own module: OpenSSL, faster on files, takes 3 MB and 3 ms to load."""
    from contextlib import suppress
    from importlib import import_module

    for name in ("_sha2", "_sha256"):  # since 3.12, before
        with suppress(ImportError):
            return str(import_module(name).sha256(text.encode()).hexdigest())
    import hashlib

    return hashlib.sha256(text.encode()).hexdigest()


def sha256(path: Path) -> str:
    import hashlib

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
