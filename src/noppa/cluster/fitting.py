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
from noppa.cluster.manifest import MANIFEST, Manifest, alone, compare, readable
from noppa.cluster.models import Model
from noppa.cluster.outcomes import bad_rows, finished, raise_bad
from noppa.cluster.places import Place
from noppa.cluster.plan import SHARD_SIZE, Plan, found_files, planned
from noppa.cluster.progress import Progress, Teller
from noppa.cluster.request import Request, input_facts, program_facts, refuse_inputs, wanted_input
from noppa.cluster.shard import BAD, BAD_ROWS
from noppa.cluster.sums import (
    COUNTS,
    FAN,
    LEARN,
    MOMENTS,
    Adding,
    Branch,
    Gathering,
    Sums,
    added,
    encoder_of,
    read_sums,
    summed_moments,
    write_sums,
)
from noppa.cluster.tasks import Run
from noppa.encoder.encoder import Encoder
from noppa.encoder.encoder_folder import KIND
from noppa.errors import FileError, ParameterError
from noppa.io.storage import kind_of
from noppa.methods import Average, registry
from noppa.methods.protocol import TEXT
from noppa.parameters import one_of

FREQUENCIES = ("corpus", "model")
#: In the folder of the encoder: what it was fitted from, so that a second run knows that it has nothing to do.
RECORD = "cluster.json"


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
    on_bad: str = "error",
    form: str | None = None,
    header: bool = True,
    shard_size: int = SHARD_SIZE,
    work: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> FitReport:
    """Fit an encoder on files, and save it in the folder `output`, from where `noppa.load` opens it.

    model: an encoder, fitted or not, whose words, method and refinements are taken; its folder or a preset; the embedded
        one where None. What it had learnt before is forgotten.
    frequencies: "corpus" counts the words of the input, for methods that weigh words by how rare they are; "model" takes
        the probabilities that the words have.
    work: a folder that all workers see, for sums on their way; beside the output where None, and removed at the end.

    The other arguments, and what happens when the same call is made again, are those of `encode`.
    """
    request = Request(engine, scheduler, workers, on_bad, shard_size)
    one_of(frequencies, "frequencies", FREQUENCIES)
    start = time.perf_counter()
    encoder = model if isinstance(model, Encoder) else noppa.load(model)
    counted = frequencies == "corpus" and encoder.method.needs_probabilities
    stages = _stages(encoder, counted)
    wanted = wanted_input(inputs, form, column, header)
    target = Place.of(output)
    if not target.is_local:
        raise ParameterError(f"{target}: an encoder is saved on this machine's disk: give a path")
    folder = Path(target.path)
    files = found_files(wanted)
    refuse_inputs(target, wanted.paths, files, encoder)
    if work is not None:
        refuse_inputs(Place.of(work), wanted.paths, files, encoder)
    with _saved(encoder) as found:
        asked = {
            "model": found.checksum,
            "method": repr(encoder.method),
            "refinement": [registry.described(part) for part in encoder.refine],
            "source of frequencies": counted,
            **input_facts(wanted, files),
            "on_bad": on_bad,
            **program_facts(found),
        }
        books = Place.of(work or folder.with_name(f".{folder.name}.work"))
        if folder.exists() and not _unrecorded(target, books):
            return _rested(target, asked)
        if not folder.parent.is_dir():
            raise FileError(f"cannot write {folder}: the folder {folder.parent} does not exist")
        manifest = Manifest(books, f"the work for {folder}", asked)
        with alone(books, target.address):
            plan = manifest.plan(lambda: planned(files, wanted, request.shard_size, []))
            if not plan.shards:
                raise FileError(f"{files[0].place} is empty: there is nothing to fit on")
            run = _Fit(found, encoder, plan, books, counted, on_bad, progress)
            with request.started() as engine_run:
                fitted, last, before = run.passes(engine_run, stages)
            for file in files:
                if file.place.fingerprint() != (file.size, file.mark):
                    raise FileError(f"{file.place} was changed while it was read: run again")
            fitted.save(folder)
            if int(last["bad"]):
                (target / BAD_ROWS).write_lines(bad_rows(books, plan, run.outcomes(stages[-1])))
            report = FitReport(
                len(plan.shards), stages, before, int(last["records"]), int(last["bad"]), fitted.fitted_on,
                time.perf_counter() - start,
            )  # fmt: skip
            (target / RECORD).write_json({"asked": asked, "report": asdict(report)})
            books.remove()
            return report


def _stages(encoder: Encoder, counted: bool) -> list[str]:
    """The passes that a fit needs, or an error for a method that no sums can fit."""
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
    learns, refines = method.learns, bool((*method.refinements(), *encoder.refine))
    stages = [COUNTS] * counted + [LEARN] * learns + [MOMENTS] * refines
    if not stages:
        raise ParameterError(
            f"{method!r} has nothing to learn from text: choose a method that has, set k, or count frequencies"
        )
    # what was seen is known after any pass but that of the counts
    return stages if stages != [COUNTS] else [COUNTS, MOMENTS]


