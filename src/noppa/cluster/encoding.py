"""`encode`: texts of any amount to Parquet, on an engine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import noppa
from noppa.cluster.manifest import FINISHED, MANIFEST, Manifest, alone
from noppa.cluster.models import MODEL, Model
from noppa.cluster.outcomes import bad_rows, finished, raise_bad
from noppa.cluster.places import Place
from noppa.cluster.plan import SHARD_SIZE, Found, Plan, Shard, found_files, planned
from noppa.cluster.progress import Progress, Teller
from noppa.cluster.request import Request, input_facts, program_facts, refuse_inputs, wanted_input
from noppa.cluster.shard import BAD, BAD_ROWS, BOOKS, DONE, DTYPES, Encoding
from noppa.cluster.tasks import Outcome
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, ParameterError
from noppa.parameters import one_of


@dataclass(frozen=True)
class Report:
    """What a run did: shards in all and found done; records, rows, bad records and rows of zeros; bytes written."""

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
    column: str | None = None,
    engine: str = "dask",
    scheduler: str | None = None,
    workers: int | None = None,
    dtype: str = "float32",
    on_bad: str = "error",
    normalize: bool = False,
    dim: int | None = None,
    keep: Sequence[str] | None = None,
    into: str = "embedding",
    form: str | None = None,
    header: bool = True,
    shard_size: int = SHARD_SIZE,
    progress: Progress | None = None,
) -> Report:
    """Encode files into a folder of Parquet parts, in order, with the vectors in the column `into`.

    inputs: files, folders or patterns, on any file system of fsspec: lines, JSONL, CSV, TSV or Parquet, as `form` says or
        the names do. model: an encoder, its folder or a preset; the embedded one where None.
    column: with the text. keep: which columns of the input to keep, all where None.
    engine: "dask", "spark", or "single" for this very process. scheduler: of a cluster that is there; without one,
        `workers` processes of this machine are started and ended.
    dtype: float32 or float16. on_bad: what to do with a record without text: "error", "empty" for a row of zeros, "drop".
    shard_size: bytes of text of a task.

    The same call again goes on where a broken run stopped, and does nothing where nothing is left to do.
    """
    request = Request(engine, scheduler, workers, on_bad, shard_size)
    one_of(dtype, "dtype", DTYPES)
    start = time.perf_counter()
    encoder = model if isinstance(model, Encoder) else noppa.load(model)
    encoder.encode([], dim=dim)  # refuses now what no worker could do
    wanted = wanted_input(inputs, form, column, header)
    target = Place.of(output)
    found = Model.of(encoder)
    files = found_files(wanted)
    refuse_inputs(target, wanted.paths, files, encoder)
    asked = {
        "model": found.checksum,
        **input_facts(wanted, files),
        "set of options": [dtype, on_bad, normalize, dim, keep and list(keep), into],
        **program_facts(found),
    }
    books = target / BOOKS
    if not (books / MANIFEST).exists() and set(target.names()) - {BOOKS}:
        raise FileError(f"{target} holds something else already: choose a new or an empty folder")
    with alone(books, target.address):
        manifest = Manifest(books, target.address, asked)
        plan = manifest.plan(
            lambda: _checked(planned(files, wanted, request.shard_size, keep), into)
        )
        job = Encoding(
            found, plan.fields, target.address, into, dtype, on_bad, bool(normalize), dim
        )
        before = _intact(manifest.done(), target, plan.shards)
        left = [shard for shard in plan.shards if shard.number not in before]
        if left or not (books / FINISHED).exists():
            for folder in (target, books / DONE, books / BAD):
                folder.make()
            manifest.clear(target, books, books / DONE, books / BAD)
            tell = Teller(progress, books / DONE, plan.shards, before=before.values())
            outcomes = {**before}
            if left:
                with request.started() as run:
                    for outcome in finished(run, job, left, books, tell.tick):
                        raise_bad(outcome, plan)
                        outcomes[outcome["number"]] = outcome
                        tell(outcome)
            outcomes = _intact(outcomes, target, plan.shards)
            _settle(manifest, target, plan, outcomes, files)
        else:
            outcomes = before
    total = {
        name: sum(outcome[name] for outcome in outcomes.values())
        for name in ("records", "rows", "bad", "zero", "bytes")
    }
    listed = (target / BAD_ROWS).address if total["bad"] else None
    return Report(
        len(plan.shards), len(before), **total, seconds=time.perf_counter() - start, bad_rows=listed
    )


def _checked(plan: Plan, into: str) -> Plan:
    if into in plan.fields.schema.names:
        raise ParameterError(
            f"the input has a column {into!r} already: choose another name with --into, or what to keep with --keep"
        )
    return plan


def _intact(done: dict[int, Outcome], target: Place, shards: list[Shard]) -> dict[int, Outcome]:
    """The outcomes whose parts are there with all their bytes."""
    sizes = target.sizes()
    return {
        shard.number: done[shard.number]
        for shard in shards
        if shard.number in done
        and sizes.get(f"{shard.name}.parquet") == done[shard.number]["bytes"]
    }


def _settle(
    manifest: Manifest, target: Place, plan: Plan, outcomes: dict[int, Outcome], files: list[Found]
) -> None:
    """See that nothing is missing and that nothing has changed, and close the books."""
    lost = [shard for shard in plan.shards if shard.number not in outcomes]
    if lost:
        raise FileError(
            f"{lost[0].name} is not in {target}, though a worker wrote it: choose a folder that all machines see"
        )
    for file in files:
        if file.place.fingerprint() != (file.size, file.mark):
            raise FileError(
                f"{file.place} was changed while it was read: remove {target} and run again"
            )
    ordered = [outcomes[shard.number] for shard in plan.shards]
    if any(outcome["bad"] for outcome in ordered):
        (target / BAD_ROWS).write_lines(bad_rows(manifest.books, plan, outcomes))
    manifest.clear(target)
    for name in manifest.books.names():
        if name.startswith(f"{MODEL}-"):
            (manifest.books / name).remove()
    manifest.finish(ordered, {"shards in all": len(ordered)})
