"""One run from records to labels on this machine: as `Job`, with the other columns kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from noppa.classify.classifier import Classifier
from noppa.errors import FileError, ParameterError
from noppa.files.batch import Batch
from noppa.files.checkpoint import Outcome
from noppa.files.encode_stream import EncodeStream
from noppa.files.job import Job
from noppa.files.record_writers import RECORD_WRITERS
from noppa.files.write import Writer
from noppa.io.storage import header_checksum

PROBABILITY = "probability"


@dataclass(frozen=True)
class PredictJob(Job):
    """Labels of `source` into `target`; `model` is a `Classifier` that was loaded from `folder`.

    columns: the texts of a record, two for a model on pairs. into: the column for the label; each probability goes into a
    column named after its class with `every`.
    """

    folder: Path = field(default_factory=Path)
    columns: Sequence[str | None] = (None,)
    into: str = "predicted"
    every: bool = False

    def __post_init__(self) -> None:
        paired = self.model.contents.features.paired
        if len(self.columns) != 1 + paired:
            raise ParameterError(
                f"the model was trained on {'pairs' if paired else 'single texts'}: name "
                f"{'two columns' if paired else 'one column'} with --text"
            )
        super().__post_init__()

    @property
    def writers(self) -> Mapping[str, type[Writer]]:
        return RECORD_WRITERS

    @property
    def model_folders(self) -> list[Path | None]:
        return [self.folder]

    @property
    def dim(self) -> int:
        return 1

    @property
    def model_checksum(self) -> str:
        return header_checksum(self.folder)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return {**super()._facts, "output columns": [self.into, self.every, list(self.columns)]}

    def stream(self, file: IO[bytes], outcome: Outcome) -> EncodeStream:
        writer = self.writer(file, self.dim, outcome.rows)
        return PredictStream(self._labelled, writer, file, self.on_error, outcome, self.progress)

    def _labelled(self, texts: list[str], records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The records with what was predicted for them."""
        model: Classifier = self.model
        sides = [texts, *([_text(record, name) for record in records] for name in self.columns[1:])]
        p = model.predict_proba(tuple(sides) if len(sides) == 2 else texts)
        labels = model.labels_of(p).tolist()
        names = [str(one) for one in model.classes_.tolist()] if self.every else [PROBABILITY]
        values = p if self.every else p.max(axis=1, keepdims=True)
        rows = []
        for record, label, row in zip(records, labels, values.round(6).tolist(), strict=True):
            more = {self.into: list(label) if isinstance(label, tuple) else label}
            more |= zip(names, row, strict=True)
            if taken := record.keys() & more.keys():
                raise ParameterError(
                    f"the input has a column {min(taken, key=str)!r} already: choose another name with --into"
                    if self.into in taken
                    else f"the input has a column {min(taken, key=str)!r} already: rename it"
                )
            rows.append({**record, **more})
        return rows


@dataclass
class PredictStream(EncodeStream):
    """Batches through a classifier: `encode` takes texts and the records that they are in."""

    def rows_of(self, batch: Batch) -> tuple[Any, ...]:
        first = self.outcome.records
        numbers, texts = self.chosen(batch)
        records = batch.records or []
        return numbers, self.encode(texts, [records[at - first] for at in numbers.tolist()])


def _text(record: dict[str, Any], name: str | None) -> str:
    value = record.get(name or "")
    if not isinstance(value, str):
        raise FileError(f"a record has no text in {name!r}: mend it, or leave it out")
    return value