@contextmanager
def _saved(encoder: Encoder) -> Iterator[Model]:
    """The words in a folder where workers find them: the one they came from, or a temporary one."""
    if encoder.path is not None:
        yield Model.of(encoder)
        return
    with tempfile.TemporaryDirectory(prefix="noppa-words-") as folder:
        path = Path(folder, "words")
        Encoder(encoder.words, Average()).save(path)
        yield Model.of(Encoder.load(path))


def _unrecorded(target: Place, books: Place) -> bool:
    """Whether a run was killed after it had saved its encoder and before it had written down how it was made."""
    saved = kind_of(Path(target.path)) == KIND
    return saved and (books / MANIFEST).exists() and not (target / RECORD).exists()


def _rested(target: Place, asked: dict[str, Any]) -> FitReport:
    """The report of an earlier run that made the same encoder."""
    if kind_of(Path(target.path)) != KIND or not (target / RECORD).exists():
        raise FileError(f"{target} holds something else already: choose another name or remove it")
    content = (target / RECORD).json()
    with readable(target / RECORD):
        compare(content["asked"], asked, target.address)
        return FitReport(**content["report"])


class _Fit:
    """The passes over the shards, each with the sums of the one before."""

    def __init__(
        self,
        model: Model,
        encoder: Encoder,
        plan: Plan,
        books: Place,
        counted: bool,
        on_bad: str,
        progress: Progress | None,
    ) -> None:
        self.model, self.encoder, self.plan, self.books = model, encoder, plan, books
        self.counted, self.on_bad, self.progress = counted, on_bad, progress

    def passes(self, run: Run, stages: Sequence[str]) -> tuple[Encoder, Sums, int]:
        """The fitted encoder, the sums of the last pass, and how many shards had been done before."""
        counts = learnt = None
        last: Sums = {}
        method: Any = self.encoder.method
        before = 0
        for at, stage in enumerate(stages):
            job = Gathering(
                self.model, self.plan.fields, self.books.address, stage, method, self.encoder.refine,
                counts, learnt, self.on_bad,
            )  # fmt: skip
            before += self._gathered(run, job, at, len(stages))
            result = self.books / f"{stage}.npz"
            last = self._tree(run, stage)
            if stage == COUNTS:
                counts = write_sums(result, last)
            elif stage == LEARN:
                fresh = encoder_of(self.model, method, self.encoder.refine, counts)
                sums = {
                    name.removeprefix("method."): array
                    for name, array in last.items()
                    if name.startswith("method.")
                }
                learnt = write_sums(result, method.conclude(fresh.words, sums))
        words = encoder_of(self.model, method, self.encoder.refine, counts).words
        fitted = Encoder(words, method, self.encoder.refine)
        found = {} if learnt is None else read_sums(Place.of(learnt.address))
        return fitted.conclude(found, summed_moments(last), last["seen"]), last, before

    def _gathered(self, run: Run, job: Gathering, at: int, passes: int) -> int:
        """Add up every shard that is not yet; gives how many were."""
        folder = self.books / job.stage
        for place in (folder, self.books / BAD):
            place.make()
        Manifest.clear(folder)
        names = folder.sizes()
        left = [shard for shard in self.plan.shards if f"{shard.number}.npz" not in names]
        done = len(self.plan.shards) - len(left)
        tell = Teller(self.progress, folder, self.plan.shards, at, passes)
        for outcome in finished(run, job, left, self.books, tell.tick) if left else ():
            raise_bad(outcome, self.plan)
            tell(outcome)
        return done

    def outcomes(self, stage: str) -> dict[int, dict[str, Any]]:
        """Records and bad ones of every shard, as its sums have them."""
        found = {}
        for shard in self.plan.shards:
            sums = read_sums(self.books / stage / f"{shard.number}.npz")
            found[shard.number] = {name: int(sums[name]) for name in ("records", "bad")}
        return found

    def _tree(self, run: Run, stage: str) -> Sums:
        """The sum of all shards: each task adds a few, until few enough are left to add here."""
        leaves = [
            (self.books / stage / f"{shard.number}.npz").address for shard in self.plan.shards
        ]
        level = 0
        while len(leaves) > FAN:
            level += 1
            name = f"{stage}-{level}"
            (self.books / name).make()
            branches = [
                Branch(at, leaves[first], tuple(leaves[first : first + FAN]))
                for at, first in enumerate(range(0, len(leaves), FAN))
            ]
            for _ in finished(
                run, Adding(self.books.address, name), branches, self.books, _nothing
            ):
                pass
            leaves = [(self.books / name / f"{branch.number}.npz").address for branch in branches]
        return added(read_sums(Place.of(leaf)) for leaf in leaves)


def _nothing() -> None:
    pass
