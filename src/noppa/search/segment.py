"""A segment: rows of an index that never change, in memory or in a saved folder, its arrays mapped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.io import schema, storage
from noppa.search import cells, postings
from noppa.search.cells import Cells
from noppa.search.postings import Postings
from noppa.search.row_table import Row, RowTable
from noppa.text.tokenizer import Split

KIND = "index segment"
TABLE = "rows.sqlite"
FIELDS = {"fields": schema.is_texts, "table": schema.is_object}
VECTORS = {"vectors": "f4|f2|i1 rows dim", "?scales": "f4 rows positive"}


class Segment:
    """Texts with ids and metadata, their unit vectors (rows, dim), their postings and, of many rows, their cells.

    checksum: of everything in the folder; "" in memory.
    """

    def __init__(
        self, arrays: Mapping[str, NDArray[Any]], table: RowTable, checksum: str = ""
    ) -> None:
        self.arrays, self.table, self.checksum = arrays, table, checksum
        self.vectors = arrays["vectors"]
        self.scales = arrays.get("scales")
        self.postings = Postings(arrays)
        self.rows = self.part(0, len(self.vectors))
        self.cells = Cells(arrays) if "centroids" in arrays else None

    @classmethod
    def made(
        cls,
        rows: Sequence[Row],
        vectors: Mapping[str, NDArray[Any]],
        split: Split = kernels.tokenize,
    ) -> Segment:
        """A segment in memory; vectors: as `stored_vectors.stored` gives them. split: a text into tokens, for its terms."""
        arrays = {**vectors, **postings.made_arrays((row.text for row in rows), split)}
        if len(rows) > cells.EXACT:
            arrays.update(cells.made_arrays(vectors))
        return cls(arrays, RowTable.made(rows))

    def __len__(self) -> int:
        return len(self.vectors)

    def part(self, start: int, stop: int) -> Any:
        """The vectors of some rows, as the kernels take them."""
        scales = None if self.scales is None else self.scales[start:stop]
        return kernels.Table(self.vectors[start:stop], scales)

    @property
    def dim(self) -> int:
        return int(self.vectors.shape[1])

    @property
    def dtype(self) -> str:
        return str(self.vectors.dtype)

    # Files

    def write(self, path: Path) -> None:
        """Write a folder that `read` reads."""

        def table(folder: Path) -> dict[str, Any]:
            self.table.write(folder / TABLE)
            size = (folder / TABLE).stat().st_size
            return {"table": {"bytes": size, "sha256": storage.sha256(folder / TABLE)}}

        storage.write_folder(path, KIND, {"fields": self.table.fields}, self.arrays, table)

    @classmethod
    def read(cls, path: Path) -> Segment:
        """A saved segment."""
        folder = storage.read_folder(path, KIND, FIELDS)
        arrays = folder.read({**VECTORS, **postings.ARRAYS, **cells.ARRAYS}, {})
        folder.check_nothing_else()
        if (arrays["vectors"].dtype == np.int8) != ("scales" in arrays):
            raise FileError(f"{path} is damaged: int8 vectors and their scales belong together")
        postings.check_arrays(arrays, folder.file("posting_bounds"))
        cells.check_arrays(arrays, folder.file("cell_bounds"))
        _check_table(path / TABLE, folder.header["table"])
        table = RowTable.read(path / TABLE, folder.header["fields"])
        return cls(arrays, table, folder.header_checksum)


def _check_table(path: Path, entry: Mapping[str, Any]) -> None:
    """Raise if a table has another size or, unless it is large, another checksum."""
    if not storage.is_file_entry(entry):
        raise FileError(f"{path.parent / storage.HEADER} is damaged: its table has no size")
    storage.read_file(path, entry, storage.VERIFIED_BYTES)
