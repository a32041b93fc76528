"""Labelled texts from any file: what a classifier is trained on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from noppa.errors import FileError, ParameterError
from noppa.files.batch import Batch
from noppa.files.columns import LISTED
from noppa.files.fingerprint import file_statuses, refuse_changed
from noppa.files.read import Input, read

#: Called with the records done and the bytes of input read.
Progress = Callable[[int, int], None]


@dataclass
class Labelled:
    """Texts, or both sides of pairs, with a label a row, or a list of labels; numbers: of the records, from 1 on."""

    sides: tuple[list[str], ...]
    labels: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """What was wrong with the records that were left out."""

    @property
    def texts(self) -> Any:
        """As `Classifier.fit` takes them."""
        return self.sides[0] if len(self.sides) == 1 else self.sides


def read_labelled(
    source: Input,
    columns: Sequence[str | None],
    label: str,
    separator: str | None = None,
    skip: bool = False,
    progress: Progress | None = None,
) -> Labelled:
    """All records of files with the texts in one or two `columns` and their `label`.

    separator: what divides the labels of a record that has several; a list of labels needs none. skip: leave a record
    without a text or a label out, in place of an error.
    """
    if len(columns) > 2:
        raise ParameterError(f"a row has one text or two, and {len(columns)} columns are named")
    before = file_statuses(source.paths)
    found = Labelled(tuple([] for _ in columns))
    number = 0
    for batch in read(replace(source, column=columns[0], records=True)):
        _add(batch, found, number, columns, label, separator, skip)
        number += len(batch.texts)
        if progress is not None:
            progress(number, batch.position)
    refuse_changed(before)
    if not found.labels:
        raise FileError(
            f"{', '.join(source.paths)}: there is no labelled record: give a file with rows"
        )
    return found


def _add(
    batch: Batch,
    found: Labelled,
    first: int,
    columns: Sequence[str | None],
    label: str,
    separator: str | None,
    skip: bool,
) -> None:
    faults = dict(batch.bad)
    for at, (text, record) in enumerate(zip(batch.texts, batch.records or [], strict=True)):
        others = [record.get(column or "") for column in columns[1:]]
        fault = faults.get(at, "") or _fault(record, label, columns[1:], f"record {first + at + 1}")
        if fault and not skip:
            raise FileError(f"{fault}; mend it, or pass --on-error skip")
        if fault:
            found.skipped.append(fault)
            continue
        for side, one in zip(found.sides, (text, *others), strict=True):
            side.append(str(one))
        found.labels.append(_label(record[label], separator))
        found.numbers.append(first + at + 1)


def _fault(record: dict[str, Any], label: str, columns: Sequence[str | None], where: str) -> str:
    """What is wrong with a record; a column that the first record lacks is wrong with the whole file."""
    for name in (label, *columns):
        if name is not None and name not in record:
            listed = ", ".join(str(one)[:LISTED] for one in list(record)[:LISTED])
            if where == "record 1":
                raise ParameterError(f"there is no column {name!r}: choose one from {listed}")
            return f"{where} has no {name!r}"
        if name is not None and record[name] in (None, ""):
            return f"{where} has an empty {name!r}"
    return ""


def _label(value: Any, separator: str | None) -> Any:
    if separator is None or not isinstance(value, str):
        return value
    return [one.strip() for one in value.split(separator) if one.strip()]
