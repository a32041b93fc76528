"""Run jobs on Dask or Spark: one task per input file, one part per task.

    job = partial(Job, noppa.load("similarity"))
    run_parts(job, Input(["s3://bucket/reviews/*.csv"]), "s3://bucket/vectors", engine="spark")

A task runs the same job as one machine does, so a part has the same bytes as `noppa encode FILE -o PART`. The folder
`_noppa` of the output records what the job is and which parts are finished. Running the same job again, on either engine,
does only the missing parts.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import Encoder
from noppa import _native as kernels
from noppa.encoder.encoder import FIT_BLOCK
from noppa.encoder.fitting import Counted, moments_of
from noppa.errors import FileError, ParameterError
from noppa.extras import needs
from noppa.files import Input, Outcome, read
from noppa.io.paths import folders_of, refuse_input_as_output
from noppa.methods import Average, registry
from noppa.methods.method import SUMS, TEXT, Method
from noppa.parameters import one_of
from noppa.refine import Moments, Refinement
from noppa.words.texts import blocks_of

ENGINES = ("dask", "spark")
RUN_FOLDER = "_noppa"

Sums = dict[str, NDArray[Any]]
#: Makes the job of one part: called with `source=`, `target=` and `overwrite=`; the job has `run()` and `facts`.
MakeJob = Callable[..., Any]


def run_parts(
    make_job: MakeJob,
    source: Input,
    folder: str | os.PathLike[str],
    suffix: str = "parquet",
    engine: str = "dask",
    scheduler: str | None = None,
) -> Outcome:
    """Run a job for every input file on an engine, and write `part-00000.SUFFIX` and so on into a folder.

    Args:
        make_job: Returns the job of one part, such as `partial(Job, encoder)`.
        source: The input. Its paths may be files, folders and patterns, on any file system of fsspec.
        folder: The output, which every worker can reach.
        suffix: The output format.
        engine: "dask" or "spark".
        scheduler: The address of a running cluster; None starts one on this machine.

    Raises:
        FileError: The folder belongs to another job, or the input has changed.
    """
    one_of(engine, "engine", ENGINES)
    files, root = _open(folder)
    paths = expand_paths(source.paths)
    sample = make_job(source=replace(source, paths=()), target=f"part.{suffix}")
    model = getattr(sample, "model", None)
    if isinstance(model, Encoder) and model.identity.path is None:
        raise ParameterError(
            "workers open an encoder by its path", "save it, and load it from there"
        )
    if _is_local(files):
        refuse_input_as_output(root, [*paths, *getattr(sample, "model_folders", [])])
    manifest = {
        "input": [[path, _fingerprint(path)] for path in paths],
        **{name: fact for name, fact in sample.facts.items() if name != "input"},
    }
    _check_manifest(files, root, manifest)
    names = [f"part-{number:05d}.{suffix}" for number in range(len(paths))]
    finished = _finished_parts(files, root, names)
    parts = [part for part in zip(paths, names, strict=True) if part[1] not in finished]
    if parts:
        task = partial(_run_part, make_job, source, os.fspath(folder), kernels.instruction_set())
        import_module(f"noppa.integrations.{engine}").run_tasks(task, parts, scheduler)
        finished = _finished_parts(files, root, names)
    for path, fingerprint in manifest["input"]:
        if _fingerprint(path) != fingerprint:
            raise FileError(f"{path} changed while it was read", f"remove {folder} and run again")
    if lost := next((name for name in names if name not in finished), None):
        raise FileError(
            f"a worker wrote {lost}, and it is not in {folder}",
            "choose a folder that every machine can reach",
        )
    return sum((Outcome(**finished[name]) for name in names), Outcome())


def expand_paths(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    """Return the files that paths name: a file, all files of a folder, or the matches of a pattern."""
    expanded: list[str] = []
    for path in paths:
        files, root = _open(path)
        if files.isfile(root):
            found = [root]
        elif files.isdir(root):
            # Hidden files and markers such as `_SUCCESS` are not data.
            inside = {file: file.removeprefix(root) for file in files.find(root)}
            found = [file for file, path in inside.items() if not re.search(r"(^|/)[_.]", path)]
        else:
            found = [file for file in files.glob(root) if files.isfile(file)]
        if not found:
            raise FileError(f"{os.fspath(path)} does not exist, or contains no files")
        expanded += sorted(found if _is_local(files) else map(files.unstrip_protocol, found))
    return expanded


def _run_part(
    make_job: MakeJob, source: Input, folder: str, instructions: str, part: tuple[str, str]
) -> None:
    """Run the job of one part on a worker, and record that it is finished."""
    if instructions not in kernels.instruction_sets():  # it decides the last bits of a vector
        raise ParameterError(
            f"a worker lacks the instruction set {instructions}, and would compute other bytes",
            f"set NOPPA_ISA={kernels.instruction_sets()[0]} where you start the job",
        )
    kernels.use_instruction_set(instructions)
    path, name = part
    files, root = _open(folder)
    here = _is_local(files)
    with nullcontext(root) if here else tempfile.TemporaryDirectory() as work:
        target = Path(work, name)
        job = make_job(source=replace(source, paths=[path]), target=str(target), overwrite=True)
        outcome = {**asdict(job.run()), "bytes": target.stat().st_size}
        if not here:
            files.put_file(str(target), f"{root}/{name}")
    files.pipe_file(f"{root}/{RUN_FOLDER}/{name}.json", json.dumps(outcome).encode())


# The record of a job


def _check_manifest(files: Any, root: str, manifest: dict[str, Any]) -> None:
    """Write what the job is, or raise if the folder belongs to another job."""
    path = f"{root}/{RUN_FOLDER}/job.json"
    manifest = json.loads(json.dumps(manifest))
    if files.exists(path):
        try:
            before = json.loads(files.cat_file(path))
            changed = next((name for name in manifest if before[name] != manifest[name]), None)
        except (ValueError, TypeError, KeyError) as error:
            raise FileError(f"{path} is damaged ({error!r})", f"remove {root}") from error
        if changed is not None:
            raise FileError(
                f"{root} was started with a different {changed}",
                "use the same again, or choose another folder",
            )
        return
    if files.isfile(root) or (files.isdir(root) and files.ls(root, detail=False)):
        raise FileError(f"{root} contains other files", "choose a new or an empty folder")
    files.makedirs(f"{root}/{RUN_FOLDER}", exist_ok=True)
    files.pipe_file(path, json.dumps(manifest).encode())


def _finished_parts(files: Any, root: str, names: list[str]) -> dict[str, dict[str, Any]]:
    """Map the name of each finished part, whose file is complete, to its outcome."""
    files.invalidate_cache()
    sizes = {
        entry["name"].rpartition("/")[2]: entry["size"] for entry in files.ls(root, detail=True)
    }
    finished = {}
    for name in names:
        path = f"{root}/{RUN_FOLDER}/{name}.json"
        if name in sizes and files.exists(path):
            try:
                outcome = json.loads(files.cat_file(path))
                if outcome.pop("bytes") == sizes[name]:
                    finished[name] = outcome
            except (ValueError, TypeError, KeyError, AttributeError):
                continue  # its worker was killed while writing it: the part is done again
    return finished


# File systems


def _open(address: str | os.PathLike[str]) -> tuple[Any, str]:
    """Return the file system of a path or an address such as s3://bucket/folder, and the path in it."""
    with needs("dask", "a cluster", " or 'noppa[spark]'"):
        import fsspec
    files, path = fsspec.core.url_to_fs(os.fspath(address))
    return files, path.rstrip("/") or "/"


