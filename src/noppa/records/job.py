"""A whole run from records to vectors: read ahead, encode, write behind, with checkpoints to go on from."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event, Semaphore, Thread
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from noppa.encoder import Encoder
from noppa.errors import FileError, NoppaError, NoppaWarning, ParameterError
from noppa.outputs import folders_of, refuse_input_as_output
from noppa.parameters import one_of
from noppa.records.batch import STDIN, Batch, Input
from noppa.records.read import read
from noppa.records.write import WRITERS, Writer
from noppa.storage import HEADER

LISTED = 20
SECONDS_BETWEEN_CHECKPOINTS = 1.0
WAITING = 4
SECONDS_OF_A_WAIT = 0.2

ON_BAD = ("error", "skip", "empty")
Item = TypeVar("Item")


@dataclass
class Outcome:
    """What a run did: records read, rows written, bad records with the first of them, rows of zeros."""

    records: int = 0
    rows: int = 0
    bad: int = 0
    zero: int = 0
    listed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """Encode `source` into `target` (`-` for standard output), under its name only when complete."""

    model: Encoder
    source: Input
    target: str
    form: str | None = None
    on_bad: str = "error"
    resume: bool = False
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
        if self.target != STDIN:
            folder = Path(self.target).absolute().parent
            if not folder.is_dir():
                raise FileError(f"cannot write {self.target}: the folder {folder} does not exist")
            if Path(self.target).is_dir():
                raise FileError(f"cannot write {self.target}: it is a folder")
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
        """Do all of it; what an earlier run left is taken up with `resume`, else thrown away."""
        if self.target == STDIN:
            outcome = Outcome()
            self._stream(sys.stdout.buffer, outcome, 0)
            sys.stdout.buffer.flush()
            return outcome
        outcome, size = self._left() if self.resume else (Outcome(), 0)
        if self.resume and Path(self.target).exists() and not self.partial.exists():
            return outcome  # an earlier run came to its end
        if size == 0:
            self.checkpoint.unlink(missing_ok=True)
        try:
            with self.partial.open("r+b" if size else "wb") as file:
                file.truncate(size)
                file.seek(size)
                self._stream(file, outcome, outcome.records)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.partial, self.target)
            self.checkpoint.unlink(missing_ok=True)
        except BaseException as error:
            if not self.resume or isinstance(error, NoppaError):
                self.partial.unlink(missing_ok=True)
                self.checkpoint.unlink(missing_ok=True)
            if isinstance(error, OSError) and not isinstance(error, FileError):
                raise FileError(f"cannot write {self.target}: {error.strerror or error}") from error
            raise
        return outcome

    def _stream(self, file: IO[bytes], outcome: Outcome, done: int) -> None:
        """Records after the first `done` through the model into `file`; encoding never waits for the disk."""
        writer = self.writer(file, self.options.get("dim") or self.model.dim, outcome.rows)
        last = time.monotonic()
        waiting: deque[Future[Any]] = deque()
        settled: Future[Any] | None = None
        with (
            ThreadPoolExecutor(1) as settling,
            ThreadPoolExecutor(1) as behind,
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", ".*no known word.*", NoppaWarning)
            for batch in _ahead(_after(read(self.source), done)):
                numbers, texts = self._chosen(batch, outcome)
                vectors = self.model.encode(texts, self.threads, **self.options)
                outcome.rows += len(vectors)
                outcome.zero += _zero_rows(vectors)
                waiting.append(behind.submit(writer.write, numbers, vectors))
                if self.writer.resumable and self.target != STDIN:
                    due = time.monotonic() - last > SECONDS_BETWEEN_CHECKPOINTS
                    if outcome.rows and due and (settled is None or settled.done()):
                        last = time.monotonic()
                        reached = behind.submit(_reached, file)
                        settled = settling.submit(
                            self._save, file.fileno(), reached, asdict(outcome)
                        )
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

    # Checkpoints

    def _save(self, file: int, reached: Future[int], outcome: dict[str, Any]) -> None:
        """A checkpoint of what has reached the disk. Forcing it there now leaves little to force at the end."""
        size = reached.result()
        os.fsync(file)
        state = {"job": self._described, "bytes": size, "outcome": outcome}
        new = self.checkpoint.with_suffix(".new")
        new.write_text(json.dumps(state), encoding="utf-8")
        os.replace(new, self.checkpoint)

    def _left(self) -> tuple[Outcome, int]:
        """What an earlier run had done by its last checkpoint, and how many bytes of its file are good."""
        try:
            state = json.loads(self.checkpoint.read_text(encoding="utf-8"))
            size = self.partial.stat().st_size
        except FileNotFoundError:
            return Outcome(), 0
        except (OSError, ValueError) as error:
            raise FileError(
                f"{self.checkpoint} cannot be read: {error}; run again without --resume"
            ) from error
        described = self._described
        for name, value in state["job"].items():
            if value != described.get(name):
                raise ParameterError(
                    f"{self.target} was begun with other {name}: give the same again, or leave out --resume"
                )
        if size < state["bytes"]:
            return Outcome(), 0
        return Outcome(**state["outcome"]), int(state["bytes"])

    @cached_property
    def _described(self) -> dict[str, Any]:
        """All that decides the bytes of the output."""
        sizes = [
            [path, None if path == STDIN else Path(path).stat().st_size]
            for path in self.source.paths
        ]
        headers = sorted(Path(self.model_path).rglob(HEADER)) if self.model_path else []
        seals = b"".join(header.read_bytes() for header in headers)
        return {
            "input": sizes,
            "columns": [self.source.form, self.source.column, self.source.header],
            "output format": self.output_form,
            "options": [self.on_bad, self.options],
            "model": hashlib.sha256(seals).hexdigest() if seals else repr(self.model),
        }


def _zero_rows(vectors: NDArray[np.float32]) -> int:
    """How many rows are all zeros; a look at the first column spares the rest of nearly every row."""
    suspects = np.flatnonzero(vectors[:, 0] == 0)
    return len(suspects) - int(np.count_nonzero(vectors[suspects].any(axis=1)))


def _after(batches: Iterator[Batch], done: int) -> Iterator[Batch]:
    for batch in batches:
        if done >= len(batch.texts):
            done -= len(batch.texts)
            continue
        yield batch.after(done) if done else batch
        done = 0


def _reached(file: IO[bytes]) -> int:
    """The length of a file with all that was written to it so far."""
    file.flush()
    return file.tell()


def _ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items, the next one made while this one is used.

    The maker is a daemon: a read from a pipe that nobody writes to must not hold up Ctrl-C. Nor must a wait for the
    maker: Python does not notice a signal that came just before it began, so no wait is long.
    """
    made: SimpleQueue[tuple[bool, Any]] = SimpleQueue()
    room = Semaphore(0)
    stopped = Event()

    def make() -> None:
        try:
            for item in items:
                made.put((True, item))
                room.acquire()
                if stopped.is_set():
                    return
            made.put((False, None))
        except BaseException as error:
            made.put((False, error))

    Thread(target=make, daemon=True).start()
    try:
        while True:
            try:
                more, item = made.get(timeout=SECONDS_OF_A_WAIT)
            except Empty:
                continue
            room.release()
            if not more:
                if item is not None:
                    raise item
                return
            yield item
    finally:
        stopped.set()
        room.release()
