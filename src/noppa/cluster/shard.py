"""What every worker runs: one shard in, one part out. No engine is known here."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from noppa.cluster.fields import Fields
from noppa.cluster.models import Model
from noppa.cluster.places import Place
from noppa.cluster.plan import Shard
from noppa.cluster.rows import Rows, rows_of_shard
from noppa.encoder.encoder import Encoder
from noppa.errors import FileError, NoppaWarning
from noppa.records.parquet import pyarrow_parquet

#: In the output, where readers of a folder of Parquet pass over names that begin so: the books of the run, and the list
#: of bad records; in the books, what is done, and the bad records of each shard.
BOOKS, BAD_ROWS = "_noppa", "_bad_rows.jsonl"
DONE, BAD = "done", "bad"
#: Bytes of one row group: enough that its own description costs nothing.
GROUP = 32 << 20
DTYPES = ("float32", "float16")
ON_BAD = ("error", "empty", "drop")


class BadRecord(FileError):
    """A bad record where none is allowed: which of its shard, and what is wrong with it."""

    def __init__(self, shard: int, row: int, fault: str) -> None:
        super().__init__(f"record {row} of shard {shard}: {fault}")
        self.shard, self.row, self.fault = shard, row, fault


@dataclass(frozen=True)
class Encoding:
    """All that a worker has to know to encode any shard."""

    model: Model
    fields: Fields
    output: str
    column: str = "embedding"
    dtype: str = "float32"
    on_bad: str = "error"
    normalize: bool = False
    dim: int | None = None

    def run(self, shard: Shard) -> dict[str, Any]:
        """Encode a shard into its part, then write down that it is done; gives what was written down."""
        start, spent = time.perf_counter(), time.process_time()
        output = Place.of(self.output)
        part = output / f"{shard.name}.parquet"
        counts = {"records": 0, "rows": 0, "bad": 0, "zero": 0}
        bad: list[tuple[int, str]] = []
        with part.new() as path:
            table = Part(self.schema(), self.column)
            with table.at(str(path)):
                for rows in rows_of_shard(shard, self.fields):
                    bad += [(counts["records"] + at, fault) for at, fault in rows.bad]
                    if bad and self.on_bad == "error":
                        raise BadRecord(shard.number, *bad[0])
                    counts["records"] += len(rows.texts)
                    self._encode(rows, table, counts)
            size = path.stat().st_size
        counts["bad"] = len(bad)
        if bad:
            (output / BOOKS / BAD / f"{shard.number}.json").write_json(bad)
        done = {
            "number": shard.number, "bytes": size, **counts,
            "seconds": round(time.perf_counter() - start, 4), "cpu_seconds": round(time.process_time() - spent, 4),
        }  # fmt: skip
        (output / BOOKS / DONE / f"{shard.number}.json").write_json(done)
        return done

    def _encode(self, rows: Rows, table: Part, counts: dict[str, int]) -> None:
        if rows.bad and self.on_bad == "drop":
            mask = np.ones(len(rows.texts), bool)
            mask[[at for at, _ in rows.bad]] = False
            rows = Rows(
                rows.columns.take(np.flatnonzero(mask)),
                [text for text in rows.texts if text is not None],
                [],
            )
        texts = [text or "" for text in rows.texts]
        vectors, known = vectors_of(self.model.open(), texts, self.dim, self.normalize)
        counts["rows"] += len(texts)
        counts["zero"] += int(np.count_nonzero(known == 0))
        table.write(rows.columns, in_dtype(vectors, self.dtype))

    def schema(self) -> Any:
        """The Arrow schema of a part."""
        import pyarrow

        value = pyarrow.float16() if self.dtype == "float16" else pyarrow.float32()
        # that nothing in it is missing halves the time to write it
        element = pyarrow.field("element", value, nullable=False)
        kind = pyarrow.list_(element, self.dim or self.model.open().dim)
        return self.fields.schema.append(pyarrow.field(self.column, kind, nullable=False))


def vectors_of(
    model: Encoder, texts: Sequence[str], dim: int | None, normalize: bool
) -> tuple[Any, Any]:
    """Vectors (n, dim) and the known tokens of each text (n,), on one thread: a worker is one of many."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoppaWarning)
        return model.encode_ids(*model.look_up(list(texts), 1), 1, dim=dim, normalize=normalize)


def in_dtype(vectors: Any, dtype: str) -> Any:
    if dtype == "float32":
        return vectors
    with np.errstate(over="ignore"):
        small = vectors.astype(np.float16)
    if not np.isfinite(small).all():
        raise FileError("a number of a vector is too large for float16: choose float32")
    return small


class Part:
    """A file of Parquet that grows by row groups of a fair size."""

    def __init__(self, schema: Any, column: str) -> None:
        self.schema, self.column = schema, column
        self.waiting: list[Any] = []
        self.size = 0

    def at(self, path: str) -> Part:
        others = [name for name in self.schema.names if name != self.column]
        # vectors are noise to a compressor and to a dictionary, and their least and largest number mean nothing
        self.file = pyarrow_parquet().ParquetWriter(
            path,
            self.schema,
            use_dictionary=others or False,
            write_statistics=others or False,
            compression={
                **dict.fromkeys(others, "snappy"),
                f"{self.column}.list.element": "none",
            },
        )
        return self

    def __enter__(self) -> Part:
        return self

    def write(self, columns: Any, vectors: Any) -> None:
        import pyarrow

        kind = self.schema.field(self.column).type
        flat = pyarrow.array(np.ascontiguousarray(vectors).reshape(-1))
        lists = pyarrow.FixedSizeListArray.from_arrays(flat, type=kind)
        arrays = [*columns.columns, lists]
        self.waiting.append(pyarrow.record_batch(arrays, schema=self.schema))
        self.size += vectors.nbytes + columns.nbytes
        if self.size >= GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self.waiting:
            table = pyarrow.Table.from_batches(self.waiting, self.schema)
            self.file.write_table(table, row_group_size=max(len(table), 1))
        self.waiting, self.size = [], 0

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            self._flush()
            self.file.close()
            return
        with suppress(Exception):  # the first error is the one to tell
            self.file.close()
