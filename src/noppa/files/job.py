"""Encode or label the rows of an input into an output file, with checkpoints to resume from.

    read ahead (a thread) -> encode or predict -> write behind (a thread)

The output is written as `.NAME.partial`, and renamed when it is complete. `.NAME.checkpoint` records how far it got.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from noppa import __version__
from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaError, NoppaWarning, ParameterError
from noppa.files.checkpoint import (
    Checkpoint,
    FileStatus,
    Outcome,
    file_statuses,
    locked_file,
    read_checkpoint,
    refuse_changed,
    remaining_batches,
    size_and_time,
)
from noppa.files.formats import LISTED, Batch, Input, Record
from noppa.files.inputs import STDIN
from noppa.files.read import ON_ERROR, read, read_ahead
from noppa.files.write import RECORD, VECTOR, WRITERS, Records
from noppa.io.atomic import sync
from noppa.io.paths import folders_of, refuse_input_as_output
from noppa.io.storage import header_checksum
from noppa.parameters import one_of
from noppa.words.coverage import KnownShare

if TYPE_CHECKING:
    from noppa.classify.classifier import Classifier

#: How many words are encoded to identify a model that was never saved.
PROBED_WORDS = 1000
SECONDS_BETWEEN_CHECKPOINTS = 1.0
#: How many batches may wait to be written: more would fill the memory if the disk is slow.
PENDING_WRITES = 4
PROBABILITY = "probability"

#: Called with the rows done and the bytes of input read.
Progress = Callable[[int, int], None]


@dataclass
class Job:
    """Encode an input into a file, which gets its name only when it is complete.

    Attributes:
        model: Anything with `encode`.
        source: The input.
        target: The output file; `-` is standard output.
        format: One of `WRITERS`; None decides by the name of `target`.
        on_error: What to do with a row without a text: "raise", "skip" to leave it out, "empty" for a row of zeros.
        resume: Continue an interrupted run.
        overwrite: Replace what is there, finished or not.
        threads: For encoding.
        options: More arguments of `encode`: `normalize`, `dim`.
        keep: Columns of the input to write too; None for all of them.
        progress: Is called with the rows done and the bytes read.
    """

    model: Any
    source: Input
    target: str
    format: str | None = None
    on_error: str = "raise"
    resume: bool = False
    overwrite: bool = False
    threads: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    keep: Sequence[str] | None = ()
    progress: Progress | None = None

    def __post_init__(self) -> None:
        one_of(self.on_error, "on_error", ON_ERROR)
        one_of(self.format, "format", (None, *WRITERS))
        target = Path(self.target)
        if self.format is None:
            self.format = "jsonl" if self.target == STDIN else target.suffix.removeprefix(".")
        if self.format not in WRITERS:
            raise ParameterError(
                f"{target}: the name must end in {', '.join('.' + name for name in WRITERS)}",
                "or pass format=",
            )
        self.writer = WRITERS[self.format]
        self.partial = target.with_name(f".{target.name}.partial")
        self.checkpoint = self.partial.with_suffix(".checkpoint")
        if self.format == "npy" and (self.keep != () or not self.dim):
            raise ParameterError(
                f"{self.target}: .npy contains vectors only", "write .jsonl, .csv or .parquet"
            )
        if self.keep != ():
            self.source = replace(self.source, records=True)
        if self.target == STDIN and not self.writer.streams:
            raise ParameterError(
                f"{self.format} cannot be written to standard output", "name a file"
            )
        if self.resume and (self.target == STDIN or not self.writer.resumable):
            raise ParameterError(
                "only .npy, .jsonl and .csv files can be resumed",
                "choose one of them, or leave out resume=True",
            )
        if self.resume and self.overwrite:
            raise ParameterError("resume=True and overwrite=True contradict each other")
        if self.target != STDIN:
            if not target.absolute().parent.is_dir():
                raise FileError(f"cannot write {target}: its folder does not exist")
            if target.exists() and not target.is_file():
                kind = "a folder" if target.is_dir() else "not a regular file"
                raise FileError(f"cannot write {target}: it is {kind}")
        inputs = [*self.source.paths, *self.model_folders]
        for path in (self.target, self.partial):
            refuse_input_as_output(path, inputs)

    @property
    def model_folders(self) -> list[Path | None]:
        """Folders that the model is mapped from, which must not be written to."""
        return folders_of(self.model)

    @property
    def dim(self) -> int:
        """The width of the vectors; 0 if there are none."""
        return int(self.options.get("dim") or self.model.dim)

    @property
    def model_checksum(self) -> str:
        """A checksum that identifies the model."""
        if self.model.identity.fingerprint:
            return str(self.model.identity.fingerprint)
        # A model in memory is identified by the vectors of its own words.
        rows = np.arange(min(PROBED_WORDS, len(self.model.words)), dtype=np.int32)
        vectors, _ = self.model.encode_ids(rows, np.arange(len(rows) + 1), 1)
        return hashlib.sha256(repr(self.model).encode() + vectors.tobytes()).hexdigest()

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Everything that decides the bytes of the output, except the content of the input; by its name in messages."""
        source = self.source
        facts = {
            "input": list(source.paths),
            "input format": [
                source.format,
                source.column,
                source.header,
                source.encoding,
                source.delimiter,
            ],
            "columns to keep": self.keep,
            "output format": self.format,
            "options": [self.on_error, self.options],
            "model": self.model_checksum,
            "version of noppa": [__version__, kernels.instruction_set()],
        }
        # As a checkpoint returns them: JSON has lists for tuples.
        plain: dict[str, Any] = json.loads(json.dumps(facts, default=repr))
        return plain

    def run(self) -> Outcome:
        """Write the output, or what an earlier run left to do."""
        inputs = file_statuses(self.source.paths)
        if self.target == STDIN:
            outcome = Outcome()
            with _disk_errors("standard output"):
                self._stream(sys.stdout.buffer, outcome, read(self.source))
                sys.stdout.buffer.flush()
            refuse_changed(inputs)
            return outcome
        with _disk_errors(self.target), locked_file(self.partial, self.target) as file:
            try:
                earlier = self._earlier(file)
            except BaseException:
                if not os.fstat(file.fileno()).st_size:
                    self.partial.unlink()
                raise
            if earlier is not None and earlier.finished is not None:
                return self._complete(earlier)
            try:
                return self._write(file, earlier, inputs)
            except BaseException:
                if not self.resume or not self.checkpoint.exists():
                    for path in (
                        self.partial,
                        self.checkpoint,
                        self.checkpoint.with_suffix(".new"),
                    ):
                        path.unlink(missing_ok=True)
                raise

    def _write(
        self, file: IO[bytes], earlier: Checkpoint | None, inputs: dict[str, FileStatus]
    ) -> Outcome:
        """Write the output from its start, or from the checkpoint of an earlier run."""
        if earlier is None:
            self.checkpoint.unlink(missing_ok=True)
            earlier = Checkpoint(self.facts, Outcome(), 0, "", inputs)
        outcome = earlier.outcome
        file.truncate(earlier.bytes)
        file.seek(earlier.bytes)
        started = replace(earlier, inputs=inputs)
        if self.writer.resumable:
            batches = remaining_batches(
                read(self.source), outcome.records, earlier.fingerprint, self.target
            )
            fingerprint = self._stream(file, outcome, batches, started)
        else:
            fingerprint = self._stream(file, outcome, read(self.source))
        file.flush()
        os.fsync(file.fileno())
        refuse_changed(inputs)
        finished = size_and_time(self.partial)
        return self._complete(
            replace(started, outcome=outcome, bytes=0, fingerprint=fingerprint, finished=finished)
        )

    def _complete(self, checkpoint: Checkpoint) -> Outcome:
        """Rename the complete output; with `resume` its checkpoint stays, by which a later run recognizes it."""
        if checkpoint.is_output(Path(self.target)):
            self.partial.unlink()
        else:
            if self.writer.resumable:
                checkpoint.write(self.checkpoint)
            os.replace(self.partial, self.target)
            with suppress(OSError):  # the output is complete
                sync(self.partial.absolute().parent)
        if not self.resume:
            self.checkpoint.unlink(missing_ok=True)
        return checkpoint.outcome

    # Encoding

    def _stream(
        self,
        file: IO[bytes],
        outcome: Outcome,
        batches: Iterator[Batch],
        started: Checkpoint | None = None,
    ) -> str:
        """Encode and write all batches; return the fingerprint of all rows."""
        writer = self.writer(file, self.dim, outcome.rows)
        share = self.model.known_share() if isinstance(self.model, Encoder) else None
        fingerprint, last_checkpoint = "", time.monotonic()
        pending: deque[Future[None]] = deque()
        try:
            with _WriteBehind(1) as disk, warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*no known word.*", NoppaWarning)
                for batch in read_ahead(batches):
                    fingerprint = batch.fingerprint
                    numbers, texts, records = self._select(batch, outcome)
                    rows, vectors = self._process(texts, records, outcome, share)
                    outcome.rows += len(numbers)
                    pending.append(disk.submit(disk.run, writer.write, numbers, rows, vectors))
                    if self.target == STDIN:
                        pending.append(disk.submit(disk.run, file.flush))
                    now = time.monotonic()
                    if (
                        started
                        and outcome.rows
                        and now - last_checkpoint > SECONDS_BETWEEN_CHECKPOINTS
                    ):
                        last_checkpoint = now
                        reached = replace(
                            started, outcome=copy.deepcopy(outcome), fingerprint=fingerprint
                        )
                        pending.append(disk.submit(disk.run, self._save, file, reached))
                    while len(pending) > PENDING_WRITES:
                        pending.popleft().result()
                    if self.progress is not None:
                        self.progress(outcome.records, batch.position)
                while pending:
                    pending.popleft().result()
            writer.finish()
        except BaseException:
            writer.abandon()
            raise
        return fingerprint

    def _select(
        self, batch: Batch, outcome: Outcome
    ) -> tuple[NDArray[np.int64], list[str], Records]:
        """Return the numbers, texts and records of the rows that are written."""
        is_first, first = not outcome.records, outcome.records + 1
        outcome.count(batch)
        rows = batch.rows(self.on_error)
        numbers = first + np.array(rows, np.int64)
        texts, records = [batch.texts[row] or "" for row in rows], None
        if batch.records is not None:
            kept = [batch.records[row] for row in rows]
            records = self._keep(kept, numbers, is_first)
        return numbers, texts, records

    def _keep(
        self, records: list[Record], numbers: NDArray[np.int64], is_first: bool
    ) -> list[Record]:
        """Return the columns to write: the number of each row, and those that are kept."""
        if is_first and records:
            names = list(dict.fromkeys(name for record in records for name in record))
            keep = names if self.keep is None else self.keep
            if unknown := next((name for name in keep if name not in names), None):
                raise ParameterError(
                    f"there is no column {unknown!r} to keep",
                    f"the input has {', '.join(names[:LISTED])}",
                )
            columns = range(self.dim if self.format == "csv" else 0)
            _check_new_columns({RECORD, VECTOR, *(f"v{column}" for column in columns)}, keep)
        rows = zip(numbers.tolist(), records, strict=True)
        if self.keep is None:
            return [{RECORD: number, **record} for number, record in rows]
        return [
            {RECORD: number, **{name: record.get(name) for name in self.keep}}
            for number, record in rows
        ]

    def _process(
        self, texts: list[str], records: Records, outcome: Outcome, share: KnownShare | None
    ) -> tuple[Records, Any]:
        """Return the rows and vectors to write; count tokens and rows of zeros."""
        if share is None:
            vectors = np.asarray(self.model.encode(texts, threads=self.threads, **self.options))
        else:
            encoded = self.model.encode_counted(texts, self.threads, share=share, **self.options)
            share.warn_if_few()
            tokens, vectors = int(encoded.tokens.sum()), encoded.vectors
            outcome.tokens += tokens
            outcome.unknown += tokens - int(encoded.known.sum())
        suspects = vectors[vectors[:, 0] == 0]
        outcome.zero += len(suspects) - int(np.count_nonzero(suspects.any(axis=1)))
        return records, vectors

    def _save(self, file: IO[bytes], checkpoint: Checkpoint) -> None:
        """Write a checkpoint once its rows are on the disk."""
        file.flush()
        os.fsync(file.fileno())
        replace(checkpoint, bytes=file.tell()).write(self.checkpoint)

    # What an earlier run left

    def _earlier(self, file: IO[bytes]) -> Checkpoint | None:
        """Return the checkpoint to resume from, None to start; raise if the user has to choose."""
        target = Path(self.target)
        if self.overwrite:
            return None
        checkpoint = read_checkpoint(self.checkpoint)
        size = os.fstat(file.fileno()).st_size
        if checkpoint is not None and not size and not checkpoint.is_output(target):
            checkpoint = None  # its output is gone
        if checkpoint is not None and self.resume:
            self._compare(checkpoint)
            is_complete = checkpoint.is_output(target) or checkpoint.is_output(self.partial)
            done = checkpoint.outcome.rows, checkpoint.bytes
            fits = size >= checkpoint.bytes and self.writer.fits(file, self.dim, *done)
            if not is_complete and (checkpoint.finished or not fits):
                raise FileError(
                    f"{self.partial} does not match its checkpoint",
                    "pass overwrite=True to start again",
                )
            return checkpoint
        if checkpoint is not None and not checkpoint.is_output(target):
            raise FileError(
                f"{self.target} was started, and {checkpoint.outcome.rows:,} rows are done",
                "pass resume=True to continue, or overwrite=True to start again",
            )
        if os.path.lexists(target):
            unknown = " and is not the output of this job" if self.resume else ""
            raise FileError(f"{self.target} exists{unknown}", "pass overwrite=True to replace it")
        return None

    def _compare(self, checkpoint: Checkpoint) -> None:
        """Raise if the checkpoint is that of another job, or of a finished one whose input has changed."""
        for name, fact in self.facts.items():
            if checkpoint.job.get(name) != fact:
                raise FileError(
                    f"{self.target} was started with a different {name}",
                    "use the same again, or pass overwrite=True to start again",
                )
        if checkpoint.is_output(Path(self.target)):
            for path, status in file_statuses(self.source.paths).items():
                if checkpoint.inputs.get(path) != status:
                    raise FileError(
                        f"{path} has changed since {self.target} was written",
                        "pass overwrite=True to write it again",
                    )


