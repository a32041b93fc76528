"""How far a run got, in a file beside its output: written atomically, and validated when it is read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from noppa.errors import FileError
from noppa.files.batch import Batch

#: How many bad records a run lists.
LISTED = 20


@dataclass
class Outcome:
    """What a run did: records read, rows written, bad records and the first faults, rows of zeros, tokens and unknown ones."""

    records: int = 0
    rows: int = 0
    bad: int = 0
    zero: int = 0
    tokens: int = 0
    unknown: int = 0
    listed: list[str] = field(default_factory=list)

    def count(self, batch: Batch) -> None:
        """Add the records of a batch, good and bad."""
        self.records += len(batch.texts)
        self.bad += len(batch.bad)
        self.listed += [fault for _, fault in batch.bad[: LISTED - len(self.listed)]]


@dataclass(frozen=True)
class Checkpoint:
    """A job, how far it got, and how many bytes of its partial output have reached the disk."""

    job: dict[str, Any]
    """All that decides the bytes of the output, except the content of the input."""
    outcome: Outcome
    bytes: int
    fingerprint: str
    """Of the records that were read."""
    inputs: dict[str, list[int]]
    """Size, time and inode of each input file."""
    finished: list[int] | None = None
    """Size and modification time of the complete output; None while it is being written."""

    def write(self, path: Path) -> None:
        new = path.with_suffix(".new")
        with new.open("w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)

    def is_output(self, path: Path) -> bool:
        """Whether the file is the finished output of this checkpoint."""
        return self.finished is not None and self.finished == size_and_time(path)


def size_and_time(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def read_checkpoint(path: Path) -> Checkpoint | None:
    """The checkpoint at a path, None where there is no file; raises for a file that no run wrote."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return _validated(content)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(
            f"{path} is no checkpoint to go on from ({error}): pass --overwrite to begin anew"
        ) from error


def _validated(content: Any) -> Checkpoint:
    _require(isinstance(content, dict), "it is not an object")
    names = {entry.name for entry in fields(Checkpoint)}
    _require(set(content) == names, "it was written by another version of noppa")
    outcome = content["outcome"]
    _require(isinstance(content["job"], dict), "its job is not an object")
    _require(isinstance(outcome, dict), "its outcome is not an object")
    _require(set(outcome) == {entry.name for entry in fields(Outcome)}, "its outcome is incomplete")
    listed = outcome["listed"]
    _require(
        isinstance(listed, list) and all(type(one) is str for one in listed), "its list is odd"
    )
    counts = {**outcome, "bytes": content["bytes"], "listed": 0}
    for name, value in counts.items():
        _require(type(value) is int and value >= 0, f"its {name} is {value!r:.40}")
    _require(outcome["rows"] <= outcome["records"] >= outcome["bad"], "its counts contradict")
    _require(outcome["zero"] <= outcome["rows"], "its counts contradict")
    _require(isinstance(content["fingerprint"], str), "its fingerprint is no text")
    _require(isinstance(content["inputs"], dict), "its inputs are not an object")
    finished = content["finished"]
    _require(finished is None or isinstance(finished, list), "its end is no list")
    return Checkpoint(**{**content, "outcome": Outcome(**outcome)})


def _require(holds: bool, fault: str) -> None:
    if not holds:
        raise ValueError(fault)
