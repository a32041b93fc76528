"""`fit`: an encoder from any amount of text, on an engine."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import noppa
from noppa.cluster.encode_job import program_facts
from noppa.cluster.engines import RunOptions, checked_on_error, outcomes_of
from noppa.cluster.fit_sums import (
    COUNTS,
    FAN,
    LEARN,
    MOMENTS,
    AddBranch,
    Branch,
    Sums,
    SumShard,
    added,
    encoder_of,
    gathered_sums,
    read_sums,
    summed_moments,
    write_sums,
)
from noppa.cluster.manifest import (
    BAD,
    FIT_RECORD,
    Progress,
    RunFolder,
    ShardProgress,
    readable,
    require_same,
)
from noppa.cluster.plan import SHARD_SIZE, Inputs, Plan
from noppa.cluster.shard_task import Model, Outcome, Run
from noppa.encoder.encoder import Encoder
from noppa.encoder.storage import KIND
from noppa.errors import FileError, ParameterError
from noppa.files.places import Place
from noppa.io.outputs import folders_of
from noppa.io.storage import kind_of
from noppa.methods import Average, registry
from noppa.methods.method import SUMS, TEXT
from noppa.parameters import one_of

FREQUENCIES = ("corpus", "model")


@dataclass(frozen=True)
class FitReport:
    """What a fit did: shards and passes over them; records, bad ones, and sentences with a known word."""

    shards: int
    passes: list[str]
    before: int
    """Shards of all passes that an earlier run had done."""
    records: int
    bad: int
    sentences: int
    seconds: float


def fit(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    model: Encoder | str | os.PathLike[str] | None = None,
    *,
    column: str | None = None,
    engine: str = "dask",
    scheduler: str | None = None,
    workers: int | None = None,
    frequencies: str = "corpus",
    on_error: str = "raise",
    form: str | None = None,
    header: bool = True,
    encoding: str | None = None,
    delimiter: str | None = None,
    shard_size: int = SHARD_SIZE,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FitReport:
    """Fit an encoder on files, and save it in the folder `output`, from where `noppa.load` opens it.

    model: an encoder, fitted or not, whose words, method and refinements are used; its folder or a preset; the embedded
        one where None. What it had learnt before is forgotten.
    frequencies: "corpus" counts the words of the input, for methods that weigh words by how rare they are; "model" uses
        the probabilities that the words have.
    work: a folder that all workers see, for intermediate sums; beside the output where None, and removed at the end.

    The other arguments, and what happens when the same call is made again, are those of `encode`.
    """
    on_error = checked_on_error(on_error)
    options = RunOptions(engine, scheduler, workers, on_error, shard_size)
    one_of(frequencies, "frequencies", FREQUENCIES)
    start = time.perf_counter()
    encoder = model if isinstance(model, Encoder) else noppa.load(model)
    counted = frequencies == "corpus" and encoder.method.needs_probabilities
    stages = _stages(encoder, counted)
    source = Inputs.of(inputs, form, column, header, encoding, delimiter)
    target = Place.of(output)
    if not target.is_local:
        raise ParameterError(f"{target}: an encoder is saved on this machine's disk: give a path")
    folder = Path(target.path)
    for written in (target, *([] if work is None else [Place.of(work)])):
        source.refuse_as_output(written, folders_of(encoder))
    with _saved(encoder) as words_model:
        facts = {
            "model": words_model.identity.fingerprint,
            "method": registry.to_dict(encoder.method),
            "refinement": [registry.to_dict(part) for part in encoder.refine],
            "source of frequencies": counted,
            **source.facts(),
            "on_error": on_error,
            **program_facts(words_model.instructions),
        }
        run_folder = RunFolder(Place.of(work or folder.with_name(f".{folder.name}.work")))
        if folder.exists() and not _unrecorded(target, run_folder):
            return _earlier_report(target, facts)
        if not folder.parent.is_dir():
            raise FileError(f"cannot write {folder}: the folder {folder.parent} does not exist")
        with run_folder.locked(target.address):
            plan = run_folder.plan(
                facts, f"the work for {folder}", lambda: source.plan(options.shard_size, [])
            )
            if not plan.shards:
                raise FileError(f"{source.files[0].place} is empty: there is nothing to fit on")
            passes = _Passes(words_model, encoder, plan, run_folder, on_error, progress)
            with options.started() as run:
                fitted, last, before = passes.run(run, stages)
            source.require_unchanged("run again")
            fitted.save(folder)
            if int(last["bad"]):
                run_folder.write_bad_rows(target, plan, passes.outcomes(stages[-1]))
            report = FitReport(
                shards=len(plan.shards),
                passes=stages,
                before=before,
                records=int(last["records"]),
                bad=int(last["bad"]),
                sentences=fitted.fitted_on,
                seconds=time.perf_counter() - start,
            )
            (target / FIT_RECORD).write_json({"asked": facts, "report": asdict(report)})
            run_folder.folder.remove()
            return report


def _stages(encoder: Encoder, counted: bool) -> list[str]:
    """The passes that a fit needs; raises for a method that cannot be fitted from sums."""
    method = encoder.method
    if method.learning == TEXT:
        raise ParameterError(
            f"{type(method).__name__} learns from one sentence after another and cannot be fitted in parts: "
            "fit it on one machine with `noppa fit`"
        )
    if encoder.tokenizer is not None:
        raise ParameterError(
            "an encoder with a tokenizer of its own cannot travel to workers: use one with noppa's tokenizer"
        )
    refined = bool((*method.refinements(), *encoder.refine))
    stages = [COUNTS] * counted + [LEARN] * (method.learning == SUMS) + [MOMENTS] * refined
    if not stages:
        raise ParameterError(
            f"{method!r} has nothing to learn from text: choose a method that has, set k, or count frequencies"
        )
    # The pass of counts does not tell how many sentences have a known word; any other does.
    return stages if stages != [COUNTS] else [COUNTS, MOMENTS]


@contextmanager
def _saved(encoder: Encoder) -> Iterator[Model]:
    """The encoder's words in a folder for the workers: the one they came from, or a temporary one."""
    if encoder.identity.path is not None:
        yield Model.of(encoder)
        return
    with tempfile.TemporaryDirectory(prefix="noppa-words-") as folder:
        path = Path(folder, "words")
        Encoder(encoder.words, Average()).save(path)
        yield Model.of(Encoder.load(path))