def _is_local(files: Any) -> bool:
    return "file" in files.protocol


def _fingerprint(path: str) -> str:
    """Return a hash of a file's properties, which changes with its content."""
    files, root = _open(path)
    files.invalidate_cache()
    return str(files.ukey(root))


# Fitting


def fit(
    encoder: Encoder,
    source: Input,
    work: str | os.PathLike[str],
    engine: str = "dask",
    scheduler: str | None = None,
    on_error: str = "raise",
) -> Encoder:
    """Fit an encoder on every input file, and return it.

    Each task writes sums of a fixed size, which are added in the order of the files: the result is the same on every
    engine, with any number of workers.

    Args:
        encoder: Its words, method and refinements are used; what it has learned is not.
        source: The input, as for `run_parts`, like `engine` and `scheduler`.
        work: A folder for the sums, which every worker can reach; remove it afterwards.
        on_error: "skip" or "empty" to leave bad rows out.

    Raises:
        ParameterError: The method learns from one sentence after another, or there is nothing to learn.
    """
    method = encoder.method
    if method.learning == TEXT or encoder.tokenizer is not None:
        raise ParameterError(
            f"{type(method).__name__} with this tokenizer cannot be fitted in parts",
            "fit it on one machine",
        )
    stages = [method.learning == SUMS, bool((*method.refinements(), *encoder.refine))]
    if not any(stages):
        raise ParameterError(f"{method!r} has nothing to learn from text", "choose another method")
    words = Path(work, "words")
    if not words.exists():
        words.parent.mkdir(parents=True, exist_ok=True)
        refuse_input_as_output(words, folders_of(encoder))
        Encoder(encoder.words, Average()).save(words)
    job = partial(SumJob, Encoder.load(words), method, encoder.refine, on_error=on_error)
    learned: Sums = {}
    if stages[0]:
        gathered = _add_parts(job, source, Path(work, "learn"), engine, scheduler)
        of_method = {name.partition(".")[2]: gathered[name] for name in gathered if "." in name}
        learned = dict(method.conclude(encoder.words, of_method))
        np.savez(Path(work, "learned.npz"), **learned)  # type: ignore[arg-type]
        sums = gathered
    if stages[1]:
        job = partial(job, learned=str(Path(work, "learned.npz")) if stages[0] else "none")
        sums = _add_parts(job, source, Path(work, "moments"), engine, scheduler)
    none = np.zeros(0)
    moments = Moments(
        int(sums["sentences"]), sums.get("total", none), sums.get("products", none.reshape(0, 0))
    )
    return Encoder(encoder.words, method, encoder.refine).conclude(learned, moments, sums["seen"])


