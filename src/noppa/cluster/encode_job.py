"""`encode`: texts of any amount to Parquet, on an engine."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

import noppa
from noppa.cluster.engines import RunOptions, checked_on_error, outcomes_of
from noppa.cluster.manifest import (
    BAD,
    BAD_ROWS,
    DONE,
    RUN_FOLDER,
    Progress,
    RunFolder,
    ShardProgress,
    remove_unfinished,
)
from noppa.cluster.plan import SHARD_SIZE, Inputs, Plan, Shard
from noppa.cluster.shard_task import BadRecord, Model, Outcome
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaWarning, ParameterError
from noppa.files.batch import Batch
from noppa.files.columns import Fields
from noppa.files.places import Place
from noppa.files.write import PartWriter
from noppa.io.outputs import folders_of
from noppa.parameters import one_of
from noppa.text.tokenizer import Tokenizer

DTYPES = ("float32", "float16")


@dataclass(frozen=True)
class Report:
    """What a run did: shards in all and done before; records, rows, bad records and rows of zeros; bytes written."""

    shards: int
    before: int
    records: int
    rows: int
    bad: int
    zero: int
    bytes: int
    seconds: float
    bad_rows: str | None = None
    """Where the bad records are listed, by file, row and fault."""


def encode(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    model: Encoder | str | os.PathLike[str] | None = None,
    *,
    tokenizer: Tokenizer | str | None = None,
    column: str | None = None,
    engine: str = "dask",
    scheduler: str | None = None,
    workers: int | None = None,
    dtype: str = "float32",
    on_error: str = "raise",
    normalize: bool = False,
    dim: int | None = None,
    keep: Sequence[str] | None = None,
    into: str = "embedding",
    form: str | None = None,
    header: bool = True,
    encoding: str | None = None,
    delimiter: str | None = None,
    shard_size: int = SHARD_SIZE,
    progress: Progress | None = None,
) -> Report:
    """Encode files into a folder of Parquet parts, in order, with the vectors in the column `into`.

    inputs: files, folders or patterns, on any file system of fsspec: lines, JSONL, CSV, TSV or Parquet, as `form` says or
        their names do. model: an encoder, its folder or a preset; the embedded one where None.
    tokenizer: how texts are split, by its name, in place of what the model says.
    column: with the text. keep: which columns of the input to keep, all where None.
    engine: "dask", "spark", or "single" for this very process. scheduler: the address of a running cluster; without one,
        `workers` processes of this machine are started and ended.
    dtype: float32 or float16. on_error: what to do with a record without text: "raise", "empty" for a row of zeros,
        "skip" to leave it out. encoding, delimiter: of text files and tables, where they are not found out.
    shard_size: bytes of text of a task.

    The same call again resumes an interrupted run, and does nothing after a finished one.
    """
    on_error = checked_on_error(on_error)
    options = RunOptions(engine, scheduler, workers, on_error, shard_size)
    one_of(dtype, "dtype", DTYPES)
    encoder = model if isinstance(model, Encoder) else noppa.load(model)
    encoder.encode([], dim=dim)  # fails here, not on a worker, where `dim` does not fit
    source = Inputs.of(inputs, form, column, header, encoding, delimiter)
    target = Place.of(output)
    sent_model = Model.of(encoder, tokenizer)
    source.refuse_as_output(target, folders_of(encoder))
    facts = {
        "model": sent_model.identity.fingerprint,
        **({} if sent_model.tokenizer is None else {"tokenizer": sent_model.tokenizer}),
        **source.facts(),
        "set of options": [dtype, on_error, normalize, dim, keep and list(keep), into],
        **program_facts(sent_model.instructions),
    }

    def shard_job(plan: Plan) -> EncodeShard:
        return EncodeShard(
            sent_model, plan.fields, target.address, into, dtype, on_error, bool(normalize), dim
        )

    def plan() -> Plan:
        return checked_plan(source.plan(options.shard_size, keep), [into])

    return run_shards(options, source, target, facts, plan, shard_job, progress)


def run_shards(
    options: RunOptions,
    source: Inputs,
    target: Place,
    facts: dict[str, Any],
    make_plan: Callable[[], Plan],
    shard_job: Callable[[Plan], EncodeShard],
    progress: Progress | None,
) -> Report:
    """Run the job of every shard that no earlier run has done; `facts` are all that decides the bytes of the output."""
    start = time.perf_counter()
    run_folder = RunFolder.of_output(target)
    if not run_folder.has_manifest() and set(target.names()) - {RUN_FOLDER}:
        raise FileError(f"{target} holds something else already: choose a new or an empty folder")
    with run_folder.locked(target.address):
        plan = run_folder.plan(facts, target.address, make_plan)
        job = shard_job(plan)
        before = _intact(run_folder.outcomes(), target, plan.shards)
        outcomes = before
        if len(before) < len(plan.shards) or not run_folder.is_finished():
            outcomes = _run(options, job, plan, before, progress)
            _finish(run_folder, target, plan, outcomes, source)
    counts = {
        name: sum(outcome[name] for outcome in outcomes.values())
        for name in ("records", "rows", "bad", "zero", "bytes")
    }
    bad_rows = (target / BAD_ROWS).address if counts["bad"] else None
    seconds = time.perf_counter() - start
    return Report(len(plan.shards), len(before), **counts, seconds=seconds, bad_rows=bad_rows)


def program_facts(instructions: str) -> dict[str, Any]:
    """What the manifest says of the program, on which the last bits of a vector depend."""
    return {"version of noppa": version("noppa"), "instruction set": instructions}


def checked_plan(plan: Plan, new_columns: Iterable[str]) -> Plan:
    """Refuse an input that has a column of the output's own already."""
    for name in new_columns:
        if name in plan.fields.schema.names:
            raise ParameterError(
                f"the input has a column {name!r} already: choose another name with --into, or what to keep with --keep"
            )
    return plan


