"""Folders on disk: a JSON header, arrays as `.npy`, checksums, a format version; written whole or not at all.

Arrays are memory-mapped on reading. Every file's size and, up to `VERIFIED_BYTES`, its checksum are verified on opening;
the checksums of larger ones cost as much as reading them, and are compared where somebody asks for it.

What only writing needs, or only a folder, is imported there: `import noppa` stays quick.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError

FORMAT = 2
HEADER = "noppa.json"
VERIFIED_BYTES = 16 << 20
EVERY_BYTE = 1 << 62


@dataclass(frozen=True)
class Folder:
    """What a saved folder holds: its header without the book-keeping, and its arrays by name."""

    path: Path
    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def write_folder(
    path: str | os.PathLike[str],
    kind: str,
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    inside: Callable[[Path], None] | None = None,
) -> None:
    """Write a folder under its name only when it is complete; one of the same kind there is replaced.

    `inside` may add folders of its own to the one being written.
    """
    import hashlib
    import json

    target = Path(path)
    if target.exists() and kind_of(target) != kind:
        raise FileError(
            f"{target} exists and is not a saved {kind}: choose another name or remove it first"
        )
    with whole_folder(target) as new:
        files = {}
        for name, array in arrays.items():
            file = new / f"{name}.npy"
            np.save(file, np.ascontiguousarray(array), allow_pickle=False)
            files[file.name] = {"bytes": file.stat().st_size, "sha256": sha256(file)}
        if inside is not None:
            inside(new)
        content = {"format": FORMAT, "kind": kind, **header, "files": files}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        seal = hashlib.sha256(text.encode()).hexdigest()
        (new / HEADER).write_text(f"{text}\n{seal}\n", encoding="utf-8")


def read_folder(path: str | os.PathLike[str], kind: str, verified: int = VERIFIED_BYTES) -> Folder:
    """Open a saved folder of the given kind, its arrays memory-mapped and read-only.

    verified: up to how many bytes a file is compared with its checksum, larger ones with their size alone.
    """
    folder = Path(path)
    header = header_of(folder, kind)
    arrays = {}
    for name, facts in header.pop("files").items():
        file = folder / name
        try:
            size = file.stat().st_size
            if size != facts["bytes"]:
                raise FileError(
                    f"{file} is damaged: {size} bytes where {facts['bytes']} were written; copy it again"
                )
            if size <= verified and sha256(file) != facts["sha256"]:
                raise FileError(f"{file} is damaged: its checksum does not match; copy it again")
            arrays[file.stem] = np.load(file, mmap_mode="r" if size > 4096 else None)
        except (OSError, ValueError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"{file} cannot be read: {error}; copy the folder again") from error
    return Folder(folder, header, arrays)


def header_of(folder: Path, kind: str) -> dict[str, Any]:
    """The header of a saved folder of the given kind."""
    header = _read_header(folder)
    if header.get("kind") != kind:
        raise FileError(f"{folder} holds a saved {header.get('kind')}, not a saved {kind}")
    return header


def narrowed(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """The array in a smaller type where that loses nothing, else as it is."""
    small = array.astype(dtype)
    return small if np.array_equal(small.astype(array.dtype), array) else array


def kind_of(path: Path) -> str | None:
    """The kind of a saved folder, None for anything else."""
    try:
        kind = _read_header(path).get("kind")
    except FileError:
        return None
    return kind if isinstance(kind, str) else None


def _read_header(folder: Path) -> dict[str, Any]:
    import hashlib
    import json

    if not folder.exists():
        raise FileError(f"{folder} does not exist")
    if not (folder / HEADER).is_file():
        raise FileError(f"{folder} is not a saved noppa folder: it has no {HEADER}")
    try:
        text, _, seal = (folder / HEADER).read_text(encoding="utf-8").rstrip("\n").rpartition("\n")
        header = json.loads(text)
        version = header["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{folder / HEADER} is damaged: {error}; copy the folder again") from error
    if not isinstance(version, int) or version > FORMAT:
        raise FileError(
            f"{folder} has format {version} and this noppa reads up to {FORMAT}: upgrade noppa"
        )
    if hashlib.sha256(text.encode()).hexdigest() != seal:
        raise FileError(f"{folder / HEADER} is damaged: its checksum does not match; copy it again")
    return dict(header)


def seal_of(folder: Path) -> str:
    """The checksum at the end of a folder's header, which stands for all that is in it."""
    try:
        return (folder / HEADER).read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2]
    except (OSError, ValueError) as error:
        raise FileError(f"{folder / HEADER} cannot be read: {error}; copy it again") from error


def sha256(path: Path) -> str:
    import hashlib

    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A temporary folder beside `target` that takes its place when the block ends well, and vanishes otherwise."""
    import shutil
    import tempfile

    target = target.absolute()
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    try:
        new = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    try:
        yield new
        new.chmod(0o777 & ~umask())
        if target.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{target.name}.old.", dir=target.parent))
            os.rename(target, old / target.name)
            try:
                os.rename(new, target)
            except BaseException:
                os.rename(old / target.name, target)
                raise
            finally:
                shutil.rmtree(old, ignore_errors=True)
        else:
            os.rename(new, target)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A temporary file beside `target` that takes its place when the block ends well, and vanishes otherwise."""
    import tempfile

    target = target.absolute()
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: the folder {target.parent} does not exist")
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    new = Path(name)
    try:
        yield new
        new.chmod(0o666 & ~umask())
        os.replace(new, target)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        new.unlink(missing_ok=True)


def umask() -> int:
    """What this process takes from the rights of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