def _add_parts(
    job: MakeJob, source: Input, folder: Path, engine: str, scheduler: str | None
) -> Sums:
    """Add the sums of all input files in their order."""
    run_parts(job, source, folder, "npz", engine, scheduler)
    total: Sums = {}
    for path in sorted(folder.glob("part-*.npz")):
        with np.load(path) as sums:
            total = {name: total.get(name, 0) + sums[name] for name in sums}
    return total


@dataclass(frozen=True)
class SumJob:
    """Sum up what a fit learns from one input file: first what the method gathers, then the moments of its vectors."""

    base: Encoder
    """An encoder with the words, which a worker opens by its path."""
    method: Method
    refine: tuple[Refinement, ...]
    source: Input
    target: str
    on_error: str = "raise"
    learned: str = ""
    """The file with what the method has learned, "none" if it learns nothing, "" while it gathers."""
    overwrite: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        """Return what decides the sums; the words are in the same folder."""
        parts: list[Any] = [self.method, *self.refine]
        return {
            "method": [registry.to_dict(part) for part in parts],
            "words": self.base.identity.checksum,
            "source": [self.source.format, self.source.column, self.source.header],
            "on_error": self.on_error,
        }

    def run(self) -> Outcome:
        """Write the sums to `target`."""
        outcome = Outcome()
        learned: Sums | None = {} if self.learned else None
        if Path(self.learned).is_file():
            with np.load(self.learned) as arrays:
                learned = dict(arrays)
        encoder = Encoder(self.base.words, self.method, self.refine)
        np.savez(self.target, **sums_of(encoder, self._texts(outcome), learned))  # type: ignore[arg-type]
        return outcome

    def _texts(self, outcome: Outcome) -> Iterator[str]:
        for batch in read(self.source):
            outcome.count(batch)
            if batch.bad and self.on_error == "raise":
                raise FileError(batch.bad[0][1], "fix it, or pass on_error='skip'")
            yield from (text for text in batch.texts if text is not None)


def sums_of(encoder: Encoder, texts: Iterable[str], learned: Sums | None) -> Sums:
    """Return what the method gathers from texts, or, given what it has learned, the moments of its vectors."""
    words, method = encoder.words, encoder.method
    if words.ngrams is not None:
        moments, seen = encoder.composed_moments(texts, 1)
        sums: Sums = {"total": moments.total, "products": moments.products}
        return {**sums, "seen": seen, "sentences": np.array(moments.count, np.int64)}
    counted = Counted(
        (encoder.look_up(block, 1) for block in blocks_of(texts, FIT_BLOCK)), len(words)
    )
    if learned is None:
        gathered = method.gather(words, counted)
        sums = {f"method.{name}": np.asarray(array) for name, array in gathered.items()}
    else:
        moments = moments_of(words, method, learned, counted, 1)
        sums = {"total": moments.total, "products": moments.products}
    counted.exhaust()  # a method may gather its sums without reading the texts
    return {**sums, "seen": counted.seen, "sentences": np.array(counted.sentences, np.int64)}