def _intact(outcomes: dict[int, Outcome], target: Place, shards: list[Shard]) -> dict[int, Outcome]:
    """The outcomes whose parts are there with all their bytes."""
    sizes = target.sizes()
    return {
        shard.number: outcomes[shard.number]
        for shard in shards
        if shard.number in outcomes and sizes.get(shard.part) == outcomes[shard.number]["bytes"]
    }


def _run(
    options: RunOptions,
    job: EncodeShard,
    plan: Plan,
    before: dict[int, Outcome],
    progress: Progress | None,
) -> dict[int, Outcome]:
    """Encode the shards that are not done; gives the outcomes of all whose parts are there."""
    target = Place.of(job.output)
    run_folder = RunFolder.of_output(target)
    target.make()
    remove_unfinished(target)
    run_folder.prepare(DONE, BAD)
    report = ShardProgress(progress, run_folder.folder / DONE, plan.shards, before=before.values())
    outcomes = {**before}
    left = [shard for shard in plan.shards if shard.number not in before]
    if left:
        with options.started() as run:
            for outcome in outcomes_of(run, job, left, run_folder.folder, report.tick):
                outcomes[outcome["number"]] = outcome
                report(outcome)
    return _intact(outcomes, target, plan.shards)


def _finish(
    run_folder: RunFolder,
    target: Place,
    plan: Plan,
    outcomes: dict[int, Outcome],
    source: Inputs,
) -> None:
    """Require every part and an unchanged input, list the bad records, and record the run as finished."""
    lost = [shard for shard in plan.shards if shard.number not in outcomes]
    if lost:
        raise FileError(
            f"{lost[0].part.removesuffix('.parquet')} is not in {target}, though a worker wrote it: "
            "choose a folder that all machines see"
        )
    source.require_unchanged(f"remove {target} and run again")
    ordered = [outcomes[shard.number] for shard in plan.shards]
    if any(outcome["bad"] for outcome in ordered):
        run_folder.write_bad_rows(target, plan, outcomes)
    remove_unfinished(target)
    run_folder.finish(ordered)


@dataclass(frozen=True)
class EncodeShard:
    """What a worker does with each shard."""

    model: Any
    fields: Fields
    output: str
    column: str = "embedding"
    dtype: str = "float32"
    on_error: str = "raise"
    normalize: bool = False
    dim: int | None = None

    def run(self, shard: Shard) -> Outcome:
        """Encode a shard into its part, then record that it is done."""
        start, cpu_start = time.perf_counter(), time.process_time()
        output = Place.of(self.output)
        run_folder = RunFolder.of_output(output)
        counts = {"records": 0, "rows": 0, "bad": 0, "zero": 0}
        bad: list[tuple[int, str]] = []
        with (output / shard.part).new() as path:
            with self._writer(str(path)) as part:
                for batch in shard.batches(self.fields):
                    bad += [(counts["records"] + at, fault) for at, fault in batch.bad]
                    if bad and self.on_error == "raise":
                        raise BadRecord(shard.number, *bad[0])
                    counts["records"] += len(batch.texts)
                    self._write(batch, part, counts)
            size = path.stat().st_size
        counts["bad"] = len(bad)
        if bad:
            run_folder.write_bad(shard.number, bad)
        outcome = {
            "number": shard.number,
            "bytes": size,
            **counts,
            "seconds": round(time.perf_counter() - start, 4),
            "cpu_seconds": round(time.process_time() - cpu_start, 4),
        }
        run_folder.write_outcome(outcome)
        return outcome

    def _writer(self, path: str) -> Any:
        dim = self.dim or self.model.open().dim
        return PartWriter(path, self.fields.schema, self.column, self.dtype, dim)

    def chosen(self, batch: Batch) -> tuple[Any, list[str]]:
        """The kept columns and the texts of the records that become rows."""
        columns, texts = batch.columns, [text or "" for text in batch.texts]
        if batch.bad and self.on_error == "skip":
            good = [at for at, text in enumerate(batch.texts) if text is not None]
            columns, texts = columns.take(np.array(good, np.int64)), [texts[at] for at in good]
        return columns, texts

    def _write(self, batch: Batch, part: Any, counts: dict[str, int]) -> None:
        columns, texts = self.chosen(batch)
        encoder = self.model.open()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoppaWarning)
            # One thread: a worker is one of many on its machine.
            encoder = encoder.for_texts(texts, 1)
            ids = encoder.look_up(texts, 1)
            vectors, known = encoder.encode_ids(*ids, 1, dim=self.dim, normalize=self.normalize)
        counts["rows"] += len(texts)
        counts["zero"] += int(np.count_nonzero(known == 0))
        part.write(columns, in_dtype(vectors, self.dtype))


def in_dtype(vectors: Any, dtype: str) -> Any:
    if dtype == "float32":
        return vectors
    with np.errstate(over="ignore"):
        halves = vectors.astype(np.float16)
    if not np.isfinite(halves).all():
        raise FileError("a number of a vector is too large for float16: choose float32")
    return halves