def _unrecorded(target: Place, run_folder: RunFolder) -> bool:
    """Whether a run was killed between saving its encoder and recording how it was made."""
    saved = kind_of(Path(target.path)) == KIND
    return saved and run_folder.has_manifest() and not (target / FIT_RECORD).exists()


def _earlier_report(target: Place, facts: dict[str, Any]) -> FitReport:
    """The report of an earlier run that made the same encoder."""
    record = target / FIT_RECORD
    if kind_of(Path(target.path)) != KIND or not record.exists():
        raise FileError(f"{target} holds something else already: choose another name or remove it")
    content = record.json()
    with readable(record):
        require_same(content["asked"], facts, target.address)
        return FitReport(**content["report"])


class _Passes:
    """The passes over the shards, each with the sums of the one before."""

    def __init__(
        self,
        model: Model,
        encoder: Encoder,
        plan: Plan,
        run_folder: RunFolder,
        on_error: str,
        progress: Progress | None,
    ) -> None:
        self.model, self.encoder, self.plan, self.run_folder = model, encoder, plan, run_folder
        self.on_error, self.progress = on_error, progress

    def run(self, run: Run, stages: Sequence[str]) -> tuple[Encoder, Sums, int]:
        """The fitted encoder, the sums of the last pass, and how many shards had been done before."""
        counts = learnt = None
        last: Sums = {}
        method = self.encoder.method
        refine = self.encoder.refine
        before = 0
        for at, stage in enumerate(stages):
            job = SumShard(
                self.model,
                self.plan.fields,
                self.run_folder.folder.address,
                stage,
                method,
                refine,
                counts,
                learnt,
                self.on_error,
            )
            before += self._sum_shards(run, job, at, len(stages))
            last = self._add_up(run, stage)
            if stage == COUNTS:
                counts = write_sums(self.run_folder.sums(stage), last)
            elif stage == LEARN:
                words = encoder_of(self.model, method, refine, counts).words
                arrays = method.conclude(words, gathered_sums(last))
                learnt = write_sums(self.run_folder.sums(stage), arrays)
        words = encoder_of(self.model, method, refine, counts).words
        learnt_arrays = {} if learnt is None else read_sums(Place.of(learnt.address))
        unfitted = Encoder(words, method, refine)
        fitted = unfitted.conclude(learnt_arrays, summed_moments(last), last["seen"])
        return fitted, last, before

    def _sum_shards(self, run: Run, job: SumShard, at: int, passes: int) -> int:
        """Add up every shard that is not yet; gives how many were."""
        self.run_folder.prepare(job.stage, BAD)
        folder = self.run_folder.folder / job.stage
        names = folder.sizes()
        left = [shard for shard in self.plan.shards if f"{shard.number}.npz" not in names]
        report = ShardProgress(self.progress, folder, self.plan.shards, at, passes)
        if left:
            for outcome in outcomes_of(run, job, left, self.run_folder.folder, report.tick):
                report(outcome)
        return len(self.plan.shards) - len(left)

    def outcomes(self, stage: str) -> dict[int, Outcome]:
        """How many records and bad ones every shard has, as its sums say."""
        outcomes = {}
        for shard in self.plan.shards:
            sums = read_sums(self.run_folder.sums(stage, shard.number))
            outcomes[shard.number] = {name: int(sums[name]) for name in ("records", "bad")}
        return outcomes

    def _add_up(self, run: Run, stage: str) -> Sums:
        """The sum of all shards as a tree: each task adds up `FAN` files, until so few are left to add up here."""
        files = [self.run_folder.sums(stage, shard.number).address for shard in self.plan.shards]
        folder = self.run_folder.folder
        level = 0
        while len(files) > FAN:
            level += 1
            name = f"{stage}-{level}"
            (folder / name).make()
            branches = [
                Branch(at, files[first], tuple(files[first : first + FAN]))
                for at, first in enumerate(range(0, len(files), FAN))
            ]
            for _ in outcomes_of(run, AddBranch(folder.address, name), branches, folder):
                pass
            files = [self.run_folder.sums(name, branch.number).address for branch in branches]
        return added(read_sums(Place.of(file)) for file in files)
