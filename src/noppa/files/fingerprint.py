"""Whether an input has changed: a checksum of its records for a resume, its file's status during a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b

import numpy as np

from noppa.errors import FileError
from noppa.files.batch import Batch
from noppa.files.record_file import STDIN

#: Size, modification time in nanoseconds, and inode of a file.
FileStatus = list[int]


class Fingerprint:
    """A running checksum of records, the same however they are cut into batches."""

    def __init__(self) -> None:
        self._texts, self._lengths = blake2b(digest_size=16), blake2b(digest_size=16)

    def update(self, texts: list[str | None]) -> None:
        lengths = (-1 if text is None else len(text) for text in texts)
        self._lengths.update(np.fromiter(lengths, "<i8", len(texts)).data)
        joined = "".join([text or "" for text in texts])
        self._texts.update(joined.encode("utf-8", "surrogatepass"))

    def hexdigest(self) -> str:
        return self._texts.hexdigest() + self._lengths.hexdigest()


def remaining_batches(
    batches: Iterable[Batch], records: int, fingerprint: str, target: str
) -> Iterator[Batch]:
    """The batches behind the first `records` records, whose fingerprint must be the one given.

    Each batch gets the fingerprint of all records up to its end.
    """
    running, left = Fingerprint(), records
    for batch in batches:
        if left:
            running.update(batch.texts[:left])
            batch, left = batch.after(left), max(0, left - len(batch.texts))
            if left:
                continue
            _compare(running, fingerprint, target)
        if batch.texts:
            running.update(batch.texts)
            batch.fingerprint = running.hexdigest()
            yield batch
    if left:
        _compare(running, fingerprint, target)


def _compare(running: Fingerprint, fingerprint: str, target: str) -> None:
    if running.hexdigest() != fingerprint:
        raise FileError(
            f"{target} was begun with another input, or it has changed where it was read already: "
            "give the same again, or pass --overwrite to begin anew"
        )


def file_statuses(paths: Iterable[str]) -> dict[str, FileStatus]:
    """The status of each input that is a regular file; pipes and devices change as they are read."""
    statuses = {}
    for path in paths:
        if path != STDIN:
            with suppress(OSError):  # reported when it is opened
                status = os.stat(path)
                if stat.S_ISREG(status.st_mode):
                    statuses[path] = [status.st_size, status.st_mtime_ns, status.st_ino]
    return statuses


def refuse_changed(before: dict[str, FileStatus]) -> None:
    """Refuse the result of a run whose input was cut, changed, replaced or removed meanwhile."""
    now = file_statuses(before)
    for path, status in before.items():
        if now.get(path) != status:
            raise FileError(
                f"{path} was changed while it was read: run again when nothing writes to it"
            )
