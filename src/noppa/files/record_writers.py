"""Writers of whole records with what was predicted for them: CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa.errors import FileError
from noppa.files.kept_columns import cell_text
from noppa.files.write import TextLines, header_of

Record = dict[str, Any]


class RecordJsonl(TextLines):
    """One object a line."""

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file)

    def write(self, numbers: NDArray[np.int64], rows: list[Record]) -> None:
        lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in rows)
        self.file.write("".join(lines).encode("utf-8", "replace"))


class RecordCsv(RecordJsonl):
    """A table with the columns of the first record, which all others must have too."""

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file, dim, rows)
        self.names: list[str] = []
        if rows:
            self.names = header_of(file)

    def write(self, numbers: NDArray[np.int64], rows: list[Record]) -> None:
        text = io.StringIO(newline="")
        table = csv.writer(text, lineterminator="\n")
        if not self.names and rows:
            self.names = list(rows[0])
            table.writerow(self.names)
        for row in rows:
            if row.keys() - self.names:
                name = min(row.keys() - self.names, key=str)
                raise FileError(
                    f"a record has the column {name!r}, which the first one lacks: write .jsonl, which holds any record"
                )
            table.writerow([cell_text(row.get(name)) for name in self.names])
        self.file.write(text.getvalue().encode("utf-8", "replace"))


RECORD_WRITERS: dict[str, type[Any]] = {"csv": RecordCsv, "jsonl": RecordJsonl}
