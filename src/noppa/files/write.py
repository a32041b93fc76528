"""Writers of vectors: `.npy`, `.jsonl`, `.csv`, `.parquet`, and Parquet beside the columns of the input."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.files.kept_columns import KeptColumns, Record, cell_text, json_fields
from noppa.files.record_formats.parquet import pyarrow_parquet
from noppa.threads import thread_count

NPY_HEADER = 128
#: Bytes of a row group of `PartWriter`: large enough that its own metadata cost nothing.
ROW_GROUP = 32 << 20

#: Columns of the output: the number of each record from 1 on, and its vector.
RECORD, VECTOR = "record", "vector"

Keep = Sequence[str] | None
Records = list[Record] | None
Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32]


class Writer(Protocol):
    """Writes rows with the number of the record each came from, (rows,) and (rows, dim)."""

    #: Whether a later run can append to what an interrupted one wrote.
    resumable: bool
    #: Whether it can write to a pipe.
    streams: bool

    def __init__(self, file: IO[bytes], dim: int, rows: int, keep: Keep = ()) -> None:
        """`rows` are in the file already, whose position is behind them. keep: columns of the input, all where None."""

    def write(self, numbers: Numbers, vectors: Vectors, records: Records = None) -> None:
        """records: whole ones, where columns of them are kept."""

    def finish(self) -> None: ...

    def abandon(self) -> None:
        """Give up what was not finished, while the file is still open."""

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        """Whether the first `size` bytes of a file can be `rows` rows, so that a run may append to them."""


class Npy:
    """One float32 array (rows, dim); its header is rewritten at the end, when the number of rows is known."""

    resumable, streams = True, False

    def __init__(self, file: IO[bytes], dim: int, rows: int, keep: Keep = ()) -> None:
        self.file, self.dim, self.rows = file, dim, rows
        if file.tell() == 0:
            file.write(self._header())

    def _header(self) -> bytes:
        shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({self.rows}, {self.dim}), }}"
        text = shape.ljust(NPY_HEADER - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()

    def write(self, numbers: Numbers, vectors: Vectors, records: Records = None) -> None:
        self.file.write(np.ascontiguousarray(vectors, "<f4").data)
        self.rows += len(vectors)

    def finish(self) -> None:
        self.file.seek(0)
        self.file.write(self._header())

    def abandon(self) -> None:
        pass

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return rows > 0 and size == NPY_HEADER + rows * dim * 4


class TextLines:
    """Lines of text, one a row."""

    resumable, streams = True, True

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file

    def finish(self) -> None:
        pass

    def abandon(self) -> None:
        pass

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        if not rows or not size:
            return False
        file.seek(size - 1)
        return file.read(1) == b"\n"


class _VectorLines(TextLines):
    """Lines with the number of a record, what is kept of it, and its vector."""

    def __init__(self, file: IO[bytes], dim: int, rows: int, keep: Keep = ()) -> None:
        super().__init__(file)
        self.threads = thread_count(None)
        self.kept = KeptColumns(keep, [RECORD, VECTOR])

    def _write(
        self, template: bytes, separator: str, numbers: Numbers, kept: list[bytes], vectors: Vectors
    ) -> None:
        """A line for each record: its number, what is kept of it and its vector in the places of a template."""
        rows = kernels.format_rows(vectors, separator, self.threads)
        lines = zip(numbers.tolist(), kept or [b""] * len(rows), rows, strict=True)
        self.file.write(b"".join(template % line for line in lines))


class Jsonl(_VectorLines):
    """One object a line: `{"record": 1, "vector": [0.25, …]}`, the kept columns between the two."""

    def write(self, numbers: Numbers, vectors: Vectors, records: Records = None) -> None:
        kept = [json_fields(row) for row in self.kept.rows(records or [])]
        self._write(b'{"record": %d, %b"vector": [%b]}\n', ", ", numbers, kept, vectors)


class Csv(_VectorLines):
    """A table with the columns `record, v0, v1, …`, the kept ones behind the first."""

    def __init__(self, file: IO[bytes], dim: int, rows: int, keep: Keep = ()) -> None:
        super().__init__(file, dim, rows)
        self.numbers = [f"v{at}" for at in range(dim)]
        if rows:  # of all columns, the first rows of an earlier run tell which there are
            keep = header_of(file)[1 : len(header_of(file)) - dim]
        self.kept = KeptColumns(keep, [RECORD, *self.numbers])
        self.has_header = rows > 0

    def write(self, numbers: Numbers, vectors: Vectors, records: Records = None) -> None:
        cells = self.kept.cells(records or [])
        self._write_header()
        kept = [_csv_line([*row, ""]) for row in cells] if self.kept.names else []
        self._write(b"%d,%b%b\n", ",", numbers, kept, vectors)

    def _write_header(self) -> None:
        if not self.has_header:
            names = [RECORD, *(self.kept.names or []), *self.numbers]
            self.file.write(_csv_line(names) + b"\n")
            self.has_header = True

    def finish(self) -> None:
        self._write_header()


def _csv_line(cells: Sequence[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow([cell_text(cell) for cell in cells])
    return text.getvalue().encode("utf-8", "replace")


def header_of(file: IO[bytes]) -> list[str]:
    """The names in the first row of a file, which stays where it is."""
    position = file.tell()
    file.seek(0)
    names = next(csv.reader(io.TextIOWrapper(io.BytesIO(file.read(position)), "utf-8", newline="")))
    file.seek(position)
    return names


class Parquet:
    """The columns `record` (int64), those that are kept, and `vector` (a list of `dim` float32)."""

    resumable, streams = False, False

    def __init__(self, file: IO[bytes], dim: int, rows: int, keep: Keep = ()) -> None:
        self.parquet = pyarrow_parquet()
        import pyarrow

        self.file = file
        self.arrow: Any = pyarrow
        self.kind = pyarrow.list_(pyarrow.float32(), dim)
        self.kept = KeptColumns(keep, [RECORD, VECTOR])
        self.table: Any = None

    def write(self, numbers: Numbers, vectors: Vectors, records: Records = None) -> None:
        cells = self.kept.cells(records or [])
        values = [[row[at] for row in cells] for at in range(len(self.kept.names or []))]
        table = self._opened(values)
        kept = table.schema.names[1:-1]
        columns = [
            self.arrow.array(numbers),
            *(self._array(column, table.schema.field(name).type, name) for column, name in zip(values, kept, strict=True)),
            _lists(vectors, self.kind),
        ]  # fmt: skip
        table.write_batch(self.arrow.record_batch(columns, schema=table.schema))

    def _opened(self, values: list[list[Any]]) -> Any:
        """The open file, whose columns have the types of the first values."""
        if self.table is None:
            names = self.kept.names or []
            kept = [(name, self._type(column)) for name, column in zip(names, values, strict=True)]
            fields = [(RECORD, self.arrow.int64()), *kept, (VECTOR, self.kind)]
            self.table = self.parquet.ParquetWriter(self.file, self.arrow.schema(fields))
        return self.table

    def _type(self, column: list[Any]) -> Any:
        """The type of values where they share one; anything else is JSON text."""
        kinds = {type(value) for value in column if value is not None}
        names = {bool: "bool", int: "int64", float: "double", str: "string"}
        kind = names.get(kinds.pop(), "string") if len(kinds) == 1 else "string"
        return self.arrow.type_for_alias(kind)

    def _array(self, column: list[Any], kind: Any, name: str) -> Any:
        if kind == self.arrow.string():
            column = [value if value is None else str(cell_text(value)) for value in column]
        try:
            return self.arrow.array(column, kind)
        except (self.arrow.ArrowInvalid, self.arrow.ArrowTypeError, OverflowError) as error:
            raise FileError(
                f"the column {name!r} began with values of type {kind} and has others later ({error}): write .jsonl"
            ) from error

    def finish(self) -> None:
        self._opened([[] for _ in self.kept.names or []]).close()

    def abandon(self) -> None:
        # Closed now: the writer would close itself when the file is closed already, and print what it then meets.
        if self.table is not None:
            with suppress(Exception):
                self.table.close()

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return False


def _lists(vectors: Any, kind: Any) -> Any:
    """Vectors (rows, dim) as an Arrow array of lists."""
    import pyarrow

    values = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
    return pyarrow.FixedSizeListArray.from_arrays(values, type=kind)


#: The writer of each output format.
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
