"""What a run remembers: its counts, how far its output got, and what its inputs were."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import IO, Any

import numpy as np

from noppa.errors import FileError
from noppa.files.formats import Batch

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: How many bad rows a run lists.
LISTED = 20
#: Errors of file systems without locks.
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)

#: Size, modification time in nanoseconds, and inode of a file.
FileStatus = list[int]


@dataclass
class Outcome:
    """What a run did.

    Attributes:
        records: Rows read.
        rows: Rows written.
        bad: Bad rows.
        zero: Rows of zeros.
        tokens: Tokens of all texts.
        unknown: Tokens that are not in the vocabulary.
        listed: What is wrong with the first bad rows.
    """

    records: int = 0
    rows: int = 0
    bad: int = 0
    zero: int = 0
    tokens: int = 0
    unknown: int = 0
    listed: list[str] = field(default_factory=list)

    def __add__(self, other: Outcome) -> Outcome:
        """Return the outcome of two runs together."""
        both = {name: value + getattr(other, name) for name, value in vars(self).items()}
        return Outcome(**{**both, "listed": both["listed"][:LISTED]})

    def count(self, batch: Batch) -> None:
        """Count the rows of a batch, good and bad."""
        self.records += len(batch.texts)
        if batch.bad:
            self.bad += len(batch.bad)
            self.listed += [fault for _, fault in batch.bad[: LISTED - len(self.listed)]]


@dataclass(frozen=True)
class Checkpoint:
    """How far a job got.

    Attributes:
        job: Everything that decides the bytes of the output, except the content of the input.
        outcome: The counts so far.
        bytes: How many bytes of the partial output are on the disk.
        fingerprint: The checksum of the rows read so far.
        inputs: The status of each input file.
        finished: Size and modification time of the complete output; None while it is being written.
    """

    job: dict[str, Any]
    outcome: Outcome
    bytes: int
    fingerprint: str
    inputs: dict[str, FileStatus]
    finished: list[int] | None = None

    def write(self, path: Path) -> None:
        """Write the checkpoint atomically."""
        new = path.with_suffix(".new")
        with new.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)

    def is_output(self, path: Path) -> bool:
        """Return whether a file is the finished output of this checkpoint."""
        return self.finished is not None and self.finished == size_and_time(path)


def size_and_time(path: Path) -> list[int] | None:
    """Return the size and the modification time of a file, None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def read_checkpoint(path: Path) -> Checkpoint | None:
    """Return the checkpoint at a path, None if there is no file; raise if no run of this version wrote it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        checkpoint = Checkpoint(**{**content, "outcome": Outcome(**content["outcome"])})
        *counts, listed = vars(checkpoint.outcome).values()
        _, rows, bad, zero, *_ = counts
        is_valid = (
            all(type(count) is int and count >= 0 for count in (*counts, checkpoint.bytes))
            and zero <= rows <= checkpoint.outcome.records >= bad
            and all(type(fault) is str for fault in listed)
            and isinstance(checkpoint.job, dict)
            and isinstance(checkpoint.inputs, dict)
        )
        if not is_valid:
            raise ValueError("its fields contradict each other")
        return checkpoint
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FileError(
            f"{path} is not a valid checkpoint ({error})", "pass overwrite=True to start again"
        ) from error


# Inputs


def remaining_batches(
    batches: Iterator[Batch], done: int, fingerprint: str, target: str
) -> Iterator[Batch]:
    """Yield the batches after the first `done` rows, each with the fingerprint of all rows up to its end.

    A fingerprint does not depend on how rows are divided into batches: it has checksums of all texts and of their lengths.
    Raise if that of the rows that are done differs.
    """
    of_texts, of_lengths = blake2b(digest_size=16), blake2b(digest_size=16)

    def add(texts: list[str | None]) -> str:
        of_texts.update("".join(filter(None, texts)).encode("utf-8", "surrogatepass"))
        lengths = [-1 if text is None else len(text) for text in texts]
        of_lengths.update(np.array(lengths, "<i8").data)
        return of_texts.hexdigest() + of_lengths.hexdigest()

    reached, left, rest = "", done, []
    while left and (batch := next(batches, None)) is not None:
        reached, rest = add(batch.texts[:left]), [batch.slice(left)]
        left -= min(left, len(batch.texts))
    if reached != fingerprint:
        raise FileError(
            f"{target} was started with another input, or rows that were read have changed",
            "use the same input, or pass overwrite=True to start again",
        )
    for batch in chain(rest, batches):
        if batch.texts:
            batch.fingerprint = add(batch.texts)
            yield batch


def file_statuses(paths: Iterable[str]) -> dict[str, FileStatus]:
    """Return the status of each input that is a regular file; pipes and devices change as they are read."""
    statuses = {}
    for path in paths:
        with suppress(OSError):  # reported when it is opened
            status = os.stat(path)
            if stat.S_ISREG(status.st_mode):
                statuses[path] = [status.st_size, status.st_mtime_ns, status.st_ino]
    return statuses


def refuse_changed(before: dict[str, FileStatus]) -> None:
    """Raise if an input was truncated, changed, replaced or removed since `file_statuses`."""
    now = file_statuses(before)
    for path, status in before.items():
        if now.get(path) != status:
            raise FileError(
                f"{path} changed while it was read", "run again when nothing writes to it"
            )


# The partial output


@contextmanager
def locked_file(path: Path, target: str) -> Iterator[IO[bytes]]:
    """Open the file at `path`, created if missing, and lock it; raise if another run holds the lock."""
    while True:
        # O_NOFOLLOW: a symbolic link planted here would let this overwrite its target.
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags, 0o666), "r+b") as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in NO_LOCKS:
                    raise FileError(f"another run is writing {target}", "wait for it") from error
            # The run before may have renamed or removed the file between open and lock.
            if path.exists() and os.path.samestat(os.fstat(file.fileno()), os.lstat(path)):
                yield file
                return
