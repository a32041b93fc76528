"""Files on any file system of fsspec: a disk, an object store, a web server."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.extras import needs
from noppa.io.compression import BUFFER, Source, plain

#: Under which names file systems give a value that changes with the file, the most reliable first.
MARKS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "last_modified", "modified", "created")
#: How many blocks of a file on disk its fingerprint covers, and bytes of each.
SAMPLES, SAMPLE = 16, 1 << 12
#: Prefix of the names of files that are still being written.
UNFINISHED = ".unfinished-"


def fsspec() -> Any:
    with needs("dask", "noppa.cluster", " or 'noppa[spark]'"):
        import fsspec
    return fsspec


@dataclass(frozen=True)
class Place:
    """A file or a folder: its file system and its path there. A file is a `CuttableFile`."""

    files: Any
    path: str

    @classmethod
    def of(cls, address: str | os.PathLike[str]) -> Place:
        """The place at a path or at an address such as s3://bucket/folder."""
        core = fsspec().core
        try:
            files, path = core.url_to_fs(os.fspath(address))
        except (ImportError, ValueError) as error:
            raise ParameterError(f"{address} cannot be opened: {error}") from error
        return cls(files, path.rstrip("/") or "/")

    @property
    def address(self) -> str:
        """What `of` turns into this place on every machine that sees the same file system."""
        return self.path if self.is_local else str(self.files.unstrip_protocol(self.path))

    @property
    def is_local(self) -> bool:
        protocol = self.files.protocol
        return "file" in ([protocol] if isinstance(protocol, str) else protocol)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def __truediv__(self, name: str) -> Place:
        return Place(self.files, f"{self.path}/{name}")

    def __str__(self) -> str:
        return self.address

    # Metadata

    def is_folder(self) -> bool:
        return bool(self.files.isdir(self.path))

    def exists(self) -> bool:
        return bool(self.files.exists(self.path))

    def sizes(self) -> dict[str, int]:
        """The sizes of the files in a folder, not in its subfolders, by name; empty where there is no folder."""
        try:
            entries = self._listed()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        return {
            entry["name"].rstrip("/").rpartition("/")[2]: int(entry["size"] or 0)
            for entry in entries
            if entry["type"] == "file"
        }

    def names(self) -> list[str]:
        """The names of everything in a folder; of a file, its own."""
        try:
            return [entry["name"].rstrip("/").rpartition("/")[2] for entry in self._listed()]
        except FileNotFoundError:
            return []

    def _listed(self) -> list[dict[str, Any]]:
        self.files.invalidate_cache()  # workers write here too
        return list(self.files.ls(self.path, detail=True))

    def fingerprint(self) -> tuple[int, str]:
        """The size of a file, and a mark that changes with its content."""
        with explained(f"{self} cannot be read"):
            self.files.invalidate_cache()
            facts = self.files.info(self.path)
            size = int(facts["size"] or 0)
            mark = next((str(facts[name]) for name in MARKS if facts.get(name)), "")
            if self.is_local:  # a time alone proves nothing: a copy may keep that of the original
                mark += f" {_sampled(Path(self.path), size)}"
        return size, mark

    def size(self) -> int:
        with explained(f"{self} cannot be read"):
            return int(self.files.size(self.path) or 0)

    # Reading

    def content(self, start: int | None = None, stop: int | None = None) -> bytes:
        with explained(f"{self} cannot be read"):
            return bytes(self.files.cat_file(self.path, start=start, end=stop))

    def stream(self) -> Any:
        with explained(f"{self} cannot be read"):
            return self.files.open(self.path, "rb")

    def source(self) -> Source:
        """The content, decompressed."""
        return plain(io.BufferedReader(self.stream(), BUFFER), self.address, self.size())

    def random_access(self) -> Any:
        """A path on this machine's disk, or an open file."""
        return self.path if self.is_local else self.stream()

    def json(self) -> Any:
        try:
            return json.loads(self.content())
        except ValueError as error:
            raise FileError(f"{self} is damaged: {error}; remove it and run again") from error

    # Writing

    def make(self) -> None:
        with explained(f"cannot write {self}"):
            self.files.makedirs(self.path, exist_ok=True)

    def write(self, content: bytes) -> None:
        with self.new() as path:
            path.write_bytes(content)

    def write_lines(self, values: Iterable[Any]) -> None:
        """One JSON value a line."""
        with self.new() as path, path.open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(value, ensure_ascii=False) + "\n" for value in values)

    def write_json(self, content: Any) -> None:
        self.write(json.dumps(content, ensure_ascii=False).encode())

    @contextmanager
    def new(self) -> Iterator[Path]:
        """A local path to write to, which becomes this file atomically when the block succeeds.

        On a disk: fsync, then rename. Elsewhere: one upload, which object stores do atomically too. A non-atomic upload
        that dies is never recorded as done, so a resume rewrites it.
        """
        folder = self.path.rpartition("/")[0] if self.is_local else None
        with explained(f"cannot write {self}"):
            name = f"{UNFINISHED}{os.urandom(8).hex()}"
            path = Path(tempfile.gettempdir() if folder is None else folder, name)
            path.touch(exist_ok=False)
            try:
                yield path
                if self.is_local:
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                    os.replace(path, self.path)
                else:
                    self.files.put_file(str(path), self.path)
            finally:
                path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove a file, or a folder with its content, if there is one."""
        with suppress(FileNotFoundError):
            self.files.rm(self.path, recursive=True)


def _sampled(path: Path, size: int) -> str:
    """A checksum of blocks spread over a file; a small file is covered whole."""
    digest = hashlib.blake2b(digest_size=16)
    with path.open("rb") as file:
        for at in range(SAMPLES + 1):
            file.seek(max(0, size - SAMPLE) * at // SAMPLES)
            digest.update(file.read(SAMPLE))
    return digest.hexdigest()


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn errors of a file system into one sentence that begins with `what`."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        todo = "; make room and run the same again, what is done is kept" if full else ""
        raise FileError(f"{what}: {why}{todo}") from error
    except (ImportError, RuntimeError) as error:
        raise FileError(f"{what}: {error}") from error
