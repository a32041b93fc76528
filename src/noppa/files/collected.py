"""The texts of records in a file of a scratch folder: what needs all of them, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.files.background import read_ahead
from noppa.files.checkpoint import Outcome
from noppa.files.fingerprint import FileStatus, file_statuses
from noppa.files.job import ON_ERROR
from noppa.files.read import Input, read
from noppa.files.record_file import STDIN, SpooledInput
from noppa.io.stored_texts import StoredTexts
from noppa.parameters import one_of


@dataclass(frozen=True, eq=False)
class Collected:
    """Texts of records; records (texts,): the number of the record of each, from 0 on."""

    texts: StoredTexts
    records: NDArray[np.int64]
    outcome: Outcome
    statuses: dict[str, FileStatus] = field(default_factory=dict)
    """Of the files before they were read, to tell whether they were changed since."""
    stdin: SpooledInput | None = None
    """The copy of standard input, where it was one of the inputs and is read again."""


def collected(
    source: Input,
    folder: Path,
    name: str,
    on_error: str = "raise",
    spool: bool = False,
    progress: Callable[[int, int], None] = lambda records, position: None,
) -> Collected:
    """Every text of the input in a file of the folder.

    on_error: "raise", "skip" to leave out a bad record, "empty" to take it for an empty text.
    spool: copy standard input, so that it can be read again.
    """
    one_of(on_error, "on_error", ON_ERROR)
    outcome, records = Outcome(), []
    statuses = file_statuses(source.paths)
    stdin = SpooledInput.of(folder / f"{name}-input") if spool and STDIN in source.paths else None
    with StoredTexts(folder / f"{name}-texts") as texts:
        for batch in read_ahead(read(source, stdin=stdin)):
            first = outcome.records
            outcome.count(batch)
            if batch.bad and on_error == "raise":
                fault = batch.bad[0][1]
                raise FileError(f"{fault}; mend it, or pass --on-error skip or --on-error empty")
            bad = {at for at, _ in batch.bad} if on_error == "skip" else set()
            chosen = [at for at in range(len(batch.texts)) if at not in bad]
            texts.add(batch.texts[at] or "" for at in chosen)
            records.append(first + np.array(chosen, np.int64))
            progress(outcome.records, batch.position)
    outcome.rows = len(texts)
    numbers = np.concatenate([np.empty(0, np.int64), *records])
    return Collected(texts, numbers, outcome, statuses, stdin)
