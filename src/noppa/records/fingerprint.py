"""Whether an input is still what it was: a checksum of its records for a resume, its file's facts during a run."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from hashlib import blake2b

import numpy as np

from noppa.errors import FileError
from noppa.records.batch import STDIN, Batch

#: Size, time of the last change in nanoseconds, and inode of a file.
Facts = list[int]


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


def after(batches: Iterable[Batch], records: int, fingerprint: str, target: str) -> Iterator[Batch]:
    """The records behind the first `records`, which must be those that the fingerprint was taken of.

    Each batch is given the fingerprint of all records up to its end.
    """
    seen, left = Fingerprint(), records
    for batch in batches:
        if left:
            seen.update(batch.texts[:left])
            batch, left = batch.after(left), max(0, left - len(batch.texts))
            if left:
                continue
            _compare(seen, fingerprint, target)
        if batch.texts:
            seen.update(batch.texts)
            batch.fingerprint = seen.hexdigest()
            yield batch
    if left:
        _compare(seen, fingerprint, target)


def _compare(seen: Fingerprint, fingerprint: str, target: str) -> None:
    if seen.hexdigest() != fingerprint:
        raise FileError(
            f"{target} was begun with another input, or it has changed where it was read already: "
            "give the same again, or pass --overwrite to begin anew"
        )


def facts_of(paths: Iterable[str]) -> dict[str, Facts]:
    """The facts of each input that is a plain file: pipes and devices change as they are read."""
    facts = {}
    for path in paths:
        if path != STDIN:
            with suppress(OSError):  # opening it says what is wrong
                found = os.stat(path)
                if stat.S_ISREG(found.st_mode):
                    facts[path] = [found.st_size, found.st_mtime_ns, found.st_ino]
    return facts


def refuse_changed(before: dict[str, Facts]) -> None:
    """Refuse the result of a run whose input was cut, changed, replaced or removed under it."""
    now = facts_of(before)
    for path, facts in before.items():
        if now.get(path) != facts:
            raise FileError(
                f"{path} was changed while it was read: run again when nothing writes to it"
            )
