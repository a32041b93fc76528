"""Writers of vectors: `.npy`, `.jsonl`, `.csv`, `.parquet`, and Parquet beside the columns of the input."""

from __future__ import annotations

from contextlib import suppress
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa.kernels.backend import kernels
from noppa.records.record_formats.parquet import pyarrow_parquet
from noppa.threads import thread_count

NPY_HEADER = 128
#: Bytes of a row group of `PartWriter`: large enough that its own metadata cost nothing.
ROW_GROUP = 32 << 20

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]


class Writer(Protocol):
    """Writes rows with the number of the record each came from, (rows,) and (rows, dim)."""

    #: Whether a later run can append to what an interrupted one wrote.
    resumable: bool
    #: Whether it can write to a pipe.
    streams: bool

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        """`rows` are in the file already, whose position is behind them."""

    def write(self, numbers: Numbers, vectors: Vectors) -> None: ...

    def finish(self) -> None: ...

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        """Whether the first `size` bytes of a file can be `rows` rows, so that a run may append to them."""


class Npy:
    """One float32 array (rows, dim); its header is rewritten at the end, when the number of rows is known."""

    resumable, streams = True, False

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        self.file, self.dim, self.rows = file, dim, rows
        if file.tell() == 0:
            file.write(self._header())

    def _header(self) -> bytes:
        shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({self.rows}, {self.dim}), }}"
        text = shape.ljust(NPY_HEADER - 11) + "\n"
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
    """A line for each record: its number and its vector in the places of a template."""
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
        columns = [self.arrow.array(numbers), _lists(vectors, self.kind)]
        self.table.write_batch(self.arrow.record_batch(columns, schema=self.schema))

    def finish(self) -> None:
        self.table.close()

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return False


def _lists(vectors: Any, kind: Any) -> Any:
    """Vectors (rows, dim) as an Arrow array of lists."""
    import pyarrow

    values = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(values, type=kind)


WRITERS: dict[str, type[Writer]] = {"npy": Npy, "jsonl": Jsonl, "csv": Csv, "parquet": Parquet}


class PartWriter:
    """A Parquet file of kept columns and a last column of vectors, float32 or float16."""

    def __init__(self, path: str, columns: Any, name: str, dtype: str, dim: int) -> None:
        """`columns` is the Arrow schema of the kept ones, `name` that of the vectors' column."""
        parquet = pyarrow_parquet()
        import pyarrow

        # Declared as never null, because that halves the time to write it.
        element = pyarrow.field("element", pyarrow.type_for_alias(dtype), nullable=False)
        self.kind = pyarrow.list_(element, dim)
        self.schema = columns.append(pyarrow.field(name, self.kind, nullable=False))
        # Vectors do not compress, do not repeat, and have no useful minimum or maximum.
        self.file = parquet.ParquetWriter(
            path,
            self.schema,
            use_dictionary=columns.names or False,
            write_statistics=columns.names or False,
            compression={**dict.fromkeys(columns.names, "snappy"), f"{name}.list.element": "none"},
        )
        self.pending: list[Any] = []
        self.pending_bytes = 0

    def write(self, columns: Any, vectors: Any) -> None:
        """Append an Arrow record batch of the kept columns with its vectors (rows, dim)."""
        import pyarrow

        arrays = [*columns.columns, _lists(vectors, self.kind)]
        self.pending.append(pyarrow.record_batch(arrays, schema=self.schema))
        self.pending_bytes += vectors.nbytes + columns.nbytes
        if self.pending_bytes >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self.pending:
            table = pyarrow.Table.from_batches(self.pending, self.schema)
            self.file.write_table(table, row_group_size=max(len(table), 1))
        self.pending, self.pending_bytes = [], 0

    def __enter__(self) -> PartWriter:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self._flush()
            self.file.close()
            return
        with suppress(Exception):  # the error that ended the block is the one to report
            self.file.close()
