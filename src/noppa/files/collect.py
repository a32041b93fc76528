"""Read whole inputs: labelled rows into memory, or texts into a file of a scratch folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError, ParameterError
from noppa.files.checkpoint import FileStatus, Outcome, file_statuses, refuse_changed
from noppa.files.formats import LISTED, Batch, Input, Record
from noppa.files.inputs import STDIN, InputFile, copy_stdin
from noppa.files.read import ON_ERROR, read, read_ahead
from noppa.io.stored_texts import StoredTexts
from noppa.parameters import one_of

#: Called with the rows done and the bytes of input read.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Collected:
    """The texts of an input.

    Attributes:
        texts: The texts, in a file.
        records: The number of each text's row (texts,), from 0.
        outcome: Counts of good and bad rows.
        statuses: The status of each file before it was read.
        stdin: The copy of standard input, if it is read again.
    """

    texts: StoredTexts
    records: NDArray[np.int64]
    outcome: Outcome
    statuses: dict[str, FileStatus] = field(default_factory=dict)
    stdin: InputFile | None = None


def collected(
    source: Input,
    folder: Path,
    name: str,
    on_error: str = "raise",
    spool: bool = False,
    progress: Progress = lambda rows, position: None,
) -> Collected:
    """Store every text of an input in a file.

    Args:
        source: The input.
        folder: A scratch folder.
        name: A name for the files in it.
        on_error: "raise", "skip" to leave bad rows out, "empty" to take them for empty texts.
        spool: Copy standard input, so that it can be read again.
        progress: Is called with the rows done and the bytes read.
    """
    one_of(on_error, "on_error", ON_ERROR)
    outcome, numbers = Outcome(), [np.empty(0, np.int64)]
    statuses = file_statuses(source.paths)
    stdin = copy_stdin(folder / f"{name}-input") if spool and STDIN in source.paths else None
    with StoredTexts(folder / f"{name}-texts") as texts:
        for batch in read_ahead(read(source, stdin)):
            first = outcome.records
            outcome.count(batch)
            if batch.bad and on_error == "raise":
                raise FileError(
                    batch.bad[0][1], "fix it, or pass on_error='skip' or on_error='empty'"
                )
            bad = {row for row, _ in batch.bad} if on_error == "skip" else set()
            rows = [row for row in range(len(batch.texts)) if row not in bad]
            texts.add(batch.texts[row] or "" for row in rows)
            numbers.append(first + np.array(rows, np.int64))
            progress(outcome.records, batch.position)
    outcome.rows = len(texts)
    return Collected(texts, np.concatenate(numbers), outcome, statuses, stdin)


@dataclass
class Labelled:
    """Labelled texts.

    Attributes:
        sides: The texts, or both sides of pairs.
        labels: The label of each row, or its list of labels.
        numbers: The number of each row, from 1.
        skipped: What is wrong with the rows that were left out.
    """

    sides: tuple[list[str], ...]
    labels: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    @property
    def texts(self) -> Any:
        """The texts as `Classifier.fit` takes them."""
        return self.sides[0] if len(self.sides) == 1 else self.sides


def read_labelled(
    source: Input,
    columns: Sequence[str | None],
    label: str,
    separator: str | None = None,
    skip: bool = False,
    progress: Progress | None = None,
) -> Labelled:
    """Read texts and their labels.

    Args:
        source: The input.
        columns: The column with the text, or the two columns of pairs.
        label: The column with the label.
        separator: Splits a label into several; a list of labels needs none.
        skip: Leave out a row without a text or a label, instead of raising.
        progress: Is called with the rows done and the bytes read.
    """
    if len(columns) > 2:
        raise ParameterError(f"a row has one text or two, not {len(columns)}")
    before = file_statuses(source.paths)
    labelled = Labelled(tuple([] for _ in columns))
    number = 0
    for batch in read(replace(source, column=columns[0], records=True)):
        _add(labelled, batch, number, columns, label, separator, skip)
        number += len(batch.texts)
        if progress is not None:
            progress(number, batch.position)
    refuse_changed(before)
    if not labelled.labels:
        raise FileError(f"{', '.join(source.paths)} contains no labelled row")
    return labelled


def _add(
    labelled: Labelled,
    batch: Batch,
    first: int,
    columns: Sequence[str | None],
    label: str,
    separator: str | None,
    skip: bool,
) -> None:
    faults = dict(batch.bad)
    rows = zip(batch.texts, batch.records or [], strict=True)
    for number, (text, record) in enumerate(rows, first + 1):
        fault = faults.get(number - first - 1) or _fault(record, [label, *columns[1:]], number)
        if fault and not skip:
            raise FileError(fault, "fix it, or pass on_error='skip'")
        if fault:
            labelled.skipped.append(fault)
            continue
        others = [record.get(column or "") for column in columns[1:]]
        for side, value in zip(labelled.sides, (text, *others), strict=True):
            side.append(str(value))
        value = record[label]
        if separator is not None and isinstance(value, str):
            value = [part.strip() for part in value.split(separator) if part.strip()]
        labelled.labels.append(value)
        labelled.numbers.append(number)


def _fault(record: Record, columns: Sequence[str | None], number: int) -> str:
    """Return what is wrong with a row; raise if the first row lacks a column."""
    for name in columns:
        if name is not None and name not in record:
            if number == 1:
                names = ", ".join(str(name)[:LISTED] for name in list(record)[:LISTED])
                raise ParameterError(f"there is no column {name!r}", f"the input has {names}")
            return f"row {number} has no {name!r}"
        if name is not None and record[name] in (None, ""):
            return f"row {number} has an empty {name!r}"
    return ""
