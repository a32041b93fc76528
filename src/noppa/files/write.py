"""Write rows in each output format: NumPy, JSON lines, CSV and Parquet.

To add a format, add a subclass of `Writer` to `WRITERS`.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from contextlib import suppress
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from noppa import _native as kernels
from noppa.errors import FileError
from noppa.extras import needs
from noppa.files.formats import Record, is_clean
from noppa.threads import thread_count

#: Columns of the output: the number of each input row, from 1, and its vector.
RECORD, VECTOR = "record", "vector"
NPY_HEADER = 128
#: Bytes of a Parquet row group: large enough that its metadata costs nothing.
ROW_GROUP = 32 << 20

Numbers = NDArray[np.int64]
Vectors = NDArray[np.float32] | None
Records = list[Record] | None


class Writer:
    """Writes rows to a file.

    Attributes:
        resumable: Whether a later run can append to what an interrupted run wrote.
        streams: Whether it can write to a pipe.
    """

    resumable = True
    streams = True

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        """Continue a file, which is positioned after its `rows` rows; `dim` is 0 if there are no vectors."""
        self.file, self.dim, self.rows = file, dim, rows

    def write(self, numbers: Numbers, records: Records, vectors: Vectors) -> None:
        """Append rows, with the numbers of the input rows, from 1, and the vectors (rows, dim), if any.

        `records` are the other columns of each row; None for one column `record` with the numbers.
        """
        raise NotImplementedError

    def finish(self) -> None:
        """Write what only the end of the run decides."""

    def abandon(self) -> None:
        """Release resources after an error, while the file is open."""

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        """Return whether the first `size` bytes of a file can be `rows` rows, so that a run may append to them."""
        if not rows or not size:
            return False
        file.seek(size - 1)
        return file.read(1) == b"\n"


class Npy(Writer):
    """One float32 array (rows, dim). Its header is rewritten at the end, when the number of rows is known."""

    streams = False

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file, dim, rows)
        if file.tell() == 0:
            file.write(self._header())

    def _header(self) -> bytes:
        shape = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({self.rows}, {self.dim}), }}"
        text = shape.ljust(NPY_HEADER - 11) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()

    def write(self, numbers: Numbers, records: Records, vectors: Vectors) -> None:
        self.file.write(np.ascontiguousarray(vectors, "<f4").data)
        self.rows += len(numbers)

    def finish(self) -> None:
        self.file.seek(0)
        self.file.write(self._header())

    @staticmethod
    def fits(file: IO[bytes], dim: int, rows: int, size: int) -> bool:
        return rows > 0 and size == NPY_HEADER + rows * dim * 4


class Jsonl(Writer):
    """One object per line: `{"record": 1, "vector": [0.25, …]}`, with other columns between the two."""

    def write(self, numbers: Numbers, records: Records, vectors: Vectors) -> None:
        if records is None:
            fields = [b'"%b": %d' % (RECORD.encode(), number) for number in numbers.tolist()]
        else:
            fields = [_json_text(record)[1:-1].encode() for record in records]
        if vectors is None:
            lines: Iterable[bytes] = (b"{%b}\n" % field for field in fields)
        else:
            numbers_of = kernels.format_rows(vectors, ", ", thread_count(None))
            lines = (
                b'{%b, "vector": [%b]}\n' % row for row in zip(fields, numbers_of, strict=True)
            )
        self.file.write(b"".join(lines))


class Csv(Writer):
    """A table with the columns `record, v0, v1, …`, and other columns after the first."""

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file, dim, rows)
        self.names: list[str] | None = None
        if rows:
            position = file.tell()
            file.seek(0)
            text = io.TextIOWrapper(io.BytesIO(file.read(position)), "utf-8", newline="")
            self.names = next(csv.reader(text))
            self.names = self.names[: len(self.names) - dim]
            file.seek(position)

    def write(self, numbers: Numbers, records: Records, vectors: Vectors) -> None:
        self._write_header(records)
        if records is None:
            cells = [b"%d" % number for number in numbers.tolist()]
        else:
            cells = [_csv_line(row) for row in _rows(records, self.names or [])]
        if vectors is None:
            lines: Iterable[bytes] = (b"%b\n" % cell for cell in cells)
        else:
            numbers_of = kernels.format_rows(vectors, ",", thread_count(None))
            lines = (b"%b,%b\n" % row for row in zip(cells, numbers_of, strict=True))
        self.file.write(b"".join(lines))

    def _write_header(self, records: Records) -> None:
        if self.names is None:
            self.names = _column_names(records)
            vector = [f"v{column}" for column in range(self.dim)]
            self.file.write(_csv_line([*self.names, *vector]) + b"\n")

    def finish(self) -> None:
        self._write_header(None)


class Parquet(Writer):
    """The columns `record` (int64), others, and `vector` (a list of `dim` float32)."""

    resumable = False
    streams = False

    def __init__(self, file: IO[bytes], dim: int, rows: int) -> None:
        super().__init__(file, dim, rows)
        with needs("parquet", "Parquet"):
            import pyarrow
            import pyarrow.parquet
        self.arrow: Any = pyarrow
        self.table: Any = None
        self.schema: Any = None
        self.pending: list[Any] = []

    def write(self, numbers: Numbers, records: Records, vectors: Vectors) -> None:
        if records is None:
            records = [{RECORD: number} for number in numbers.tolist()]
        self._open(records)
        names = self.schema.names[: len(self.schema.names) - bool(self.dim)]
        columns = zip(*_rows(records, names), strict=True) if records else ([] for _ in names)
        arrays = [
            self._array(list(column), name) for column, name in zip(columns, names, strict=True)
        ]
        if vectors is not None:
            flat = self.arrow.array(np.ascontiguousarray(vectors).reshape(-1))
            kind = self.schema.field(VECTOR).type
            arrays.append(self.arrow.FixedSizeListArray.from_arrays(flat, type=kind))
        self.pending.append(self.arrow.record_batch(arrays, schema=self.schema))
        if sum(batch.nbytes for batch in self.pending) > ROW_GROUP:
            self._flush()

    def _open(self, records: Records) -> None:
        """Open the file; its columns get the types of the first values."""
        if self.table is not None:
            return
        names = _column_names(records)
        fields = [self.arrow.field(name, self._type(records or [], name)) for name in names]
        if self.dim:
            # Declared as never null, because that halves the time to write them.
            element = self.arrow.field("element", self.arrow.float32(), nullable=False)
            fields.append(
                self.arrow.field(VECTOR, self.arrow.list_(element, self.dim), nullable=False)
            )
        self.schema = self.arrow.schema(fields)
        # Vectors do not compress, do not repeat, and have no useful minimum or maximum.
        self.table = self.arrow.parquet.ParquetWriter(
            self.file,
            self.schema,
            use_dictionary=names,
            write_statistics=names,
            compression={**dict.fromkeys(names, "snappy"), f"{VECTOR}.list.element": "none"},
        )

    def _type(self, records: list[Record], name: str) -> Any:
        """Return the type that all values of a column share; mixed and nested values are written as JSON text."""
        if name == RECORD:
            return self.arrow.int64()
        kinds = {type(record.get(name)) for record in records} - {type(None)}
        types = {bool: "bool", int: "int64", float: "double", str: "string"}
        return self.arrow.type_for_alias(
            types.get(kinds.pop(), "string") if len(kinds) == 1 else "string"
        )

    def _array(self, values: list[Any], name: str) -> Any:
        kind = self.schema.field(name).type
        if kind == self.arrow.string():
            values = [value if value is None else str(_cell_text(value)) for value in values]
        try:
            return self.arrow.array(values, kind)
        except (self.arrow.ArrowInvalid, self.arrow.ArrowTypeError, OverflowError) as error:
            raise FileError(
                f"the column {name!r} begins with values of type {kind} and has others later ({error})",
                "write JSON lines, which hold any values",
            ) from error

    def _flush(self) -> None:
        if self.pending:
            table = self.arrow.Table.from_batches(self.pending, self.schema)
            self.table.write_table(table, row_group_size=max(len(table), 1))
        self.pending = []

    def finish(self) -> None:
        self._open(None)
        self._flush()
        self.table.close()

    def abandon(self) -> None:
        # Closed now: the writer would otherwise close itself after its file, and print the error.
        if self.table is not None:
            with suppress(Exception):
                self.table.close()


#: The writer of each format.
WRITERS: dict[str, type[Writer]] = {"npy": Npy, "jsonl": Jsonl, "csv": Csv, "parquet": Parquet}


def _column_names(records: Records) -> list[str]:
    """Return the columns of the first rows, in order."""
    if records is None:
        return [RECORD]
    return list(dict.fromkeys(name for record in records for name in record))


def _rows(records: list[Record], names: list[str]) -> list[list[Any]]:
    """Return the values of records in the order of the columns."""
    known = set(names)
    for record in records:
        if record.keys() - known:
            name = min(record.keys() - known, key=str)
            raise FileError(
                f"a row has the column {name!r}, which the first rows lack",
                "write JSON lines, which hold any columns",
            )
    return [[record.get(name) for name in names] for record in records]


def _json_text(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if is_clean(text) else json.dumps(value, default=str)


def _cell_text(value: Any) -> Any:
    return _json_text(value) if isinstance(value, (list, dict)) else value


def _csv_line(cells: Iterable[Any]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow([_cell_text(cell) for cell in cells])
    return text.getvalue().encode("utf-8", "replace")