@dataclass
class PredictJob(Job):
    """Label an input: write all its columns, the label and its probability.

    Attributes:
        folder: Where `model`, a `Classifier`, was loaded from.
        columns: The columns with the texts, two for a classifier of pairs.
        into: The column for the label.
        every: Whether to write the probability of every class, in a column named after it.
    """

    folder: Path = field(default_factory=Path)
    columns: Sequence[str | None] = (None,)
    into: str = "predicted"
    every: bool = False

    def __post_init__(self) -> None:
        paired = self.model.contents.features.paired
        if len(self.columns) != 1 + paired:
            raise ParameterError(
                f"the model was trained on {'pairs' if paired else 'single texts'}",
                f"name {'two columns' if paired else 'one column'}",
            )
        self.source = replace(self.source, column=self.columns[0], records=True)
        super().__post_init__()

    @property
    def model_folders(self) -> list[Path | None]:
        return [self.folder]

    @property
    def dim(self) -> int:
        return 0

    @property
    def model_checksum(self) -> str:
        return header_checksum(self.folder)

    @cached_property
    def facts(self) -> dict[str, Any]:
        return {
            **super().facts,
            "set of output columns": [self.into, self.every, list(self.columns)],
        }

    def _keep(
        self, records: list[Record], numbers: NDArray[np.int64], is_first: bool
    ) -> list[Record]:
        if is_first and records:
            _check_new_columns({self.into, *self._probability_columns}, [*records[0]])
        return records

    @property
    def _probability_columns(self) -> list[str]:
        return [str(name) for name in self.model.classes_.tolist()] if self.every else [PROBABILITY]

    def _process(
        self, texts: list[str], records: Records, outcome: Outcome, share: KnownShare | None
    ) -> tuple[Records, Any]:
        model: Classifier = self.model
        rows = records or []
        others = [[_text(row, name) for row in rows] for name in self.columns[1:]]
        probabilities = model.predict_proba((texts, *others) if others else texts)
        labels = model.labels_of(probabilities).tolist()
        shown = probabilities if self.every else probabilities.max(axis=1, keepdims=True)
        predicted = [
            {
                **row,
                self.into: list(label) if isinstance(label, tuple) else label,
                **dict(zip(self._probability_columns, values, strict=True)),
            }
            for row, label, values in zip(rows, labels, shown.round(6).tolist(), strict=True)
        ]
        return predicted, None


class _WriteBehind(ThreadPoolExecutor):
    """Runs calls in order in a thread. After a failed call, every later one fails with the same error.

    A write after a failed one would leave a hole, and a checkpoint after it would record the hole as done.
    """

    _error: BaseException | None = None

    def run(self, call: Callable[..., Any], *arguments: Any) -> None:
        if self._error is not None:
            raise self._error
        try:
            call(*arguments)
        except BaseException as error:
            self._error = error
            raise


def _check_new_columns(new: set[str], names: Sequence[str]) -> None:
    """Raise if the input has a column of the output's own."""
    if taken := next((name for name in names if name in new), None):
        raise ParameterError(
            f"the input has a column {taken!r} already, which the output adds",
            "rename it, or keep the others",
        )


def _text(record: Record, name: str | None) -> str:
    value = record.get(name or "")
    if not isinstance(value, str):
        raise FileError(f"a row has no text in {name!r}", "fix it, or leave it out")
    return value


@contextmanager
def _disk_errors(target: str) -> Iterator[None]:
    """Raise errors of the disk as a `FileError` that names the output."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (NoppaError, BrokenPipeError)):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
