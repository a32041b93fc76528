"""A whole run from records to vectors: read ahead, encode, write behind, with checkpoints to go on from."""

from __future__ import annotations

import copy
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaError, NoppaWarning, ParameterError
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.parameters import one_of
from noppa.records.ahead import ahead
from noppa.records.batch import STDIN, Batch, Input
from noppa.records.behind import Behind
from noppa.records.checkpoint import Checkpoint, Outcome, read_checkpoint, size_and_time
from noppa.records.description import described
from noppa.records.fingerprint import Facts, after, facts_of, refuse_changed
from noppa.records.partial import changed_at, held, is_at, sync_folder
from noppa.records.read import read
from noppa.records.write import WRITERS, Writer

LISTED = 20
SECONDS_BETWEEN_CHECKPOINTS = 1.0
WAITING = 4

ON_BAD = ("error", "skip", "empty")


@dataclass(frozen=True)
class Job:
    """Encode `source` into `target` (`-` for standard output), under its name only when complete."""

    model: Encoder
    source: Input
    target: str
    form: str | None = None
    on_bad: str = "error"
    resume: bool = False
    overwrite: bool = False
    threads: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """What else `encode` is given: `normalize`, `dim`."""
    model_path: str | None = None
    progress: Callable[[int, int], None] | None = None
    """Called with the records done and the bytes of input read."""

    def __post_init__(self) -> None:
        one_of(self.on_bad, "on_bad", ON_BAD)
        one_of(self.form, "the output format", (None, *WRITERS))
        writer = self.writer
        if self.target == STDIN and not writer.streams:
            raise ParameterError(f"{self.output_form} cannot go to standard output: name a file")
        if self.resume and (self.target == STDIN or not writer.resumable):
            raise ParameterError(
                "only .npy, .jsonl and .csv files can be resumed: choose one, or leave out --resume"
            )
        if self.resume and self.overwrite:
            raise ParameterError("go on with --resume or begin anew with --overwrite, not both")
        if self.target != STDIN:
            folder = Path(self.target).absolute().parent
            if not folder.is_dir():
                raise FileError(f"cannot write {self.target}: the folder {folder} does not exist")
            if Path(self.target).is_dir():
                raise FileError(f"cannot write {self.target}: it is a folder")
            if Path(self.target).exists() and not Path(self.target).is_file():
                raise FileError(
                    f"cannot write {self.target}: it is no plain file; write to - and redirect that"
                )
        sources = [*self.source.paths, *folders_of(self.model)]
        refuse_input_as_output(self.target, sources)
        refuse_input_as_output(self.partial, sources)

    @property
    def output_form(self) -> str:
        if self.form is not None:
            return self.form
        if self.target == STDIN:
            return "jsonl"
        suffix = Path(self.target).suffix.removeprefix(".")
        if suffix not in WRITERS:
            raise ParameterError(
                f"{self.target}: end the name in {', '.join('.' + name for name in WRITERS)}, or pass --to"
            )
        return suffix

    @property
    def writer(self) -> type[Writer]:
        return WRITERS[self.output_form]

    @property
    def partial(self) -> Path:
        path = Path(self.target)
        return path.with_name(f".{path.name}.partial")

    @property
    def checkpoint(self) -> Path:
        return self.partial.with_suffix(".checkpoint")

    def run(self) -> Outcome:
        """Do all of it, or what an earlier run left; what is there already is replaced with `overwrite` alone."""
        inputs = facts_of(self.source.paths)
        if self.target == STDIN:
            outcome = Outcome()
            with _explained("standard output"):
                self._stream(sys.stdout.buffer, outcome, read(self.source), inputs)
                sys.stdout.buffer.flush()
            refuse_changed(inputs)
            return outcome
        with _explained(self.target), held(self.partial, self.target) as file:
            try:
                earlier = self._earlier(file)
            except BaseException:
                if not os.fstat(file.fileno()).st_size:
                    self.partial.unlink()
                raise
            if earlier is not None and earlier.finished is not None:
                return self._complete(earlier)
            try:
                return self._written(file, earlier, inputs)
            except BaseException:
                if not self.resume or not self.checkpoint.exists():
                    self._clear()
                raise

    def _written(
        self, file: IO[bytes], earlier: Checkpoint | None, inputs: dict[str, Facts]
    ) -> Outcome:
        """The output from its beginning, or from the end of an earlier run on."""
        batches = read(self.source)
        outcome, size = Outcome(), 0
        if earlier is None:
            self.checkpoint.unlink(missing_ok=True)
        else:
            outcome, size = earlier.outcome, earlier.bytes
        if self.writer.resumable:
            fingerprint = "" if earlier is None else earlier.fingerprint
            batches = after(batches, outcome.records, fingerprint, self.target)
        file.truncate(size)
        file.seek(size)
        fingerprint = self._stream(file, outcome, batches, inputs)
        file.flush()
        os.fsync(file.fileno())
        refuse_changed(inputs)
        if not is_at(file, self.partial):
            raise FileError(f"cannot write {self.target}: {self.partial} was removed under the run")
        done = self._checkpoint(outcome, fingerprint, inputs)
        return self._complete(replace(done, finished=size_and_time(self.partial)))

    def _complete(self, checkpoint: Checkpoint) -> Outcome:
        """Give a whole output its name; its checkpoint stays for a later `resume` to know it by."""
        if not checkpoint.is_output(Path(self.target)):
            if self.writer.resumable:
                checkpoint.write(self.checkpoint)
            os.replace(self.partial, self.target)
            sync_folder(self.partial.parent)
        else:
            self.partial.unlink()
        if not self.resume:
            self.checkpoint.unlink(missing_ok=True)
        return checkpoint.outcome

    def _clear(self) -> None:
        for path in (self.partial, self.checkpoint, self.checkpoint.with_suffix(".new")):
            path.unlink(missing_ok=True)

    # What an earlier run left

    def _earlier(self, file: IO[bytes]) -> Checkpoint | None:
        """The checkpoint to go on from, None to begin anew, or an error where the user has to choose."""
        target = Path(self.target)
        if self.overwrite:
            return None
        checkpoint = read_checkpoint(self.checkpoint)
        size = os.fstat(file.fileno()).st_size
        if checkpoint is not None and not size and not checkpoint.is_output(target):
            checkpoint = None  # what it tells of is gone
        if checkpoint is not None and self.resume:
            self._compare(checkpoint)
            whole = checkpoint.is_output(target) or checkpoint.is_output(self.partial)
            if not whole and (checkpoint.finished or not self._fits(file, checkpoint)):
                raise FileError(
                    f"{self.partial} does not fit its checkpoint: pass --overwrite to begin anew"
                )
            return checkpoint
        if checkpoint is not None and not checkpoint.is_output(target):
            raise FileError(
                f"{self.target} was begun, {checkpoint.outcome.rows:,} rows were done at {changed_at(self.partial)}: "
                "pass --resume to go on, or --overwrite to begin anew"
            )
        if os.path.lexists(target):
            unknown = " and is not known as the output of this job" if self.resume else ""
            raise FileError(
                f"{self.target} exists{unknown}, written at {changed_at(target)}: "
                "pass --overwrite to replace it, or choose another output"
            )
        return None

    def _stream(
        self,
        file: IO[bytes],
        outcome: Outcome,
        batches: Iterator[Batch],
        inputs: dict[str, Facts],
    ) -> str:
        """Records through the model into `file`; encoding never waits for the disk. Gives their fingerprint."""
        writer = self.writer(file, self._dim, outcome.rows)
        last = time.monotonic()
        waiting: deque[Future[Any]] = deque()
        settled: Future[Any] | None = None
        fingerprint = ""
        with (
            Behind() as settling,
            Behind() as behind,
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", ".*no known word.*", NoppaWarning)
            for batch in ahead(batches):
                fingerprint = batch.fingerprint
                numbers, texts = self._chosen(batch, outcome)
                vectors = self.model.encode(texts, self.threads, **self.options)
                outcome.rows += len(vectors)
                outcome.zero += _zero_rows(vectors)
                waiting.append(behind.submit(writer.write, numbers, vectors))
                if self.writer.resumable and self.target != STDIN:
                    due = time.monotonic() - last > SECONDS_BETWEEN_CHECKPOINTS
                    if outcome.rows and due and (settled is None or settled.done()):
                        if settled is not None:
                            settled.result()  # a disk that loses data ends the run now, not at its end
                        last = time.monotonic()
                        reached = behind.submit(_reached, file)
                        checkpoint = self._checkpoint(outcome, fingerprint, inputs)
                        settled = settling.submit(self._save, file.fileno(), reached, checkpoint)
                elif self.target == STDIN:
                    waiting.append(behind.submit(file.flush))
                while len(waiting) > WAITING:
                    waiting.popleft().result()
                if self.progress is not None:
                    self.progress(outcome.records, batch.position)
            while waiting:
                waiting.popleft().result()
            if settled is not None:
                settled.result()
        writer.finish()
        return fingerprint

    def _chosen(self, batch: Batch, outcome: Outcome) -> tuple[NDArray[np.int64], list[str]]:
        """The records of a batch that become rows, by number, and their texts."""
        first = outcome.records
        outcome.records += len(batch.texts)
        outcome.bad += len(batch.bad)
        outcome.listed += [why for _, why in batch.bad[: LISTED - len(outcome.listed)]]
        if batch.bad and self.on_bad == "error":
            raise FileError(f"{batch.bad[0][1]}; mend it, or pass --on-bad skip or --on-bad empty")
        numbers = np.arange(first, outcome.records)
        if batch.bad and self.on_bad == "skip":
            numbers = np.delete(numbers, [at for at, _ in batch.bad])
            return numbers, [text for text in batch.texts if text is not None]
        return numbers, [text or "" for text in batch.texts]

    def _compare(self, checkpoint: Checkpoint) -> None:
        """Refuse to go on with what another job began, and to take another job's output for this one's."""
        for name, value in self._described.items():
            if checkpoint.job.get(name) != value:
                raise FileError(
                    f"{self.target} was begun with other {name}: give the same again, or pass --overwrite to begin anew"
                )
        if checkpoint.is_output(Path(self.target)):
            for path, facts in facts_of(self.source.paths).items():
                if checkpoint.inputs.get(path) != facts:
                    raise FileError(
                        f"{path} has changed since {self.target} was written: pass --overwrite to write it anew"
                    )

    def _fits(self, file: IO[bytes], checkpoint: Checkpoint) -> bool:
        size, rows = checkpoint.bytes, checkpoint.outcome.rows
        return os.fstat(file.fileno()).st_size >= size and self.writer.fits(
            file, self._dim, rows, size
        )

    # Checkpoints

    def _checkpoint(
        self, outcome: Outcome, fingerprint: str, inputs: dict[str, Facts]
    ) -> Checkpoint:
        return Checkpoint(self._described, copy.deepcopy(outcome), 0, fingerprint, inputs)

    def _save(self, file: int, reached: Future[int], checkpoint: Checkpoint) -> None:
        """A checkpoint of what has reached the disk. Forcing it there now leaves little to force at the end."""
        size = reached.result()
        os.fsync(file)
        replace(checkpoint, bytes=size).write(self.checkpoint)

    @property
    def _dim(self) -> int:
        return int(self.options.get("dim") or self.model.dim)

    @cached_property
    def _described(self) -> dict[str, Any]:
        path = self.model_path or getattr(self.model, "path", None)
        return described(
            self.source, self.output_form, [self.on_bad, self.options], self.model, path
        )


def _zero_rows(vectors: NDArray[np.float32]) -> int:
    """How many rows are all zeros; a look at the first column spares the rest of nearly every row."""
    suspects = np.flatnonzero(vectors[:, 0] == 0)
    return len(suspects) - int(np.count_nonzero(vectors[suspects].any(axis=1)))


def _reached(file: IO[bytes]) -> int:
    """The length of a file with all that was written to it so far."""
    file.flush()
    return file.tell()


@contextmanager
def _explained(target: str) -> Iterator[None]:
    """Errors of the disk as one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (NoppaError, BrokenPipeError)):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
