"""Batches through the model into a file: the next one is read and the last one written while this one is encoded."""

from __future__ import annotations

import copy
import os
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, NoppaWarning
from noppa.files.background import WriteBehind, read_ahead
from noppa.files.batch import Batch
from noppa.files.checkpoint import Checkpoint, Outcome
from noppa.files.write import Writer

SECONDS_BETWEEN_CHECKPOINTS = 1.0
#: How many batches may wait to be written: more would fill the memory when the disk is slow.
PENDING_WRITES = 4

#: Called with the records done and the bytes of input read.
Progress = Callable[[int, int], None]


@dataclass
class EncodeStream:
    """The middle of a job. Counts in `outcome`, and writes checkpoints where it has one to begin with."""

    encode: Callable[..., Any]
    """From texts to vectors, (n, dim) float32."""
    writer: Writer
    file: IO[bytes]
    """What the writer writes to."""
    on_error: str
    outcome: Outcome
    progress: Progress | None = None
    flush: bool = False
    """Flush after each batch, for the reader of a pipe."""
    checkpoint: Checkpoint | None = None
    checkpoint_path: Path = field(default_factory=Path)

    def __post_init__(self) -> None:
        self._last_checkpoint = time.monotonic()
        self._saved: Future[Any] | None = None

    def run(self, batches: Iterator[Batch]) -> str:
        """Encode and write all batches; gives the fingerprint of all records."""
        try:
            fingerprint = self._run(batches)
            self.writer.finish()
        except BaseException:
            self.writer.abandon()
            raise
        return fingerprint

    def _run(self, batches: Iterator[Batch]) -> str:
        outcome = self.outcome
        pending: deque[Future[Any]] = deque()
        fingerprint = ""
        with ExitStack() as stack:
            saver, disk = (stack.enter_context(WriteBehind()) for _ in range(2))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", ".*no known word.*", NoppaWarning)
            for batch in read_ahead(batches):
                fingerprint = batch.fingerprint
                numbers, *rows = self.rows_of(batch)
                outcome.rows += len(numbers)
                pending.append(disk.submit(self.writer.write, numbers + 1, *rows))
                if self.checkpoint is not None:
                    self._save_when_due(self.checkpoint, fingerprint, saver, disk)
                elif self.flush:
                    pending.append(disk.submit(self.file.flush))
                while len(pending) > PENDING_WRITES:
                    pending.popleft().result()
                if self.progress is not None:
                    self.progress(outcome.records, batch.position)
            while pending:
                pending.popleft().result()
            if self._saved is not None:
                self._saved.result()
        return fingerprint

    def rows_of(self, batch: Batch) -> tuple[Any, ...]:
        """What is written for a batch: the numbers of its records from 0 on, a row each, and the records where there are any."""
        first = self.outcome.records
        numbers, texts = self.chosen(batch)
        vectors = self.encode(texts)
        self.outcome.zero += _zero_rows(vectors)
        if batch.records is None:
            return numbers, vectors
        return numbers, vectors, [batch.records[at - first] for at in numbers.tolist()]

    def chosen(self, batch: Batch) -> tuple[NDArray[np.int64], list[str]]:
        """The records of a batch that become rows, by number, and their texts."""
        first = self.outcome.records
        self.outcome.count(batch)
        if batch.bad and self.on_error == "raise":
            raise FileError(
                f"{batch.bad[0][1]}; mend it, or pass --on-error skip or --on-error empty"
            )
        numbers = np.arange(first, self.outcome.records)
        if batch.bad and self.on_error == "skip":
            numbers = np.delete(numbers, [at for at, _ in batch.bad])
            return numbers, [text for text in batch.texts if text is not None]
        return numbers, [text or "" for text in batch.texts]

    def _save_when_due(
        self, started: Checkpoint, fingerprint: str, saver: WriteBehind, disk: WriteBehind
    ) -> None:
        due = time.monotonic() - self._last_checkpoint > SECONDS_BETWEEN_CHECKPOINTS
        if not self.outcome.rows or not due or (self._saved and not self._saved.done()):
            return
        if self._saved is not None:
            self._saved.result()  # raises now, not at the end, where a disk loses data
        self._last_checkpoint = time.monotonic()
        size = disk.submit(self._flushed_size)
        outcome = copy.deepcopy(self.outcome)
        checkpoint = replace(started, outcome=outcome, fingerprint=fingerprint)
        self._saved = saver.submit(self._save, size, checkpoint)

    def _flushed_size(self) -> int:
        self.file.flush()
        return self.file.tell()

    def _save(self, size: Future[int], checkpoint: Checkpoint) -> None:
        """Write a checkpoint once its rows are on the disk; fsync now also leaves little to sync at the end."""
        flushed = size.result()
        os.fsync(self.file.fileno())
        replace(checkpoint, bytes=flushed).write(self.checkpoint_path)


def _zero_rows(vectors: NDArray[np.float32]) -> int:
    """How many rows are all zeros; only rows whose first number is zero are looked at whole."""
    suspects = np.flatnonzero(vectors[:, 0] == 0)
    return len(suspects) - int(np.count_nonzero(vectors[suspects].any(axis=1)))
