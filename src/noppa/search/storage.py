"""An index on disk: immutable segments, files with their live rows, and one manifest.

DIR/noppa.json       the manifest: the encoder, and the segments in order; replacing it is the commit
DIR/segment-3/       a segment, written and synced before a manifest names it, removed after none does
DIR/alive-4.npy      the rows of a segment that were not deleted, (rows,); without it, all rows are alive
DIR/writer.lock      locked by the one process that writes

A process that dies at any moment leaves the manifest of the last commit and, at most, files that no manifest names. The next
commit removes those.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from noppa.encoder.models import Model, resolve_model
from noppa.encoder.storage import FOLDER, HUB, MEMORY, PRESET, Identity
from noppa.errors import FileError, ParameterError
from noppa.io import schema, storage
from noppa.io.atomic import atomic_file, remove
from noppa.io.schema import Check
from noppa.parameters import MOST_DIMENSIONS, short_repr
from noppa.search.segment import Part, Segment, State
from noppa.search.vectors import DTYPES

KIND = "text index"
LOCK = "writer.lock"
#: Seconds that a writer waits for another one to finish.
PATIENCE = 10.0
MOST_NUMBER = 1 << 53
_SEGMENT, _ALIVE = re.compile(r"segment-\d{1,16}"), re.compile(r"alive-\d{1,16}")
#: The files that commits write, and their names in `atomic` before they are complete.
_OURS = re.compile(
    r"segment-\d+|alive-\d+\.npy|\.(segment-\d+|alive-\d+\.npy|noppa\.json)\.[0-9a-f]{8}\.unfinished"
)


def _is_part(entry: Any) -> bool:
    if type(entry) is not dict or not schema.is_checksum(entry.get("checksum")):
        return False
    name, alive = str(entry.get("name")), entry.get("alive")
    return bool(_SEGMENT.fullmatch(name) and (alive is None or _ALIVE.fullmatch(str(alive))))


ENCODER_FIELDS: dict[str, Check] = {
    "encoder": schema.is_text,
    "encoder kind": schema.one_of((PRESET, FOLDER, HUB)),
    "encoder checksum": schema.is_checksum,
    "?encoder tokenizer": schema.is_text,
}
FIELDS: dict[str, Check] = {
    **ENCODER_FIELDS,
    "dim": schema.whole(1, MOST_DIMENSIONS),
    "dtype": schema.one_of(tuple(DTYPES)),
    "next id": schema.whole(0, MOST_NUMBER),
    "next name": schema.whole(0, MOST_NUMBER),
    "segments": lambda value: type(value) is list and all(map(_is_part, value)),
}
ENCODER_NAMES = tuple(name.lstrip("?") for name in ENCODER_FIELDS)
#: The fields that never change.
FIXED = (*ENCODER_NAMES, "dim", "dtype")


def encoder_fields(encoder: Any) -> dict[str, str]:
    """Return the header fields that name an encoder; a preset is named, since its path differs between machines."""
    identity: Identity | None = getattr(encoder, "identity", None)
    if identity is None or identity.kind == MEMORY:
        raise ParameterError(
            f"an index on disk refers to its encoder by name, and {short_repr(encoder)} is only in memory",
            "save it and load it again, or use an index in memory: noppa.Index(model)",
        )
    fields = {
        "encoder": identity.name,
        "encoder kind": identity.kind,
        "encoder checksum": identity.checksum,
    }
    return fields | ({"encoder tokenizer": identity.tokenizer} if identity.tokenizer else {})


def open_encoder(header: Mapping[str, Any], folder: Path, model: Model | None = None) -> Any:
    """Return the encoder that made an index, or the given one if it is the same."""
    name, tokenizer = header["encoder"], header.get("encoder tokenizer", "")
    try:
        encoder = resolve_model(name if model is None else model, tokenizer=tokenizer or None)
    except FileError as error:
        if model is not None:
            raise
        raise FileError(
            f"{folder} was made with the encoder {name}, which cannot be loaded here ({error})",
            "give the folder of the same encoder as model",
        ) from error
    fields = encoder_fields(encoder)
    if fields.get("encoder tokenizer", "") != tokenizer:
        made_with = f"the tokenizer {tokenizer}" if tokenizer else "the tokenizer of its encoder"
    elif fields["encoder checksum"] == header["encoder checksum"]:
        return encoder
    elif model is None and header["encoder kind"] == PRESET:
        made_with = f"the preset {name} of another version of noppa"
    else:
        other = model if isinstance(model, str) else fields["encoder"]
        made_with = f"another encoder than {other}"
    raise FileError(f"{folder} was made with {made_with}", "use that, or build the index again")


class IndexStorage:
    """The folder of an index.

    header: the fields of `FIXED` for a new folder; `read` sets them from an existing one.
    """

    def __init__(self, folder: Path, header: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.manifest = folder / storage.HEADER
        self.header = dict(header or {})
        self._next_name = 0
        self._stamp: object = None

    def create(self, state: State) -> State:
        """Make the folder, unless another process was faster, and return its state."""
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            reason = error.strerror or error
            raise FileError(f"cannot make the folder {self.folder}: {reason}") from error
        with self.lock():
            return self.read() if self.manifest.exists() else self.commit(state)

    # Reading

    def refresh(self, state: State) -> State:
        """Return the state on disk: the given one, unless another process has committed since."""
        return state if self._stamp == self._current_stamp() else self.read(state)

    def _current_stamp(self) -> object:
        try:
            status = os.stat(self.manifest)
        except OSError:
            return None
        return status.st_ino, status.st_mtime_ns, status.st_size

    def read(self, before: State | None = None) -> State:
        """Read the last commit; segments that `before` has open are not opened again."""
        segments = {part.segment.checksum: part.segment for part in before.parts} if before else {}
        for _ in range(storage.ATTEMPTS):
            stamp = self._current_stamp()
            folder = storage.read_folder(self.folder, KIND, FIELDS)
            try:
                state = self._open(folder, segments)
            except FileError:
                if storage.header_checksum(self.folder) != folder.header_checksum:
                    continue  # a new commit removed what this manifest names
                raise
            self._stamp, self._next_name = stamp, folder.header["next name"]
            return state
        raise FileError(f"{self.folder} keeps changing", "read it when fewer processes write to it")

    def _open(self, folder: storage.Folder, segments: Mapping[str, Segment]) -> State:
        fixed = {name: folder.header[name] for name in FIXED if name in folder.header}
        if self.header and fixed != self.header:
            raise FileError(f"{self.folder} was rebuilt with another encoder", "open it again")
        parts = []
        for entry in folder.header["segments"]:
            name, alive_name = entry["name"], entry["alive"]
            segment = segments.get(entry["checksum"])
            if segment is None:
                if not (self.folder / name).is_dir():
                    raise FileError(f"{self.folder} is damaged: {name} is missing", "copy it again")
                segment = Segment.open(self.folder / name)
            expected = (entry["checksum"], fixed["dim"], fixed["dtype"])
            if (segment.checksum, segment.dim, segment.dtype) != expected:
                raise FileError(
                    f"{self.folder / name} is damaged: it does not belong to this index",
                    "copy it again",
                )
            alive = None
            if alive_name:
                alive = folder.read({alive_name: "b1 rows"}, {"rows": segment.count})[alive_name]
            parts.append(Part(segment, alive, name, alive_name or ""))
        self.header = fixed
        return State(tuple(parts), folder.header["next id"])

    # Writing

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Hold the lock of the writer, after waiting some seconds for another process that has it."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                handle = _lock_file(self.folder / LOCK)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise FileError(
                        f"another process is writing to {self.folder}", "try again later"
                    ) from None
                time.sleep(0.002)
            except OSError as error:
                raise FileError(f"cannot write {self.folder}: {error.strerror or error}") from error
        try:
            yield
        finally:
            if handle is not None:
                os.close(handle)

    def commit(self, state: State) -> State:
        """Write what is not on disk yet, then the manifest; return the state on disk. The caller holds the lock."""
        files = dict(self._read_manifest()["files"])
        try:
            parts = tuple(self._write_part(part, files) for part in state.parts)
            used = {f"{part.alive_name}.npy" for part in parts}
            fields = {
                **self.header,
                "next id": state.next_id,
                "next name": self._next_name,
                "segments": [
                    {
                        "name": part.name,
                        "checksum": part.segment.checksum,
                        "alive": part.alive_name or None,
                    }
                    for part in parts
                ],
            }
            files = {name: entry for name, entry in files.items() if name in used}
            with atomic_file(self.manifest) as new:
                storage.write_header(new, KIND, fields, files)
            self._stamp = self._current_stamp()
        finally:
            self._remove_unused()
        return State(parts, state.next_id)

    def _read_manifest(self) -> dict[str, Any]:
        if not self.manifest.exists():
            return {"segments": [], "files": {}}
        return storage.read_folder(self.folder, KIND, FIELDS).header

    def _write_part(self, part: Part, files: dict[str, Any]) -> Part:
        if not part.name:
            name = self._new_name("segment")
            part.segment.write(self.folder / name)
            part = replace(part, segment=Segment.open(self.folder / name), name=name)
        if part.alive is not None and not part.alive_name:
            name = self._new_name("alive")
            with atomic_file(self.folder / f"{name}.npy") as new:
                files[f"{name}.npy"] = storage.write_array(new, part.alive)
            part = replace(part, alive_name=name)
        return part

    def _new_name(self, kind: str) -> str:
        self._next_name += 1
        return f"{kind}-{self._next_name}"

    def _remove_unused(self) -> None:
        """Remove what older commits, failed commits and killed writers left; on Windows, unless it is open.

        The manifest on disk decides: a commit may fail after the manifest was replaced.
        """
        with suppress(OSError), os.scandir(self.folder) as entries:
            header = self._read_manifest()
            used = {part["name"] for part in header["segments"]} | header["files"].keys()
            for entry in entries:
                if _OURS.fullmatch(entry.name) and entry.name not in used:
                    remove(Path(entry.path))


def _lock_file(path: Path) -> int | None:
    """Create a file if it is missing, and lock it until the returned descriptor is closed; None if there are no locks.

    Raises:
        BlockingIOError: another process holds the lock.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), 0o666)
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except (ImportError, OSError):  # Windows, or a network file system without locks
        os.close(handle)
        return None
    return handle
