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
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, NoppaWarning
from noppa.records.background import WriteBehind, read_ahead
from noppa.records.batch import Batch
from noppa.records.checkpoint import Checkpoint, Outcome
from noppa.records.record_file import STDIN

if TYPE_CHECKING:
    from noppa.records.job import Job

SECONDS_BETWEEN_CHECKPOINTS = 1.0
#: How many batches may wait to be written: more would fill the memory when the disk is slow.
PENDING_WRITES = 4

#: Called with the records done and the bytes of input read.
Progress = Callable[[int, int], None]


class EncodeStream:
    """The middle of a job: counts in `outcome`, and writes checkpoints where it has one to begin with."""

    def __init__(
        self, job: Job, file: IO[bytes], outcome: Outcome, checkpoint: Checkpoint | None = None
    ) -> None:
        self.job, self.file, self.outcome, self.checkpoint = job, file, outcome, checkpoint
        self.last_checkpoint = time.monotonic()
        self.saved: Future[Any] | None = None

    def run(self, batches: Iterator[Batch]) -> str:
        """Encode and write all batches; gives the fingerprint of all records."""
        job, outcome = self.job, self.outcome
        writer = job.writer(self.file, job.dim, outcome.rows)
        pending: deque[Future[Any]] = deque()
        fingerprint = ""
        with ExitStack() as stack:
            saver, disk = (stack.enter_context(WriteBehind()) for _ in range(2))
            stack.enter_context(warnings.catch_warnings())
            warnings.filterwarnings("ignore", ".*no known word.*", NoppaWarning)
            for batch in read_ahead(batches):
                fingerprint = batch.fingerprint
                numbers, texts = self._chosen(batch)
                vectors = job.model.encode(texts, job.threads, **job.options)
                outcome.rows += len(vectors)
                outcome.zero += _zero_rows(vectors)
                pending.append(disk.submit(writer.write, numbers, vectors))
                if self.checkpoint is not None:
                    self._save_when_due(self.checkpoint, fingerprint, saver, disk)
                elif job.target == STDIN:
                    pending.append(disk.submit(self.file.flush))
                while len(pending) > PENDING_WRITES:
                    pending.popleft().result()
                if job.progress is not None:
                    job.progress(outcome.records, batch.position)
            while pending:
                pending.popleft().result()
            if self.saved is not None:
                self.saved.result()
        writer.finish()
        return fingerprint

    def _chosen(self, batch: Batch) -> tuple[NDArray[np.int64], list[str]]:
        """The records of a batch that become rows, by number, and their texts."""
        on_bad = self.job.on_bad
        first = self.outcome.records
        self.outcome.count(batch)
        if batch.bad and on_bad == "error":
            raise FileError(f"{batch.bad[0][1]}; mend it, or pass --on-bad skip or --on-bad empty")
        numbers = np.arange(first, self.outcome.records)
        if batch.bad and on_bad == "skip":
            numbers = np.delete(numbers, [at for at, _ in batch.bad])
            return numbers, [text for text in batch.texts if text is not None]
        return numbers, [text or "" for text in batch.texts]

    def _save_when_due(
        self, started: Checkpoint, fingerprint: str, saver: WriteBehind, disk: WriteBehind
    ) -> None:
        due = time.monotonic() - self.last_checkpoint > SECONDS_BETWEEN_CHECKPOINTS
        if not self.outcome.rows or not due or (self.saved and not self.saved.done()):
            return
        if self.saved is not None:
            self.saved.result()  # raises now, not at the end, where a disk loses data
        self.last_checkpoint = time.monotonic()
        size = disk.submit(self._flushed_size)
        outcome = copy.deepcopy(self.outcome)
        checkpoint = replace(started, outcome=outcome, fingerprint=fingerprint)
        self.saved = saver.submit(self._save, size, checkpoint)

    def _flushed_size(self) -> int:
        self.file.flush()
        return self.file.tell()

    def _save(self, size: Future[int], checkpoint: Checkpoint) -> None:
        """Write a checkpoint once its rows are on the disk; fsync now also leaves little to sync at the end."""
        flushed = size.result()
        os.fsync(self.file.fileno())
        replace(checkpoint, bytes=flushed).write(self.job.checkpoint)


def _zero_rows(vectors: NDArray[np.float32]) -> int:
    """How many rows are all zeros; only rows whose first number is zero are looked at whole."""
    suspects = np.flatnonzero(vectors[:, 0] == 0)
    return len(suspects) - int(np.count_nonzero(vectors[suspects].any(axis=1)))
