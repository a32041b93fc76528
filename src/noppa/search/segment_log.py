"""An index on disk: immutable segments, files that say which of their rows are alive, and one manifest.

DIR/noppa.json       the manifest: the encoder, and the segments in order; replacing it is the commit
DIR/segment-3/       a segment, written and synced before the manifest names it, removed after none does
DIR/alive-4.npy      the rows of a segment that were not deleted, (rows,); a segment without one has all of its rows
DIR/writer.lock      locked by the one process that writes

A process that dies at any moment leaves the manifest of the last commit, and at most files that no manifest names, which the
next commit removes.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from noppa.errors import FileError
from noppa.io import schema, storage
from noppa.io.atomic import atomic_file
from noppa.io.schema import Check
from noppa.parameters import MOST_DIMENSIONS
from noppa.search import index_model
from noppa.search.index_state import Part, State
from noppa.search.segment import Segment
from noppa.search.stored_vectors import DTYPES

KIND = "text index"
#: The kind of folder that noppa index wrote before an index could grow.
LOCK = "writer.lock"
#: Seconds that a writer waits for another one to finish.
PATIENCE = 10.0
MOST_NUMBER = 1 << 53
_SEGMENT, _ALIVE = re.compile(r"segment-\d{1,16}"), re.compile(r"alive-\d{1,16}")
#: What commits make, and what `atomic` calls it before it is complete.
_OURS = re.compile(
    r"segment-\d+|alive-\d+\.npy|\.(segment-\d+|alive-\d+\.npy|noppa\.json)\.[0-9a-f]{8}\.unfinished"
)


def _is_part(entry: Any) -> bool:
    return (
        type(entry) is dict
        and _names(_SEGMENT, entry.get("name"))
        and schema.is_checksum(entry.get("checksum"))
        and (entry.get("alive") is None or _names(_ALIVE, entry.get("alive")))
    )


def _names(pattern: re.Pattern[str], name: Any) -> bool:
    return type(name) is str and pattern.fullmatch(name) is not None


FIELDS: dict[str, Check] = {
    **index_model.FIELDS,
    "dim": schema.whole(1, MOST_DIMENSIONS),
    "dtype": schema.one_of(tuple(DTYPES)),
    "next id": schema.whole(0, MOST_NUMBER),
    "next name": schema.whole(0, MOST_NUMBER),
    "segments": lambda value: type(value) is list and all(map(_is_part, value)),
}
#: The fields that never change.
FIXED = (*index_model.NAMES, "dim", "dtype")


class SegmentLog:
    """The folder of an index.

    header: the fields of `FIXED`, from which a new folder is made; `read` sets them from an existing one.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.header = dict(header or {})
        self._next_name = 0
        self._stamp: object = None

    @property
    def manifest(self) -> Path:
        return self.folder / storage.HEADER

    def create(self, state: State) -> State:
        """Make the folder, unless somebody else was faster, and give its state."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FileError(
                f"cannot make the folder {self.folder}: {error.strerror or error}"
            ) from error
        with self.writing():
            return self.read() if self.manifest.exists() else self.commit(state)

    # Reading

    def refreshed(self, state: State) -> State:
        """The state as it is now: the given one, unless somebody has committed another."""
        return state if self._stamp == self._stamp_now() else self.read(state)

    def read(self, before: State | None = None) -> State:
        """The last commit. Segments that `before` has open are not opened again."""
        for _ in range(storage.ATTEMPTS):
            stamp = self._stamp_now()
            folder = storage.read_folder(self.folder, KIND, FIELDS)
            try:
                state = self._opened(folder, {} if before is None else _by_checksum(before))
            except FileError:
                if storage.header_checksum(self.folder) != folder.header_checksum:
                    continue  # a commit removed what this manifest names
                raise
            self._stamp, self._next_name = stamp, folder.header["next name"]
            return state
        raise FileError(f"{self.folder} is changed again and again: read it when fewer write to it")

    def _opened(self, folder: storage.Folder, known: dict[str, Segment]) -> State:
        fixed = {name: folder.header[name] for name in FIXED if name in folder.header}
        if self.header and fixed != self.header:
            raise FileError(f"{self.folder} was made anew with another encoder: open it again")
        parts = []
        for entry in folder.header["segments"]:
            name = entry["name"]
            segment = known.get(entry["checksum"]) or self._segment(name)
            self._check(segment, entry, fixed)
            alive = None
            if entry["alive"]:
                alive = folder.read({entry["alive"]: "b1 rows"}, {"rows": len(segment)})[
                    entry["alive"]
                ]
            parts.append(Part(segment, alive, name, entry["alive"] or ""))
        folder.check_nothing_else()
        self.header = fixed
        return State(tuple(parts), folder.header["next id"])

    def _segment(self, name: str) -> Segment:
        if not (self.folder / name).is_dir():
            raise FileError(f"{self.folder} is damaged: {name} is missing; copy it again")
        return Segment.read(self.folder / name)

    def _check(self, segment: Segment, entry: Mapping[str, Any], fixed: Mapping[str, Any]) -> None:
        found = (segment.checksum, segment.dim, segment.dtype)
        if found != (entry["checksum"], fixed["dim"], fixed["dtype"]):
            raise FileError(
                f"{self.folder / entry['name']} is damaged: it does not belong to this index; copy it again"
            )

    def _stamp_now(self) -> object:
        try:
            status = os.stat(self.manifest)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The lock that only one process holds."""
        path = self.folder / LOCK
        try:
            lock = _locked(path)
        except OSError as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"cannot write {self.folder}: {error.strerror or error}") from error
        try:
            yield
        finally:
            if lock is not None:
                os.close(lock)

    def commit(self, state: State) -> State:
        """Write what is not on disk yet, then the manifest; gives the state as it is on disk. The caller holds the lock."""
        entries = dict(self._manifest()["files"])
        try:
            parts = tuple(self._stored(part, entries) for part in state.parts)
            used = {part.alive_name for part in parts}
            files = {name: entry for name, entry in entries.items() if name[:-4] in used}
            with atomic_file(self.manifest) as new:
                storage.write_header(new, KIND, self._fields(parts, state.next_id), files)
            self._stamp = self._stamp_now()
        finally:
            self._remove_unused()
        return State(parts, state.next_id)

    def _manifest(self) -> dict[str, Any]:
        """The header on disk; an empty one where there is none yet."""
        if not self.manifest.exists():
            return {"segments": [], "files": {}}
        return storage.read_folder(self.folder, KIND, FIELDS).header

    def _fields(self, parts: tuple[Part, ...], next_id: int) -> dict[str, Any]:
        segments = [
            {
                "name": part.name,
                "checksum": part.segment.checksum,
                "alive": part.alive_name or None,
            }
            for part in parts
        ]
        numbers = {"next id": next_id, "next name": self._next_name}
        return {**self.header, **numbers, "segments": segments}

    def _stored(self, part: Part, entries: dict[str, Any]) -> Part:
        if not part.name:
            name = self._new_name("segment")
            part.segment.write(self.folder / name)
            part = replace(part, segment=Segment.read(self.folder / name), name=name)
        if part.alive is not None and not part.alive_name:
            name = self._new_name("alive")
            with atomic_file(self.folder / f"{name}.npy") as new:
                entries[f"{name}.npy"] = storage.write_array(new, part.alive)
            part = replace(part, alive_name=name)
        return part

    def _new_name(self, kind: str) -> str:
        self._next_name += 1
        return f"{kind}-{self._next_name}"

    def _remove_unused(self) -> None:
        """Remove what older commits, failed ones and killed writers left; on Windows, what nobody has open.

        The manifest on disk says what is used: a commit may fail after it was replaced.
        """
        with suppress(OSError), os.scandir(self.folder) as entries:
            header = self._manifest()
            used = {part["name"] for part in header["segments"]} | header["files"].keys()
            for entry in entries:
                if _OURS.fullmatch(entry.name) and entry.name not in used:
                    _remove(Path(entry.path))


def _by_checksum(state: State) -> dict[str, Segment]:
    return {part.segment.checksum: part.segment for part in state.parts}


def _locked(path: Path) -> int | None:
    """The lock, after waiting for another process that has it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return lock_file(path)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise FileError(
                    f"another process is writing to {path.parent}: try again when it has finished"
                ) from None
            time.sleep(0.002)


def lock_file(path: Path) -> int | None:
    """Create a file if it is missing, and lock it until the returned descriptor is closed.

    Returns None on a system or file system without locks.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | os.O_NONBLOCK, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:  # a network file system without locks
        os.close(handle)
        return None
    return handle


def _remove(path: Path) -> None:
    import shutil

    remove: Callable[[Path], Any] = shutil.rmtree if path.is_dir() else os.unlink
    with suppress(OSError):
        remove(path)
