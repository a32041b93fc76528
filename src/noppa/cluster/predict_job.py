"""`predict`: labels for texts of any amount as Parquet, on an engine; the same shards, manifest and resuming as `encode`."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from noppa import _native as kernels
from noppa.classify.classifier import Classifier, load_classifier
from noppa.classify.labels import ONE
from noppa.cluster.encode_job import EncodeShard, Report, checked_plan, program_facts, run_shards
from noppa.cluster.engines import RunOptions, checked_on_error
from noppa.cluster.manifest import Progress
from noppa.cluster.plan import SHARD_SIZE, Inputs, Plan
from noppa.cluster.shard_task import MODEL, ModelMissing, use_instructions
from noppa.errors import FileError, NoppaWarning, ParameterError
from noppa.files.batch import Batch
from noppa.files.places import Place
from noppa.files.predictions import PROBABILITY
from noppa.files.record_formats.parquet import pyarrow_parquet
from noppa.io.hub import locate
from noppa.io.storage import header_checksum


def predict(
    inputs: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    model: str | os.PathLike[str],
    *,
    column: str | None = None,
    engine: str = "dask",
    scheduler: str | None = None,
    workers: int | None = None,
    on_error: str = "raise",
    keep: Sequence[str] | None = None,
    into: str = "predicted",
    form: str | None = None,
    header: bool = True,
    encoding: str | None = None,
    delimiter: str | None = None,
    shard_size: int = SHARD_SIZE,
    progress: Progress | None = None,
) -> Report:
    """Label files into a folder of Parquet parts, in order, with the labels in the column `into` and their probability.

    model: the folder of a classifier on single texts. All else is as in `encode`, also that the same call again resumes.
    """
    on_error = checked_on_error(on_error)
    options = RunOptions(engine, scheduler, workers, on_error, shard_size)
    model = locate(str(model))
    sent = SentClassifier(str(Path(model).absolute()), header_checksum(Path(model)))
    if sent.open().contents.features.paired:
        raise ParameterError("a classifier of pairs reads two columns: use `noppa predict` for it")
    source, target = Inputs.of(inputs, form, column, header, encoding, delimiter), Place.of(output)
    source.refuse_as_output(target, [Path(model)])
    facts = {
        "model": sent.checksum,
        **source.facts(),
        "set of options": [on_error, keep and list(keep), into],
        **program_facts(sent.instructions),
    }

    def shard_job(plan: Plan) -> PredictShard:
        return PredictShard(sent, plan.fields, target.address, into, on_error=on_error)

    def plan() -> Plan:
        return checked_plan(source.plan(options.shard_size, keep), [into, PROBABILITY])

    return run_shards(options, source, target, facts, plan, shard_job, progress)


@dataclass(frozen=True)
class SentClassifier:
    """A classifier on a worker: found in its folder, or where the driver sent it; see `shard_task.Model`."""

    folder: str
    checksum: str
    sent: str | None = None
    instructions: str = field(default_factory=kernels.instruction_set)

    def open(self) -> Classifier:
        use_instructions(self.instructions)
        return _opened(self.folder, self.checksum, self.sent)

    def send(self, folder: Place) -> SentClassifier:
        """Copy the classifier into a folder that the workers see; the embedded words are there with noppa itself."""
        target, source = folder / f"{MODEL}{self.checksum[:16]}", Path(self.folder)
        for file in sorted(source.rglob("*")):
            if file.is_file():
                copy = target / file.relative_to(source).as_posix()
                Place(copy.files, copy.path.rpartition("/")[0]).make()
                copy.write(file.read_bytes())
        return replace(self, sent=target.address)


@lru_cache(maxsize=2)
def _opened(folder: str, checksum: str, sent: str | None) -> Classifier:
    with suppress(FileError):
        if header_checksum(Path(folder)) == checksum:
            return load_classifier(folder)
    if sent is None:
        raise ModelMissing(f"no classifier with the checksum {checksum} in {folder} on this worker")
    place = Place.of(sent)
    if place.is_local:
        return load_classifier(place.path)
    with tempfile.TemporaryDirectory() as fetched:  # a classifier is small and is read whole
        place.files.get(f"{place.path}/", f"{fetched}/", recursive=True)
        return load_classifier(fetched)


@dataclass(frozen=True)
class PredictShard(EncodeShard):
    """What a worker does with each shard: `column` is for the labels."""

    def _writer(self, path: str) -> Any:
        return LabelWriter(path, self.fields.schema, self.column, self.model.open())

    def _write(self, batch: Batch, part: Any, counts: dict[str, int]) -> None:
        columns, texts = self.chosen(batch)
        classifier: Classifier = self.model.open()
        classifier.threads = 1  # a worker is one of many on its machine
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NoppaWarning)
            p = classifier.predict_proba(texts)
        counts["rows"] += len(texts)
        part.write(
            columns, classifier.labels_of(p).tolist(), p.max(axis=1) if len(p) else np.zeros(0)
        )


class LabelWriter:
    """A Parquet file of kept columns, the label and its probability."""

    def __init__(self, path: str, columns: Any, name: str, classifier: Classifier) -> None:
        parquet = pyarrow_parquet()
        import pyarrow

        kind = pyarrow.array(classifier.classes_.tolist()).type
        if classifier.contents.labels.kind != ONE:
            kind = pyarrow.list_(kind)
        label = pyarrow.field(name, kind)
        probability = pyarrow.field(PROBABILITY, pyarrow.float64())
        self.schema = columns.append(label).append(probability)
        self.file = parquet.ParquetWriter(path, self.schema)

    def write(self, columns: Any, labels: list[Any], probabilities: Any) -> None:
        import pyarrow

        values = [list(one) if isinstance(one, tuple) else one for one in labels]
        label = pyarrow.array(values, self.schema.field(len(self.schema) - 2).type)
        arrays = [*columns.columns, label, pyarrow.array(probabilities)]
        self.file.write_batch(pyarrow.record_batch(arrays, schema=self.schema))

    def __enter__(self) -> LabelWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self.file.close()
            return
        with suppress(Exception):  # the error that ended the block is the one to report
            self.file.close()
