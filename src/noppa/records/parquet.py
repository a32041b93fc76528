"""Parquet in batches that are bounded by bytes: a dictionary of one long string may stand for any number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from noppa.errors import FileError, NoppaError, ParameterError
from noppa.extras import needs
from noppa.records.batch import STDIN, Batch, Input
from noppa.records.tables import column_of

#: Rows of a batch: of compressed pages nobody knows before what they hold.
ROWS = 256
#: Bytes of a batch, as far as the file tells.
BYTES = 32 << 20
NAMES = ("string", "large_string", "string_view")

#: Opens a file of Parquet, with `read_dictionary=` or other options of pyarrow.
Open = Callable[..., Any]


def pyarrow_parquet() -> Any:
    with needs("parquet", "Parquet"):
        import pyarrow.parquet as parquet
    return parquet


def read_parquet(path: str, wanted: Input) -> Iterator[Batch]:
    """The strings of one column."""
    if path == STDIN:
        raise ParameterError(
            "a Parquet file is read from its end and cannot come from standard input: name the file"
        )
    parquet = pyarrow_parquet()

    def opened(**options: Any) -> Any:
        return parquet.ParquetFile(path, **options)

    with explained(path), opened() as table:
        names = table.schema_arrow.names
        at = column_of(names, wanted.column, path)
        name = names[at]
        require_strings(table.schema_arrow.field(at).type, name, path)
        number, size = 1, Path(path).stat().st_size
        every = max(1, table.metadata.num_rows + 1)
        groups = range(table.metadata.num_row_groups)
        for batch in batches_of(table, opened, groups, [name]):
            texts, faults = texts_of(batch.column(0), name)
            bad = [(at, f"{path}, record {number + at}: {fault}") for at, fault in faults]
            number += len(texts)
            yield Batch(texts, bad, size * number // every)


def batches_of(
    table: Any, opened: Open, groups: Iterable[int], columns: list[str]
) -> Iterator[Any]:
    """Record batches of some row groups, in order, each of about `BYTES` at most."""
    kinds = {field.name: str(field.type) for field in table.schema_arrow}  # also dictionary<string>
    strings = [name for name in columns if "string" in kinds[name] or "binary" in kinds[name]]
    with opened(read_dictionary=strings) as dictionaries:
        for group in groups:
            rows = _rows(table.metadata.row_group(group), dictionaries, group, strings)
            yield from table.iter_batches(rows, row_groups=[group], columns=columns)


def _rows(facts: Any, dictionaries: Any, group: int, strings: list[str]) -> int:
    """How many rows of a group to decode at a time."""
    import pyarrow.compute as compute

    weight: int = max(0, facts.total_byte_size) // max(1, facts.num_rows)
    first = dictionaries.iter_batches(1, row_groups=[group], columns=strings) if strings else ()
    for batch in first:
        for column in batch.columns:
            if hasattr(column, "dictionary"):  # not so where a column is nested
                weight += compute.max(compute.binary_length(column.dictionary)).as_py() or 0
        break
    return max(1, min(ROWS, BYTES // max(1, weight)))


def texts_of(column: Any, name: str) -> tuple[list[str | None], list[tuple[int, str]]]:
    """The strings of an Arrow array, None for a bad one, and the place and fault of each bad one."""
    try:
        texts = column.to_pylist()
    except UnicodeDecodeError:
        return _decoded(column)
    faults = [(at, f"its {name!r} is null") for at, text in enumerate(texts) if text is None]
    return texts, faults


def _decoded(column: Any) -> tuple[list[str | None], list[tuple[int, str]]]:
    texts: list[str | None] = []
    faults = []
    for at, value in enumerate(column):
        try:
            text, fault = value.as_py(), "it is null"
        except UnicodeDecodeError:
            text, fault = None, "it is not UTF-8"
        texts.append(text)
        if text is None:
            faults.append((at, fault))
    return texts, faults


def require_strings(kind: Any, name: str, path: str) -> None:
    """Refuse a column of Parquet whose Arrow type is no kind of string."""
    plain = kind.value_type if str(kind).startswith("dictionary") else kind
    if str(plain) not in NAMES:
        raise ParameterError(
            f"column {name!r} of {path} holds {kind}, not strings: choose another with --column"
        )


@contextmanager
def explained(path: str) -> Iterator[None]:
    """Errors of pyarrow as one sentence."""
    import pyarrow

    try:
        yield
    except NoppaError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, KeyError) as error:
        why = str(error).partition("\n")[0] or type(error).__name__
        raise FileError(f"{path} cannot be read as Parquet: {why}") from error
