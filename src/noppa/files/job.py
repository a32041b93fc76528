"""One run from records to vectors on this machine: its options, its partial output, and how it resumes."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa import __version__
from noppa import _native as kernels
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaError, ParameterError
from noppa.files.checkpoint import Checkpoint, Outcome, read_checkpoint, size_and_time
from noppa.files.encode_stream import EncodeStream, Progress
from noppa.files.fingerprint import (
    FileStatus,
    file_statuses,
    refuse_changed,
    remaining_batches,
)
from noppa.files.partial import changed_at, is_at, locked_file, sync_folder
from noppa.files.read import Input, read
from noppa.files.record_file import STDIN
from noppa.files.write import WRITERS, Writer
from noppa.io.outputs import folders_of, refuse_input_as_output
from noppa.parameters import one_of
from noppa.words.coverage import KnownShare

ON_ERROR = ("raise", "skip", "empty")
#: How many words are encoded to tell a model that was never saved from another one.
PROBED_WORDS = 1000


@dataclass(frozen=True)
class Job:
    """Encode `source` into `target` (`-` for standard output), under its name only when complete.

    model: anything with `encode`. form: the output format; by the name of `target` where None.
    on_error: what to do with a record without text: "raise", "empty" for a row of zeros, "skip" to leave it out.
    resume: go on where an interrupted run stopped. overwrite: replace what is there. threads: for encoding.
    progress: called with what was read and done so far.
    """

    model: Any
    source: Input
    target: str
    form: str | None = None
    on_error: str = "raise"
    resume: bool = False
    overwrite: bool = False
    threads: int | None = None
    options: dict[str, Any] = field(default_factory=dict)
    """What else `encode` is given: `normalize`, `dim`."""
    keep: Sequence[str] | None = ()
    """Columns of the input to write beside the vectors, all where None."""
    progress: Progress | None = None

    def __post_init__(self) -> None:
        one_of(self.on_error, "on_error", ON_ERROR)
        one_of(self.form, "the output format", (None, *self.writers))
        writer = self.writer
        if self.keep != () and self.output_form == "npy":
            raise ParameterError(
                f"{self.target}: .npy holds vectors alone; to keep columns, write .jsonl, .csv or .parquet"
            )
        if self.keep != ():
            object.__setattr__(self, "source", replace(self.source, records=True))
        if self.target == STDIN and not writer.streams:
            raise ParameterError(f"{self.output_form} cannot go to standard output: name a file")
        if self.resume and (self.target == STDIN or not writer.resumable):
            names = [f".{name}" for name, kind in self.writers.items() if kind.resumable]
            raise ParameterError(
                f"only {', '.join(names[:-1])} and {names[-1]} files can be resumed: choose one, or leave out --resume"
            )
        if self.resume and self.overwrite:
            raise ParameterError("go on with --resume or begin anew with --overwrite, not both")
        if self.target != STDIN:
            _require_writable(self.target)
        sources = [*self.source.paths, *self.model_folders]
        refuse_input_as_output(self.target, sources)
        refuse_input_as_output(self.partial, sources)

    @property
    def writers(self) -> Mapping[str, type[Writer]]:
        """The writer of each output format."""
        return WRITERS

    @property
    def model_folders(self) -> list[Path | None]:
        """Folders that the model is mapped from, which must not be written to."""
        return folders_of(self.model)

    @property
    def output_form(self) -> str:
        if self.form is not None:
            return self.form
        if self.target == STDIN:
            return "jsonl"
        suffix = Path(self.target).suffix.removeprefix(".")
        if suffix not in self.writers:
            raise ParameterError(
                f"{self.target}: end the name in {', '.join('.' + name for name in self.writers)}, or pass --to"
            )
        return suffix

    @property
    def writer(self) -> type[Writer]:
        return self.writers[self.output_form]

    @property
    def partial(self) -> Path:
        path = Path(self.target)
        return path.with_name(f".{path.name}.partial")

    @property
    def checkpoint(self) -> Path:
        return self.partial.with_suffix(".checkpoint")

    def run(self) -> Outcome:
        """Do all of it, or what an earlier run left; an existing output is replaced with `overwrite` alone."""
        inputs = file_statuses(self.source.paths)
        if self.target == STDIN:
            outcome = Outcome()
            with _explained("standard output"):
                stream = self.stream(sys.stdout.buffer, outcome)
                replace(stream, flush=True).run(read(self.source))
                sys.stdout.buffer.flush()
            refuse_changed(inputs)
            return outcome
        with _explained(self.target), locked_file(self.partial, self.target) as file:
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
                    self._clear()
                raise

    def _write(
        self, file: IO[bytes], earlier: Checkpoint | None, inputs: dict[str, FileStatus]
    ) -> Outcome:
        """Write the output from its beginning, or from the checkpoint of an earlier run on."""
        batches = read(self.source)
        outcome, size = Outcome(), 0
        if earlier is None:
            self.checkpoint.unlink(missing_ok=True)
        else:
            outcome, size = earlier.outcome, earlier.bytes
        file.truncate(size)
        file.seek(size)
        started = Checkpoint(self._facts, outcome, size, "", inputs)
        stream = self.stream(file, outcome)
        if self.writer.resumable:
            fingerprint = "" if earlier is None else earlier.fingerprint
            batches = remaining_batches(batches, outcome.records, fingerprint, self.target)
            stream = replace(stream, checkpoint=started, checkpoint_path=self.checkpoint)
        fingerprint = stream.run(batches)
        file.flush()
        os.fsync(file.fileno())
        refuse_changed(inputs)
        if not is_at(file, self.partial):
            raise FileError(f"cannot write {self.target}: {self.partial} was removed under the run")
        finished = size_and_time(self.partial)
        return self._complete(
            replace(started, outcome=outcome, bytes=0, fingerprint=fingerprint, finished=finished)
        )

    def stream(self, file: IO[bytes], outcome: Outcome) -> EncodeStream:
        """What reads, encodes and writes, with its writer at the end of what is done."""
        writer = self.writer(file, self.dim, outcome.rows, self.keep)
        share = self.model.known_share() if isinstance(self.model, Encoder) else None
        encode = partial(self._encoded, outcome, share)
        return EncodeStream(encode, writer, file, self.on_error, outcome, self.progress)

    def _encoded(
        self, outcome: Outcome, share: KnownShare | None, texts: list[str]
    ) -> NDArray[np.float32]:
        """Vectors of texts, whose tokens are counted where the model tells them; few known words are told once a run."""
        if share is None:
            return np.asarray(self.model.encode(texts, threads=self.threads, **self.options))
        encoder = self.model.for_texts(texts, self.threads)
        ids, offsets = encoder.look_up(texts, self.threads, share)
        share.warn_if_few()
        outcome.tokens += len(ids)
        outcome.unknown += int(np.count_nonzero(ids < 0))
        return np.asarray(encoder.encode_ids(ids, offsets, self.threads, **self.options)[0])

    def _complete(self, checkpoint: Checkpoint) -> Outcome:
        """Rename a complete output into place; its checkpoint stays, so that a later `resume` recognizes it."""
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
        """The checkpoint to resume from, None to begin anew, or an error where the user has to choose."""
        target = Path(self.target)
        if self.overwrite:
            return None
        checkpoint = read_checkpoint(self.checkpoint)
        size = os.fstat(file.fileno()).st_size
        if checkpoint is not None and not size and not checkpoint.is_output(target):
            checkpoint = None  # its output is gone
        if checkpoint is not None and self.resume:
            self._compare(checkpoint)
            complete = checkpoint.is_output(target) or checkpoint.is_output(self.partial)
            if not complete and (checkpoint.finished or not self._fits(file, checkpoint)):
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

    def _compare(self, checkpoint: Checkpoint) -> None:
        """Refuse to resume another job, and to take the output of another job for that of this one."""
        for name, value in self._facts.items():
            if checkpoint.job.get(name) != value:
                raise FileError(
                    f"{self.target} was begun with other {name}: give the same again, or pass --overwrite to begin anew"
                )
        if checkpoint.is_output(Path(self.target)):
            for path, status in file_statuses(self.source.paths).items():
                if checkpoint.inputs.get(path) != status:
                    raise FileError(
                        f"{path} has changed since {self.target} was written: pass --overwrite to write it anew"
                    )

    def _fits(self, file: IO[bytes], checkpoint: Checkpoint) -> bool:
        size, rows = checkpoint.bytes, checkpoint.outcome.rows
        return os.fstat(file.fileno()).st_size >= size and self.writer.fits(
            file, self.dim, rows, size
        )

    @property
    def dim(self) -> int:
        return int(self.options.get("dim") or self.model.dim)

    @property
    def model_checksum(self) -> str:
        """Tells the model from any other one."""
        return self.model.identity.fingerprint or _vectors_checksum(self.model)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        """All that decides the bytes of the output, except the content of the input; by the names in messages."""
        source = self.source
        facts = {
            "input": list(source.paths),
            "columns": [source.form, source.column, source.header],
            "encoding": [source.encoding, source.delimiter],
            "columns to keep": self.keep,
            "output format": self.output_form,
            "options": [self.on_error, self.options],
            "model": self.model_checksum,
            "version of noppa": [__version__, kernels.instruction_set()],
        }
        # As a checkpoint gives them back: JSON has lists for tuples.
        plain: dict[str, Any] = json.loads(json.dumps(facts, default=repr))
        return plain


def _vectors_checksum(model: Encoder) -> str:
    """Tells a model in memory from another one by the vectors of its own words."""
    rows = np.arange(min(PROBED_WORDS, len(model.words)), dtype=np.int32)
    vectors, _ = model.encode_ids(rows, np.arange(len(rows) + 1), 1)
    return hashlib.sha256(repr(model).encode() + vectors.tobytes()).hexdigest()


def _require_writable(target: str) -> None:
    folder = Path(target).absolute().parent
    if not folder.is_dir():
        raise FileError(f"cannot write {target}: the folder {folder} does not exist")
    if Path(target).is_dir():
        raise FileError(f"cannot write {target}: it is a folder")
    if Path(target).exists() and not Path(target).is_file():
        raise FileError(f"cannot write {target}: it is no plain file; write to - and redirect that")


@contextmanager
def _explained(target: str) -> Iterator[None]:
    """Turn errors of the disk into one sentence."""
    try:
        yield
    except OSError as error:
        if isinstance(error, (NoppaError, BrokenPipeError)):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
