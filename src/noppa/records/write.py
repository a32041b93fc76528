"""Writers of vectors: `.npy`, `.jsonl`, `.csv`, `.parquet`; a stream of bytes where the format allows it."""

from __future__ import annotations

from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.records.parquet import pyarrow_parquet
from noppa.threads import thread_count

NPY_HEADER = 128

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]


class Writer(Protocol):
    """Writes rows with the number of the record each came from, (rows,) and (rows, dim)."""

    resumable: bool
    streams: bool

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        """`rows` are already in the file, which stands behind them."""

    def write(self, numbers: Numbers, vectors: Vectors) -> None: ...

    def finish(self) -> None: ...

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        """Whether the first `size` bytes of a file can be `rows` rows, so that a run may go on behind them."""


class Npy:
    """One float32 array (rows, dim); its header is written again at the end, when the number of rows is known."""

    resumable, streams = True, False

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        self.file, self.dim, self.rows = file, dim, rows
        if file.tell() == 0:
            file.write(self._header())

    def _header(self) -> bytes:
        facts = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({self.rows}, {self.dim}), }}"
        text = facts.ljust(NPY_HEADER - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()

    def write(self, numbers: Numbers, vectors: Vectors) -> None:
        self.file.write(np.ascontiguousarray(vectors, "<f4").data)
        self.rows += len(vectors)

    def finish(self) -> None:
        self.file.seek(0)
        self.file.write(self._header())

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return rows > 0 and size == NPY_HEADER + rows * dim * 4


def _lines(
    template: bytes, separator: str, numbers: Numbers, vectors: Vectors, threads: int
) -> bytes:
    """A line a record: its number, and its vector with a separator between the values."""
    rows = kernels.format_rows(vectors, separator, threads)
    return b"".join(template % pair for pair in zip(numbers.tolist(), rows, strict=True))


class _Text:
    """Lines of text, one a row."""

    resumable, streams = True, True

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        self.file = file
        self.threads = thread_count(None)

    def finish(self) -> None:
        pass

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        if not rows or not size:
            return False
        file.seek(size - 1)
        return file.read(1) == b"\n"


class Jsonl(_Text):
    """One object a line: `{"record": 0, "vector": [0.25, …]}`."""

    def write(self, numbers: Numbers, vectors: Vectors) -> None:
        template = b'{"record": %d, "vector": [%b]}\n'
        self.file.write(_lines(template, ", ", numbers, vectors, self.threads))


class Csv(_Text):
    """A table with the columns `record, v0, v1, …`."""

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file, dim, rows)
        if rows == 0:
            names = ["record", *(f"v{at}" for at in range(dim))]
            file.write(",".join(names).encode() + b"\n")

    def write(self, numbers: Numbers, vectors: Vectors) -> None:
        self.file.write(_lines(b"%d,%b\n", ",", numbers, vectors, self.threads))


class Parquet:
    """The columns `record` (int64) and `vector` (a list of `dim` float32)."""

    resumable, streams = False, False

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        parquet = pyarrow_parquet()
        import pyarrow

        self.arrow: Any = pyarrow
        self.kind = pyarrow.list_(pyarrow.float32(), dim)
        self.schema = pyarrow.schema([("record", pyarrow.int64()), ("vector", self.kind)])
        self.table: Any = parquet.ParquetWriter(file, self.schema)

    def write(self, numbers: Numbers, vectors: Vectors) -> None:
        values = self.arrow.array(np.ascontiguousarray(vectors).reshape(-1))
        rows = self.arrow.FixedSizeListArray.from_arrays(values, type=self.kind)
        self.table.write_batch(
            self.arrow.record_batch([self.arrow.array(numbers), rows], schema=self.schema)
        )

    def finish(self) -> None:
        self.table.close()

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return False


WRITERS: dict[str, type[Writer]] = {"npy": Npy, "jsonl": Jsonl, "csv": Csv, "parquet": Parquet}
